"""Exit statuses of the command."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the command returns to the shell."""

    DONE = 0
    FAILED = 1
    """The step or the drill failed."""
    USAGE = 2
    """What was typed is wrong, or the configuration is."""
    INTERRUPTED = 130
