"""What Gemini refuses.

Source: ai.google.dev/gemini-api/docs (thought-signatures, function-calling, api/generate-content),
read on 2026-11-29, captures gemini_400_*, and the types of the google-genai package 2.34. The
messages are those that programs which call the API report. A message that no source has is marked
as made up.
"""

from __future__ import annotations

from .declarations import DECLARATION_RULES
from .order import ORDER_RULES
from .parts import FIELD_RULES, PART_RULES
from .signatures import SIGNATURE_RULES

RULES = (*FIELD_RULES, *DECLARATION_RULES, *PART_RULES, *ORDER_RULES, *SIGNATURE_RULES)
"""In this order: a later rule relies on the shapes that an earlier one has checked."""
