"""What OpenAI Responses refuses.

Source: developers.openai.com/api/docs (guides/reasoning, guides/function-calling, api-reference),
read on 2026-11-29, captures openai_400_*; how calls and outputs are paired also
github.com/openai/codex. What none spells is marked as made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..complaint import first
from .encrypted import ENCRYPTED_RULES
from .items import ITEM_RULES
from .request import SETTING_RULES

if TYPE_CHECKING:
    from ..complaint import Complaint
    from .request import Said

RULES = (*SETTING_RULES, *ITEM_RULES, *ENCRYPTED_RULES)


def complaint(said: Said) -> Complaint | None:
    """Say what is wrong with a request; None where it is taken."""
    return first(RULES, said)
