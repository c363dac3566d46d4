"""What a refusal says that has to change in the request, and the change.

A cure changes what we take the route for, never the stored conversation; whether that changes the
request is seen in its bytes. The words in which one is asked for stand in ``fact_cure.py``.
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
    """Return what *target* is to be taken for after *cures*."""
    for cure in cures:
        target = replace(target, **_changes(target, cure))
    return target


def _changes(target: Target, cure: Cure) -> dict[str, Any]:
    """Return the facts about *target* that turned out to be otherwise."""
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
                return {}  # where reasoning is proved none can be made up
            # There is one repair. An empty text will do for some; a sentence does for all.
            return {"missing_reasoning": PLACEHOLDER, "reasons_before_calls": False}
        case Change.DROP_REASONING_TEXT:
            return {"reasoning_form": "none", "missing_reasoning": None}
        case Change.REWRITE_IDS:
            return {"ids": MISTRAL_IDS}  # a form that every API takes
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
            return {}  # every request of ours is so already
        case _:
            assert_never(cure.change)
