"""Variables that begin as ours do, and are none of ours."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from sidestep import Sidestep
from sidestep.session.plan.unknown_variable import GIVEN, READ, RESERVED, unknown_variables


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        pytest.param("SIDESTEP_FALBACK_CONFIG", "SIDESTEP_FALLBACK_CONFIG", id="a letter"),
        pytest.param("SIDESTEP_CONFIG", "SIDESTEP_FALLBACK_CONFIG", id="a word"),
        pytest.param("SIDESTEP_ROUTING_RULE", "SIDESTEP_ROUTING_RULES", id="the singular"),
        pytest.param("SIDESTEP_PROVIDER", "SIDESTEP_PROVIDERS", id="a provider"),
        pytest.param("SIDESTEP_JORNAL", "SIDESTEP_JOURNAL", id="a journal"),
        pytest.param("SIDESTEP_hint", "SIDESTEP_HINT", id="small letters"),
        pytest.param("SIDESTEP_", "SIDESTEP_HINT", id="nothing after it"),
        *(pytest.param(name, None, id=name) for name in (*READ, *sorted(GIVEN | RESERVED))),
        pytest.param("SIDESTEPPING", None, id="a word of somebody else's"),
        pytest.param("MY_SIDESTEP_HINT", None, id="another beginning"),
    ],
)
def test_a_variable_that_is_none_of_ours_is_reported_with_the_nearest(
    name: str, nearest: str | None
) -> None:
    found = [(each.code, each.fix) for each in unknown_variables({name: "x", "PATH": "/bin"})]

    cure = f"name it {nearest}, or rename it if it is yours"
    assert found == ([] if nearest is None else [("C022", cure)])


def test_the_log_names_it_once(caplog: pytest.LogCaptureFixture) -> None:
    middleware = Sidestep.from_env({"SIDESTEP_HNT": "zai", "SIDESTEP_LIMITS": "{}"})

    assert middleware.config is None
    assert middleware.config is None
    assert [record.getMessage() for record in caplog.records] == [
        "C022: 'SIDESTEP_HNT' is no variable that sidestep reads: name it SIDESTEP_HINT, or "
        "rename it if it is yours"
    ]


def test_the_list_has_every_variable_that_the_source_names() -> None:
    names: set[str] = set()
    for folder in ("session", "provider"):
        for path in Path(str(files("sidestep") / folder)).rglob("*.py"):
            names.update(re.findall(r"\bSIDESTEP_[A-Z][A-Z_]*\b", path.read_text("utf-8")))

    assert names == {*READ, *GIVEN, *RESERVED}
