"""Leaves out what needs an agent that is not on the PATH."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from .client import CLIENTS

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

MISSING = sorted(name for name in CLIENTS if shutil.which(name) is None)

collect_ignore_glob = ["test_*.py"] if len(MISSING) == len(CLIENTS) else []


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(
            f"tests/clients was left out for {', '.join(MISSING)}: see tests/clients/README.md"
        )
