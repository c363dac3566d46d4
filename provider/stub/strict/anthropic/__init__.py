"""What Anthropic Messages refuses, and what the facades that speak it refuse.

Source: platform.claude.com/docs (api/messages, api/errors, build-with-claude/extended-thinking,
adaptive-thinking and prompt-caching), read on 2026-11-29, and captures anthropic_400_*. The
messages are those that programs which call the API report. A message that no source has is marked
as made up.
"""

from __future__ import annotations

from .blocks import BLOCK_RULES
from .cache_markers import MARKER_RULES
from .facades import FACADE_RULES
from .pairing import PAIRING_RULES
from .settings import SETTING_RULES
from .thinking import THINKING_RULES
from .tools import TOOL_RULES

RULES = (
    *SETTING_RULES,
    *TOOL_RULES,
    *FACADE_RULES,
    *MARKER_RULES,
    *BLOCK_RULES,
    *PAIRING_RULES,
    *THINKING_RULES,
)
"""In this order: a later rule relies on the shapes that an earlier one has checked."""
