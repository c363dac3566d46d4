"""What holds for every test, and how much of everything is tried.

``pytest`` tries a part: fewer examples of each property, some pairs of the matrix, some of the
moments at which a process is killed. ``pytest --whole`` tries all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, and no clock: a loaded machine must not fail a test.
settings.register_profile(
    "whole", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("whole"), max_examples=25)

SETTING = re.compile(
    r"(https?|all|no|ftp)_proxy|ssl_cert_(file|dir)|sslkeylogfile|(requests|curl)_ca_bundle"
    r"|sidestep_.*|.*_api_key|.*_base_url|prometheus_.*|(otel|langsmith|langchain|logfire)_.*"
    r"|no_color|force_color|columns|lines",
    re.IGNORECASE,
)
"""A variable of the user that sidestep or another library reads, and that would change a test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="Try all that can be tried, not a part.")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("whole" if config.getoption("whole") else "quick")


@pytest.fixture
def whole(request: pytest.FixtureRequest) -> bool:
    """Return whether all is to be tried, or a part of it."""
    return bool(request.config.getoption("whole"))


@pytest.fixture(scope="module", autouse=True)
def without_settings() -> Iterator[None]:
    """Hide the settings of the user who runs the tests, because tests set what they are about."""
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(SETTING.fullmatch, list(os.environ)):
            patch.delenv(name)
        yield


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes `-n auto` takes; 0 if they take longer than they save."""
    names_files = all(Path(name.partition("::")[0]).is_file() for name in config.args)
    processors = _processors()
    return 0 if names_files or processors == 1 else processors


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
