"""What a model takes, as far as its name shows.

Source: platform.claude.com/docs (build-with-claude/thinking, models),
developers.openai.com/api/docs/guides/reasoning, ai.google.dev/gemini-api/docs (thinking,
thought-signatures), api-docs.deepseek.com and platform.moonshot.ai, read on 2026-11-29. An
unknown name counts as the newest of its family, because names are added more often than limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Thinking = Literal["none", "manual", "adaptive"]
Version = tuple[int, int]

NEWEST: Version = (99, 0)

_CLAUDE = re.compile(
    r"claude-(?:(?P<before>[a-z]+)-)?v?(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2})(?!\d))?"
)
_GEMINI = re.compile(r"gemini-(?P<major>\d+)(?:\.(?P<minor>\d+))?")
_OPENAI_REASONING = re.compile(r"(?:o\d|gpt-(?:[5-9]|[12]\d)|gpt-oss|codex)(?!\d|-chat)")
_KIMI_THINKING = re.compile(r"kimi-(?:k2-thinking|k2\.[5-9]|k[3-9]|thinking|latest|for-coding)")


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
    """Return *model* in lower case, without the names of the providers that pass it on."""
    return model.lower().rpartition("/")[2]


def claude(model: str) -> Claude:
    """Return what the Claude called *model* takes; a name without a number is the newest."""
    match = _CLAUDE.search(plain_name(model))
    version = NEWEST if match is None else _version(match)
    is_strict = version >= (5, 1) and (match is None or match["before"] in {"fable", "mythos"})
    thinking: Thinking = "none"
    if version >= (4, 6):
        thinking = "adaptive"
    elif version >= (3, 7):
        thinking = "manual"
    return Claude(
        thinking=thinking,
        takes_sampling=version < (4, 7),
        takes_temperature_and_top_p=version < (4, 1),
        can_disable_thinking=not is_strict,
        can_force_tool=not is_strict,
        takes_prefill=version < (4, 6),
        binds_prefix=version >= (5, 1),
    )


def gemini_version(model: str) -> Version:
    """Return the version of a Gemini; ``(0, 0)`` for other models, such as Gemma."""
    name = plain_name(model)
    match = _GEMINI.search(name)
    if match is not None:
        return _version(match)
    return NEWEST if name.startswith("gemini") else (0, 0)


def reasons_as_openai(model: str) -> bool:
    """True if *model* is a reasoning model of OpenAI, which takes no sampling parameters."""
    return _OPENAI_REASONING.match(plain_name(model)) is not None


def is_kimi_thinking(model: str) -> bool:
    """True if *model* is a Kimi that thinks before it calls a tool."""
    return _KIMI_THINKING.search(plain_name(model)) is not None


def is_kimi_by_effort(model: str) -> bool:
    """True if *model* is a Kimi that takes an effort, and has no switch for its thinking."""
    return re.search(r"kimi-k[3-9]", plain_name(model)) is not None


def _version(match: re.Match[str]) -> Version:
    return int(match["major"]), int(match["minor"] or 0)
