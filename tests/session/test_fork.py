"""A child that is forked while another thread is at work does not wait for that thread."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from . import forked_process


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
@pytest.mark.parametrize(
    "what",
    [
        "counts_of_attempts", "counts_for_prometheus",
        "configuration", "map_of_routes", "keys", "every_map", "map_in_the_middle_of_a_change",
        "probe", "new_session_file", "open_session_file", "import_in_another_thread",
        "package_in_another_thread", "model_in_another_thread", "model_in_another_thread_later",
    ],
)  # fmt: skip
def test_what_a_forked_child_needs_outlives_the_fork(what: str) -> None:
    """A process of its own forks, because here other threads run as well."""
    ran = subprocess.run(
        [sys.executable, forked_process.__file__, what],
        capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
