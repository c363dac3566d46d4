"""The efforts that models take, and the nearest one to an effort that a model does not take.

Source: developers.openai.com/api/docs/guides/reasoning and the pages of its models, with the
answers of the API itself in github.com/openai/openai-agents-python/issues/2089 (gpt-5.1) and
github.com/anomalyco/opencode/issues/36141 (gpt-5.6); console.groq.com/docs/reasoning and
inference-docs.cerebras.ai (gpt-oss); api-docs.deepseek.com/guides/thinking_mode. Read on
2026-11-30.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from ..catalog.model import plain_name
from ..conversation import Effort

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..conversation import Settings

_ORDER: tuple[Effort, ...] = get_args(Effort)

USUAL: tuple[Effort, ...] = ("low", "medium", "high")
"""The efforts of gpt-oss, and of OpenAI's first reasoning models."""

DEEPSEEK: Mapping[Effort, Effort] = MappingProxyType(
    {
        "minimal": "low",
        "low": "low",
        "medium": "high",
        "high": "high",
        "xhigh": "high",
        "max": "max",
    }
)
"""DeepSeek's word for each effort: it knows three, and has a switch for none."""

_OPENAI: tuple[tuple[re.Pattern[str], tuple[Effort, ...]], ...] = tuple(
    (re.compile(pattern), taken)
    for pattern, taken in (
        (r"gpt-5(?:\.\d+)?-chat", ()),
        (r"gpt-5-pro", ("high",)),
        (r"gpt-5\.\d+-pro", ("medium", "high", "xhigh")),
        (r"gpt-5\.(?:1-codex-max|[2-5]-codex)", (*USUAL, "xhigh")),
        (r"gpt-5(?:\.1)?-codex|codex|gpt-oss|o\d", USUAL),
        (r"gpt-5(?![.\d])", ("minimal", *USUAL)),
        (r"gpt-5\.1(?!\d)", ("none", *USUAL)),
        (r"gpt-5\.[2-5](?!\d)", ("none", *USUAL, "xhigh")),
        (r"gpt-6-astra|gpt-6\.1-sol", (*USUAL, "xhigh", "max")),
    )
)
_OPENAI_NEWEST: tuple[Effort, ...] = ("none", *USUAL, "xhigh", "max")


def openai_efforts(model: str) -> Sequence[Effort]:
    """Return the efforts that an OpenAI *model* takes, least first; an unknown name is new."""
    name = plain_name(model)
    return next((taken for pattern, taken in _OPENAI if pattern.match(name)), _OPENAI_NEWEST)


BUDGETS: Mapping[Effort, int] = MappingProxyType(
    {
        "minimal": 1024,
        "low": 2048,
        "medium": 8192,
        "high": 16384,
        "xhigh": 24576,
        "max": 32768,
    }
)
"""Thinking tokens for each effort, where a request asks for a number of them."""


def effort_of_word(word: str) -> Effort | None:
    """Return the effort that *word* names; None: it is the word of one API only."""
    return next((effort for effort in _ORDER if effort == word), None)


def effort_of_budget(tokens: int, budgets: Mapping[Effort, int] = BUDGETS) -> Effort:
    """Return the least effort that thinks with so many tokens."""
    return next((effort for effort in budgets if budgets[effort] >= tokens), "max")


def with_effort_of(settings: Settings, taken: Sequence[Effort]) -> Settings:
    """Return *settings* with the effort of *taken* that is nearest to the one in them."""
    asked = settings.reasoning
    return settings if asked is None else replace(settings, reasoning=nearest_effort(asked, taken))


def nearest_effort(effort: Effort, taken: Sequence[Effort]) -> Effort | None:
    """Return the effort of *taken* that is nearest to *effort*, rather below it than above.

    None: *taken* has no thinking effort. An effort that asks for thinking never becomes ``none``.

    Args:
        taken: Efforts, least first.
    """
    if effort in taken:
        return effort
    thinking = [each for each in taken if each != "none"]
    most = _ORDER.index(effort)
    below = [each for each in thinking if _ORDER.index(each) < most]
    return next(iter(below[-1:] or thinking), None)
