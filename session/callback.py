"""What a function of the agent's own raised, put in the log without its keys."""

from __future__ import annotations

import traceback

from ..provider.log import logger
from ..provider.secret import masked


def log_raised(told: str) -> None:
    """Log *told* and the traceback of the exception in hand, with what looks like a key masked.

    The traceback is text, since an exception's own words would be printed as they are.
    """
    logger.error("%s", masked(f"{told}\n{traceback.format_exc().rstrip()}"), stacklevel=2)
