"""What Gemini refuses.

Source: ai.google.dev/gemini-api/docs (thought-signatures, function-calling, api/generate-content),
read on 2026-11-29, captures gemini_400_*, and the types of the google-genai package 2.34; the
words as programs that call the API report them. What none spells is marked as made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..complaint import first
from .declarations import DECLARATION_RULES
from .order import ORDER_RULES
from .parts import FIELD_RULES, PART_RULES
from .signatures import SIGNATURE_RULES

if TYPE_CHECKING:
    from ..complaint import Complaint
    from .request import Said

RULES = (*FIELD_RULES, *DECLARATION_RULES, *PART_RULES, *ORDER_RULES, *SIGNATURE_RULES)


def complaint(said: Said) -> Complaint | None:
    """Say what is wrong with a request; None where it is taken."""
    return first(RULES, said)
