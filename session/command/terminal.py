"""What the commands print to: tables to stdout, the log to stderr."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from ...provider.log import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

_MIN_WIDTH = 20
# The control characters of ASCII and Latin-1, except the tab and the ends of lines; and halves of
# surrogate pairs, which cannot be encoded.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def terminal() -> Console:
    """Return the console to print to; a width in which nothing fits counts as none."""
    from rich.console import Console

    console = Console()
    return console if console.width >= _MIN_WIDTH else Console(width=80)


def printable(text: str) -> str:
    """Return *text* without characters that steer a terminal or cannot be printed."""
    return _CONTROL.sub("�", text)


def log_to_stderr(before: Callable[[], None] = lambda: None, *, has_notices: bool = True) -> None:
    """Print what the library logs: above all a configuration that is ignored.

    Args:
        before: Called before each line, to end what stands on the terminal's last line.
        has_notices: The command prints a notice of each swap, so that the log's line is left out.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))

    def is_shown(record: logging.LogRecord) -> bool:
        if has_notices and record.getMessage().startswith("[model-fallback]"):
            return False
        before()
        return True

    handler.addFilter(is_shown)
    logger.addHandler(handler)
