"""What Chat Completions refuses, vendor by vendor.

Source: the pages named in `dialects`, captures openai_400_*, deepseek_400_* and kimi_400_*. The
messages are those that programs which call the APIs report. A message that no source has is marked
as made up.
"""

from __future__ import annotations

from .calls import CALL_RULES
from .messages import MESSAGE_RULES
from .reasoning import REASONING_RULES
from .settings import SETTING_RULES

RULES = (*SETTING_RULES, *MESSAGE_RULES, *CALL_RULES, *REASONING_RULES)
"""In this order: a later rule relies on the shapes that an earlier one has checked."""
