"""The picture on the page, and the dashboard beside it, show what the code reports."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.core import Metric

from sidestep import Sidestep
from sidestep.prometheus import collector

from .trace_picture import FILE, picture, rehearse

ROOT = Path(__file__).parents[3]
DASHBOARD = json.loads((ROOT / "fixtures" / "dashboards" / "sidestep.json").read_text("utf-8"))
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
LABELS = re.compile(r"(?:by \(([\w, ]+)\)|\{(\w+)!?=\"\w*\"\})")


def families() -> dict[str, Metric]:
    """Return what the collector describes, by the name that a query uses."""
    return {
        metric.name + ("_total" if metric.type == "counter" else ""): metric
        for metric in collector(Sidestep()).describe()
    }


def labels_of(metric: Any) -> set[str]:
    return set(metric._labelnames)


def test_the_picture_is_what_the_script_draws() -> None:
    """If not, run ``python -m tests.session.telemetry.trace_picture``, and look at it."""
    assert FILE.read_text(encoding="utf-8") == picture(asyncio.run(rehearse()))


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_dashboard_names_a_metric_and_labels_that_it_has(query: str) -> None:
    names = set(re.findall(r"\bsidestep_\w+", query))
    labels = {
        label.strip()
        for several, one in LABELS.findall(query)
        for label in (several or one).split(",")
    }

    assert names
    assert names <= families().keys()
    assert labels <= set.intersection(*(labels_of(families()[name]) for name in names))


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_a_legend_of_the_dashboard_names_labels_that_its_query_keeps(panel: Any) -> None:
    (target,) = panel["targets"]
    kept = re.search(r"by \(([\w, ]+)\)", target["expr"])

    assert re.findall(r"{{(\w+)}}", target["legendFormat"]) == (kept[1].split(", ") if kept else [])


def test_the_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    places = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24
