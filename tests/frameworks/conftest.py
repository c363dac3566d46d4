"""What holds for the tests of the frameworks: without those, none is run."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

NEEDED = ("agents", "langchain", "langchain_anthropic", "langchain_openai", "pydantic_ai")
MISSING = [name for name in NEEDED if find_spec(name) is None]

collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(
            f"tests/frameworks was left out, without {', '.join(MISSING)}: "
            "pip install -e '.[test,frameworks]'"
        )


@pytest.fixture(autouse=True)
def _no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing through a proxy, and nothing to a tracing service."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
