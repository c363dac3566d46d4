"""What holds for the tests that make calls with the SDKs of others: without those, none is run."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

NEEDED = (
    *("aiohttp", "anthropic", "cerebras", "google", "groq", "litellm", "llmock", "mistralai"),
    *("agents", "langchain_openai", "openai", "pydantic_ai", "requests", "urllib3"),
)
MISSING = [name for name in NEEDED if find_spec(name) is None]

collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(
            f"tests/sdk was left out, without {', '.join(MISSING)}: pip install -e '.[test,sdk]'"
        )


@pytest.fixture(autouse=True)
def _no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing through a proxy, and let nobody fetch a list of models."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
