"""What holds for the tests that install sidestep: without their tools, none is run."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from .environment import Copies

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

NEEDED = ("build", "mypy", "pip", "pyrefly", "pyright", "ty")
MISSING = [name for name in NEEDED if find_spec(name) is None]

collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(
            f"tests/install was left out, without {', '.join(MISSING)}: "
            "pip install -e '.[test,install]'"
        )


@pytest.fixture(scope="module", autouse=True)
def without_settings() -> None:
    """Hide nothing, because pip may need a proxy and its certificates."""


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    return Copies(tmp_path_factory.mktemp("copies"))
