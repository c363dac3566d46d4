"""What Anthropic Messages refuses, and what the facades do that speak like it.

Source: platform.claude.com/docs (api/messages, api/errors, build-with-claude/extended-thinking,
adaptive-thinking and prompt-caching), read on 2026-11-29, and captures anthropic_400_*; the words
as programs that call the API report them. What none spells is marked as made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..complaint import first
from .blocks import BLOCK_RULES
from .cache_markers import MARKER_RULES
from .facades import FACADE_RULES
from .pairing import PAIRING_RULES
from .settings import SETTING_RULES
from .thinking import THINKING_RULES
from .tools import TOOL_RULES

if TYPE_CHECKING:
    from ..complaint import Complaint
    from .request import Said

RULES = (
    *SETTING_RULES,
    *TOOL_RULES,
    *FACADE_RULES,
    *MARKER_RULES,
    *BLOCK_RULES,
    *PAIRING_RULES,
    *THINKING_RULES,
)


def complaint(said: Said) -> Complaint | None:
    """Say what is wrong with a request; None where it is taken."""
    return first(RULES, said)
