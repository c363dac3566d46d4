"""The logger ``sidestep``, silent until the agent asks for its lines."""

from __future__ import annotations

import logging

logger = logging.getLogger("sidestep")
# Without a handler Python's last resort prints warnings to stderr, into a user's answer.
logger.addHandler(logging.NullHandler())
