"""Log what a callback of the agent raised, without keys."""

from __future__ import annotations

import traceback

from ..provider.log import logger
from ..provider.secret import redact_shapes


def log_callback_error(what: str) -> None:
    """Log *what* and the traceback of the current exception, with everything like a key masked.

    The traceback is formatted here, because `logging` would print the exception unmasked.
    """
    logger.error("%s", redact_shapes(f"{what}\n{traceback.format_exc().rstrip()}"), stacklevel=2)
