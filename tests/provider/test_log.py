"""What an agent that set up no logging gets to see: nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

READ = "import sidestep; assert sidestep.Sidestep.from_env().config is None"
COMPLAINT = "the fallback configuration is ignored: SIDESTEP_FALLBACK_CONFIG: not JSON"


@pytest.mark.parametrize(
    ("setup", "says"),
    [
        pytest.param("", "", id="nothing set up"),
        pytest.param("import logging; logging.basicConfig(); ", COMPLAINT, id="set up"),
    ],
)
def test_the_log_prints_nothing_unless_the_agent_set_up_logging(setup: str, says: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", setup + READ],
        env=dict(os.environ) | {"SIDESTEP_FALLBACK_CONFIG": "{"},
        capture_output=True, encoding="utf-8", timeout=60, check=True,
    )  # fmt: skip

    assert ran.stdout == ""
    assert says in ran.stderr
    assert bool(ran.stderr) == bool(says)
