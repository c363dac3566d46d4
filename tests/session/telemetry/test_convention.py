"""Every span and metric is compared with a table of the GenAI conventions.

The table is `fixtures/conventions/genai.json`, which says where each name was read. weaver's live
check does the same, but it is not among the packages of PyPI and npm.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from sidestep.provider.catalog.catalog import catalog
from sidestep.session.telemetry.convention import provider_name

from ..turn.outage import A, B, Outage
from .seen import Seen, attributes_of

ROOT = Path(__file__).parents[3]
TABLE = json.loads((ROOT / "fixtures" / "conventions" / "genai.json").read_text("utf-8"))
OWN = "sidestep."
CALL = {"tool_calls": [{"name": "look", "input": {"at": "a"}}]}


async def look(at: str) -> str:
    """Look somewhere."""
    if at == "nowhere":
        raise OSError(at)
    return at


@pytest.fixture(scope="module", params=[None, "tiny"], ids=["without a name", "with a name"])
def seen(request: pytest.FixtureRequest) -> Seen:
    """What two turns show in which everything happens that we report."""
    return asyncio.run(everything(request.param))


async def everything(agent_name: str | None) -> Seen:
    wrong = {"tool_calls": [{"name": "look", "input": {"at": "nowhere"}}]}
    cached = {"text": "Done.", "usage": {"input": 100, "output": 5, "cache_read": 50}}
    answers: dict[Any, Any] = {
        A: [CALL, wrong, {"text": "half", "cut": True}, {"status": 503}],
        B: [cached, {"status": 503}],
    }
    seen = Seen()
    session = {"tools": [look], "system": "Be brief.", "max_output_tokens": 99, "reasoning": "low"}
    async with Outage(answers, session=session) as outage:
        seen.watch(outage.middleware, capture_content=True, agent_name=agent_name)
        await outage.session.turn("hi")
        outage.middleware.degraded.clear()
        with pytest.raises(Exception, match="503"):
            await outage.session.turn("again")
    return seen


def reported(seen: Seen) -> Iterator[tuple[ReadableSpan, dict[str, Any]]]:
    """Yield each span that has a name in the conventions, with its row in the table."""
    rows = {row["operation"]: row for row in TABLE["spans"].values()}
    for span in seen.spans:
        operation = attributes_of(span).get("gen_ai.operation.name")
        if operation is not None:
            yield span, rows[operation]


def test_every_span_has_the_name_the_kind_and_the_attributes_of_its_row(seen: Seen) -> None:
    operations = set()
    for span, row in reported(seen):
        found = attributes_of(span)
        operations.add(row["operation"])
        expected = row["name"]
        for key, value in found.items():
            expected = expected.replace(f"{{{key}}}", str(value))
        assert span.name == expected.replace(" {gen_ai.agent.name}", "")
        assert span.kind.name == row["kind"]
        assert set(row["required"]) <= found.keys()
        assert {key for key in found if not key.startswith(OWN)} <= set(row["attributes"])
    assert operations == {"chat", "invoke_agent", "execute_tool"}


def test_every_attribute_that_the_fixture_knows_can_be_seen(seen: Seen) -> None:
    """The turn of the fixture shows every attribute that the code names."""
    from sidestep.session.telemetry import convention

    named = {
        value
        for name, value in vars(convention).items()
        if name.isupper()
        and isinstance(value, str)
        and value.startswith(("gen_ai.", "error.", "server."))
    }
    shown = {key for span in seen.spans for key in attributes_of(span)}
    shown |= {key for name in seen.metrics for found, _ in seen.points(name) for key in found}
    unnamed = {"gen_ai.agent.name"} if not seen.named("invoke_agent tiny") else set()

    assert named - shown == unnamed


def test_only_spans_of_attempts_have_no_name_in_the_conventions(seen: Seen) -> None:
    known = [span for span, _ in reported(seen)]
    others = [span for span in seen.spans if span not in known]

    assert others
    assert all(span.name.startswith("attempt ") for span in others)
    assert {key for span in others for key in attributes_of(span)} <= {
        "error.type",
        "sidestep.status",
    }


def test_every_metric_is_that_of_its_row(seen: Seen) -> None:
    assert seen.metrics.keys() == TABLE["metrics"].keys()
    for name, metric in seen.metrics.items():
        row = TABLE["metrics"][name]
        kind = "histogram" if hasattr(metric.data.data_points[0], "bucket_counts") else "counter"
        assert (kind, metric.unit) == (row["instrument"], row["unit"])
        for point in metric.data.data_points:
            assert set(row["required"]) <= set(point.attributes) <= set(row["attributes"])
            if kind == "histogram":
                assert list(point.explicit_bounds) == pytest.approx(row["boundaries"])
            else:
                assert metric.data.is_monotonic


def test_every_value_is_one_that_the_conventions_list(seen: Seen) -> None:
    for span in seen.spans:
        for key, values in TABLE["values"].items():
            value = attributes_of(span).get(key)
            assert value is None or value in values or value == "openrouter"


@pytest.mark.parametrize("provider", sorted(catalog({})))
def test_a_provider_of_ours_has_the_name_of_the_conventions_where_they_have_one(
    provider: str,
) -> None:
    listed = TABLE["values"]["gen_ai.provider.name"]
    named = provider_name(provider)
    plain = provider.removesuffix("-anthropic").removesuffix("-chat")
    words = {word: value for value in listed for word in value.replace("_", ".").split(".")}

    assert named == words.get(plain, "x_ai" if plain == "xai" else plain)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "opted",
    [
        pytest.param(None, id="unset"),
        pytest.param("", id="empty"),
        pytest.param("gen_ai_latest_experimental", id="asked for"),
        pytest.param("http/dup,gen_ai_latest_experimental", id="asked for among others"),
        pytest.param("http", id="only others"),
        pytest.param("gen_ai_oldest", id="unknown"),
    ],
)
async def test_the_names_are_the_latest_whatever_the_variable_says(
    opted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an instrumentation that once had older names keeps them without an opt-in."""
    monkeypatch.delenv("OTEL_SEMCONV_STABILITY_OPT_IN", raising=False)
    if opted is not None:
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", opted)
    seen = Seen()
    async with Outage({A: {"text": "hello"}}) as outage:
        seen.watch(outage.middleware)
        await outage.session.turn("hi")

    assert "gen_ai.client.inference.duration" in seen.metrics
    assert "gen_ai.provider.name" in attributes_of(seen.spans[1])
