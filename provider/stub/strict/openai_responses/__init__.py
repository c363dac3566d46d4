"""What OpenAI Responses refuses.

Source: developers.openai.com/api/docs (guides/reasoning, guides/function-calling, api-reference),
read on 2026-11-29, captures openai_400_*; for how calls and outputs are paired also
github.com/openai/codex. A message that no source has is marked as made up.
"""

from __future__ import annotations

from .encrypted import ENCRYPTED_RULES
from .items import ITEM_RULES
from .settings import SETTING_RULES
from .xai import XAI_RULES

RULES = (*SETTING_RULES, *ITEM_RULES, *XAI_RULES, *ENCRYPTED_RULES)
"""In this order: a later rule relies on the shapes that an earlier one has checked."""
