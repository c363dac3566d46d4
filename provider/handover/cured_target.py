"""The effect of cures on a target.

A cure overrides fields of the route's `Target`; it never edits the stored conversation. Callers
compare request bytes to see whether it changed anything. The words in which providers ask for a
cure are in `classify/cure_wording.py`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from ..cure import Change, Cure
from .target import PLACEHOLDER, PLACEHOLDER_SIGNATURE
from .tool_id import MISTRAL_IDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .target import Target


def cured(target: Target, cures: Iterable[Cure]) -> Target:
    """Return *target* after *cures*."""
    for cure in cures:
        target = replace(target, **_changes(target, cure))
    return target


def _changes(target: Target, cure: Cure) -> dict[str, Any]:
    """Return the fields of *target* that *cure* overrides."""
    match cure.change:
        case Change.DROP_REASONING:
            return {"reasoning_form": "none", "signs_calls": False}
        case Change.THINKING_OFF:
            return {"thinking": "none"}
        case Change.THINK_ADAPTIVELY:
            return {"thinking": "adaptive"}
        case Change.THINK_BY_BUDGET:
            return {"thinking": "manual"}
        case Change.SIGN_CALLS:
            return {"missing_signature": PLACEHOLDER_SIGNATURE}
        case Change.ADD_REASONING:
            if target.is_chained or target.wire in {"gemini", "openai-responses"}:
                return {}  # reasoning with a proof cannot be made up
            # Each request is repaired once. Some take an empty text, and all take a sentence.
            return {"missing_reasoning": PLACEHOLDER, "reasons_before_calls": False}
        case Change.DROP_REASONING_TEXT:
            return {"reasoning_form": "none", "missing_reasoning": None}
        case Change.REWRITE_IDS:
            return {"ids": MISTRAL_IDS}  # every API takes this form
        case Change.DECLARE_TOOLS:
            return {"declares_called_tools": True}
        case Change.BRIDGE_RESULTS:
            return {"bridges_results": True}
        case Change.UNMARK:
            return {"markers": 0}
        case Change.DROP_IMAGES:
            return {"takes_images": False}
        case Change.PLAIN_CONTENT:
            return {"is_plain": True, "takes_images": False}
        case Change.DO_NOT_FORCE:
            return {"can_force_tool": False}
        case Change.LIMIT_TOKENS:
            return {"max_answer_tokens": int(cure.detail)}
        case Change.RENAME_LIMIT:
            return {"token_limit": cure.detail}
        case Change.OMIT:
            return {
                "unsupported_parameters": target.unsupported_parameters
                | {re.split(r"[.[]", cure.detail)[0]}
            }
        case Change.CLOSE_CALLS | Change.DROP_EMPTY | Change.END_WITH_USER:
            return {}  # our requests are always like this
        case _:
            assert_never(cure.change)
