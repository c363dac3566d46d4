"""Leaves the folder out where there is no browser, and says why."""

from __future__ import annotations

from importlib.util import find_spec
from shutil import which
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.terminal import TerminalReporter
    from selenium.webdriver import Chrome

MISSING = [name for name in ("chromium", "chromedriver") if which(name) is None] + (
    ["selenium"] if find_spec("selenium") is None else []
)

collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    if MISSING:
        terminalreporter.write_line(
            f"tests/browser was left out, because {', '.join(MISSING)} is not installed: see "
            "tests/browser/README.md"
        )


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    from .chromium import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started
