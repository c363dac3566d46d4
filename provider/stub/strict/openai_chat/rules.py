"""What Chat Completions refuses, vendor by vendor.

Source: the pages named in `strict_dialect`, captures openai_400_*, deepseek_400_* and kimi_400_*;
the words as programs that call the APIs report them. What none spells is marked as made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..complaint import first
from .calls import CALL_RULES
from .messages import MESSAGE_RULES
from .reasoning import REASONING_RULES
from .settings import SETTING_RULES

if TYPE_CHECKING:
    from ..complaint import Complaint
    from .request import Said

RULES = (*SETTING_RULES, *MESSAGE_RULES, *CALL_RULES, *REASONING_RULES)


def complaint(said: Said) -> Complaint | None:
    """Say what is wrong with a request; None where it is taken."""
    return first(RULES, said)
