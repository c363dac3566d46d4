"""What Chat Completions refuses, vendor by vendor.

Source: the pages named in `strict_dialect`, captures openai_400_*, deepseek_400_* and kimi_400_*;
the words as programs that call the APIs report them. What none spells is marked as made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .complaint import first
from .strict_chat_call import CALL_RULES
from .strict_chat_message import MESSAGE_RULES
from .strict_chat_setting import SETTING_RULES
from .strict_reasoning import REASONING_RULES

if TYPE_CHECKING:
    from .complaint import Complaint
    from .strict_completion import Said

RULES = (*SETTING_RULES, *MESSAGE_RULES, *CALL_RULES, *REASONING_RULES)


def complaint(said: Said) -> Complaint | None:
    """Say what is wrong with a request; None where it is taken."""
    return first(RULES, said)
