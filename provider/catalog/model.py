"""What a model takes, as far as its name shows.

Source: platform.claude.com/docs (build-with-claude/thinking, models and their migration guides),
developers.openai.com/api/docs/guides/reasoning, ai.google.dev/gemini-api/docs (thinking,
thought-signatures, robotics-overview), api-docs.deepseek.com and platform.moonshot.ai, read on
2026-11-30. An unknown name counts as the newest of its family, because names are added more often
than limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ..conversation import Effort

Thinking = Literal["none", "manual", "adaptive"]
Version = tuple[int, int]

NEWEST: Version = (99, 0)

_CLAUDE = re.compile(
    r"claude-(?:[a-z]+-)?v?(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2})(?!\d))?(?!\d)"
)
_CLAUDE_FAMILY = re.compile(r"claude-(?:[\d.-]+-)?(?P<family>[a-z]{3,})")
_CLAUDE_FAMILIES = frozenset({"instant", "haiku", "sonnet", "opus", "fable", "mythos", "latest"})
_ALWAYS_STRICT = frozenset({"fable", "mythos"})

_GEMINI = re.compile(r"gemini-(?:[a-z]+-)*(?P<major>\d{1,2})(?:\.(?P<minor>\d+))?(?!\d)")
_GEMINI_NAMED: tuple[tuple[re.Pattern[str], Version], ...] = (
    (re.compile(r"gemini-robotics-er-1"), (2, 5)),  # made from Gemini 2.5, and thinks like it
    (re.compile(r"gemini-exp-"), (2, 0)),
    (re.compile(r"gemini-(?:pro(?:-vision)?|ultra)$"), (1, 0)),
)
"""Models with a number that is no version of Gemini, or old ones without a number."""

_OPENAI_REASONING = re.compile(r"(?:o\d|gpt-(?:[5-9]|[12]\d)|gpt-oss|codex)(?!\d|-chat)")
_OPENAI = re.compile(r"(?:o\d(?!\d)|gpt-(?!oss)|chatgpt|codex)")
_ALWAYS_THINKING = re.compile(
    r"o\d|gpt-oss|codex|gpt-5(?![.\d])|gpt-5\.1-codex|gpt-[\d.]+-(?:pro|chat)|gpt-6-astra|gpt-6\.1-sol"
)
_THINKS_IF_ASKED = re.compile(r"gpt-5\.[1-4](?!\d)")
"""Source: developers.openai.com/api/docs/guides/latest-model, github.com/vercel/ai/issues/10932
and github.com/langchain-ai/langchain/pull/35424; for newer models the profiles of pydantic-ai,
which were tried on the API."""

_GROK_WITHOUT_EFFORT = re.compile(
    r"grok-(?:[12](?!\d)|3(?!-mini)|4(?![.\d])|4[.-]20(?!-multi)|code)"
)
"""Source: docs.x.ai/guides/reasoning and the releases of github.com/vercel/ai (@ai-sdk/xai)."""

_DEEPSEEK_SILENT = re.compile(r"deepseek-(?:chat|coder|v2|v3(?![.\d]))")

_MISTRAL = re.compile(
    r"(?:open-)?(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral)"
)
_MISTRAL_DATE = re.compile(r"-(2[3-9](?:0[1-9]|1[0-2]))(?!\d)")
_MISTRAL_OF_TODAY = 2512
_MISTRAL_OLD = re.compile(
    r"open-|mixtral|nemo|tiny|saba|7b|24b|(?:small|medium)-3(?!\.[3-9]|\.\d\d)|devstral-small-1|pixtral"
)
"""Models of 2025 refuse it, as in github.com/zed-industries/zed/issues/37021 and
github.com/avante-corp/avante.nvim/pull/2695. Recordings of the API show mistral-small-latest and
ministral-3b-latest taking it."""

_KIMI_K = r"(?:kimi-|^)k[3-9](?![a-z\d])"
_KIMI_BY_EFFORT = re.compile(_KIMI_K)
_KIMI_THINKING = re.compile(rf"kimi-(?:k2-thinking|k2\.[5-9]|thinking|for-coding)|{_KIMI_K}")
"""At Kimi Code, the models are called ``k3`` and ``k3-256k``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claude:
    """What one Claude model takes.

    Args:
        thinking: How a request asks for thinking: not at all, with a budget, or by effort.
        takes_sampling: It takes ``temperature`` and ``top_p``.
        takes_temperature_and_top_p: It takes both of them at once.
        can_disable_thinking: Its thinking can be switched off.
        can_force_tool: It takes a ``tool_choice`` that names a tool, or asks for any tool.
        takes_prefill: A conversation can end with the start of its answer.
        binds_prefix: Its thinking is valid only after the same conversation that it came after.
    """

    thinking: Thinking
    takes_sampling: bool
    takes_temperature_and_top_p: bool
    can_disable_thinking: bool
    can_force_tool: bool
    takes_prefill: bool
    binds_prefix: bool


def plain_name(model: str) -> str:
    """Return *model* in lower case, without gateways before it and variants after it.

    >>> plain_name("OpenAI/GPT-5:online"), plain_name("ft:o4-mini-2025-04-16:acme::id")
    ('gpt-5', 'o4-mini-2025-04-16')
    """
    name = model.lower().rpartition("/")[2].removeprefix("ft:")
    return name.partition(":")[0]


def claude(model: str) -> Claude:
    """Return what the Claude called *model* takes; a name without a number is the newest."""
    family, version = _claude_name(plain_name(model))
    always_strict = family in _ALWAYS_STRICT
    is_haiku = family == "haiku"
    thinking: Thinking = "none"
    if version >= (4, 6):
        thinking = "adaptive"
    elif version >= (3, 7):
        thinking = "manual"
    return Claude(
        thinking=thinking,
        takes_sampling=version < (4, 7),
        takes_temperature_and_top_p=version < (4, 1),
        can_disable_thinking=is_haiku or version < ((5, 0) if always_strict else (5, 5)),
        can_force_tool=is_haiku or version < ((5, 1) if always_strict else (5, 5)),
        takes_prefill=version < (4, 6),
        binds_prefix=version >= (5, 1) and family != "mythos",
    )


def _claude_name(name: str) -> tuple[str, Version]:
    """Return the family and the version of a Claude; an unknown family is the newest."""
    match, named = _CLAUDE.search(name), _CLAUDE_FAMILY.search(name)
    family = named["family"] if named else ""
    if match is None or (family and family not in _CLAUDE_FAMILIES):
        return family, NEWEST
    return family, _version(match)


def gemini_version(model: str) -> Version:
    """Return the version of a Gemini; ``(0, 0)`` for other models, such as Gemma."""
    name = plain_name(model)
    for pattern, version in _GEMINI_NAMED:
        if pattern.search(name):
            return version
    match = _GEMINI.search(name)
    if match is not None:
        return _version(match)
    return NEWEST if name.startswith("gemini") else (0, 0)


def reasons_as_openai(model: str) -> bool:
    """True if *model* is a reasoning model of OpenAI, which takes no sampling parameters."""
    return _OPENAI_REASONING.match(plain_name(model)) is not None


def is_made_by_openai(model: str) -> bool:
    """True if *model* is served by OpenAI or in its name; gpt-oss, which anyone serves, is not."""
    return _OPENAI.match(plain_name(model).removeprefix("openai.")) is not None


def sampling_efforts(model: str) -> frozenset[Effort | None]:
    """Return the efforts at which a reasoning model of OpenAI takes sampling; None: no effort.

    Such a model takes sampling while it does not think. Some think only if they are asked to.
    """
    name = plain_name(model)
    if _ALWAYS_THINKING.match(name):
        return frozenset()
    return frozenset({None, "none"} if _THINKS_IF_ASKED.match(name) else {"none"})


def refuses_effort(model: str) -> bool:
    """True if *model* is one of xAI's that refuse an effort."""
    return _GROK_WITHOUT_EFFORT.search(plain_name(model)) is not None


def thinks_as_deepseek(model: str) -> bool:
    """True if *model* is a DeepSeek that thinks unless it is asked not to."""
    return _DEEPSEEK_SILENT.match(plain_name(model)) is None


def refuses_user_after_results(model: str) -> bool:
    """True if *model* is an older Mistral, which takes no user message after results of tools."""
    name = plain_name(model)
    if not _MISTRAL.match(name):
        return False
    dated = _MISTRAL_DATE.search(name)
    if dated is not None:
        return int(dated[1]) < _MISTRAL_OF_TODAY
    return _MISTRAL_OLD.search(name) is not None


def is_kimi(model: str) -> bool:
    """True if *model* is a Kimi, which makes ids of calls in a form of its own."""
    name = plain_name(model)
    return "kimi" in name or is_kimi_by_effort(name)


def is_kimi_thinking(model: str) -> bool:
    """True if *model* is a Kimi that thinks before it calls a tool."""
    return _KIMI_THINKING.search(plain_name(model)) is not None


def is_kimi_by_effort(model: str) -> bool:
    """True if *model* is a Kimi that takes an effort, and has no switch for its thinking."""
    return _KIMI_BY_EFFORT.search(plain_name(model)) is not None


def _version(match: re.Match[str]) -> Version:
    return int(match["major"]), int(match["minor"] or 0)
