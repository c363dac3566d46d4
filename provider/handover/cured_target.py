"""The effect of cures on a target.

A cure overrides fields of the route's `Target`; it never edits the stored conversation. Callers
compare request bytes to see whether it changed anything. The words in which providers ask for a
cure are in `classify/cure_wording.py`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from ..conversation import Effort
from ..cure import Change, Cure
from .target import PLACEHOLDER, PLACEHOLDER_SIGNATURE
from .tool_id import MISTRAL_IDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .target import Target


def cured(target: Target, cures: Iterable[Cure]) -> Target:
    """Return *target* after *cures*."""
    for cure in cures:
        target = replace(target, **_overrides(target, cure))
    return target


def _overrides(target: Target, cure: Cure) -> Mapping[str, Any]:
    """Return the fields of *target* that *cure* overrides."""
    match cure.change:
        case Change.ADD_REASONING:
            return _with_reasoning(target)
        case Change.LIMIT_TOKENS | Change.FIT_ANSWER:
            return {"max_answer_tokens": target.longest(int(cure.detail))}
        case Change.LIMIT_EFFORT:
            return _with_efforts(cure.detail.split())
        case Change.SHORTEN:
            part, _, longest = cure.detail.rpartition(" ")
            return {f"longest_{part or 'text'}": int(longest)}
        case Change.LEAVE_OUT_IMAGES:
            return _without_images(target, cure.detail)
        case Change.LEAVE_OUT_FILTERED:
            return {"filtered_messages": target.filtered_messages | {*cure.detail.split()}}
        case Change.PLAIN_TEXT:
            return {"plain_messages": int(cure.detail)}
        case Change.RENAME_LIMIT:
            return {"token_limit": cure.detail}
        case Change.OMIT:
            parameter = re.split(r"[.[]", cure.detail)[0]
            names = {parameter, *_ALSO.get(parameter, ())}
            return {"unsupported_parameters": target.unsupported_parameters | names}
        case _:
            return _OVERRIDES[cure.change]


def _with_reasoning(target: Target) -> Mapping[str, Any]:
    needs_proof = target.wire == "gemini" or target.reasoning_form == "encrypted"
    if target.is_chained or needs_proof:
        return _NONE  # reasoning with a proof cannot be made up
    # Each request is repaired once. Some take an empty text, and all take a sentence.
    return {"missing_reasoning": PLACEHOLDER, "reasons_before_calls": False}


def _with_efforts(named: Sequence[str]) -> Mapping[str, Any]:
    """Return the efforts that were named, least first; a single one is the largest."""
    order: tuple[Effort, ...] = get_args(Effort)
    if len(named) == 1:
        return {"efforts": tuple(order[: order.index(named[0]) + 1])}
    return {"efforts": tuple(effort for effort in order if effort in named)}


def _without_images(target: Target, detail: str) -> Mapping[str, Any]:
    """Return what leaves out the images in *detail*; all of them if it names places only."""
    if not detail.startswith("#"):
        return {"takes_images": False}
    return {"refused_images": target.refused_images | frozenset(detail.split())}


_ALSO: Mapping[str, tuple[str, ...]] = {
    "effort": ("output_config", "reasoning_effort", "reasoning"),
}
"""The fields that a refusal calls by another name."""
_NONE: Mapping[str, Any] = MappingProxyType({})
"""Our requests are always as the cure asks."""

_OVERRIDES: Mapping[Change, Mapping[str, Any]] = MappingProxyType(
    {
        Change.DROP_REASONING: {"reasoning_form": "none", "signs_calls": False},
        Change.THINKING_OFF: {"thinking": "none"},
        Change.THINK_ADAPTIVELY: {"thinking": "adaptive"},
        Change.THINK_BY_BUDGET: {"thinking": "manual"},
        Change.SIGN_CALLS: {"missing_signature": PLACEHOLDER_SIGNATURE},
        Change.DROP_REASONING_TEXT: {"reasoning_form": "none", "missing_reasoning": None},
        Change.REWRITE_IDS: {"ids": MISTRAL_IDS},  # every API takes this form
        Change.DECLARE_TOOLS: {"declares_called_tools": True},
        Change.BRIDGE_RESULTS: {"bridges_results": True},
        Change.UNMARK: {"markers": 0},
        Change.DROP_IMAGES: {"takes_images": False},
        Change.PLAIN_CONTENT: {"is_plain": True, "takes_images": False},
        Change.DO_NOT_FORCE: {"can_force_tool": False},
        Change.CLOSE_CALLS: _NONE,
        Change.DROP_EMPTY: _NONE,
        Change.END_WITH_USER: _NONE,
    }
)
"""The overrides of every change that needs no detail."""
