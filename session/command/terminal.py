"""Where tables and timelines are printed, and what may be printed there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_MIN_WIDTH = 20
# The control characters of ASCII and Latin-1, except the tab and the ends of lines.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def terminal() -> Console:
    """Return the console to print to; a width in which nothing fits counts as none."""
    from rich.console import Console

    console = Console()
    return console if console.width >= _MIN_WIDTH else Console(width=80)


def printable(text: str) -> str:
    """Return *text* without characters that steer a terminal, because others wrote it."""
    return _CONTROL.sub("�", text)
