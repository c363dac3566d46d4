"""What each model takes: the judge's own facts.

They are written from the providers' documentation and share no code with the facts that requests
are made from. One wrong fact is then refused by the judge instead of hiding in both.

Source: platform.claude.com/docs (models/*/migration-guide, models/*/whats-new-*,
build-with-claude/thinking and preserved-thinking) and github.com/anthropics/skills
(claude-api/shared/models.md); developers.openai.com/api/docs/guides/reasoning;
ai.google.dev/gemini-api/docs/thought-signatures; api-docs.deepseek.com/guides/thinking_mode;
platform.moonshot.ai/docs. For system messages platform.claude.com/docs/en/build-with-claude/
mid-conversation-system-messages and langchain-ai/langchainjs, release @langchain/anthropic 1.5.13;
for the levels of effort anthropics/claude-code#92387 and the probes of public gateways. Read on
2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from .model_name import ClaudeName, plain_name, starts_with

FIRST_PARTY = frozenset({"anthropic", "bedrock"})
"""The vendors that serve Anthropic's own API. Every other vendor's is a facade."""

Sampling = Literal["both", "one", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeFacts:
    """What one Claude takes on Anthropic's own API.

    Args:
        thinking: The values of ``thinking.type`` that it takes.
        sampling: Whether it takes ``temperature`` and ``top_p`` together, one of them, or none.
        takes_forced_tools: It takes a ``tool_choice`` of ``any`` or ``tool``.
        takes_prefill: The last message may be the assistant's.
        binds_prefix: Its thinking is valid only after the conversation that it was issued for.
        takes_system_messages: A message among the others may have the role ``system``.
        efforts: The levels of ``output_config.effort`` that it takes. Empty: it takes none.
    """

    thinking: frozenset[str]
    sampling: Sampling
    takes_forced_tools: bool = True
    takes_prefill: bool = False
    binds_prefix: bool = False
    takes_system_messages: bool = False
    efforts: tuple[str, ...] = ()


_HIGH = ("high", "low", "medium")
_MAX = ("high", "low", "max", "medium")
_ALL = (*_MAX, "xhigh")

_WITHOUT_THINKING = ClaudeFacts(
    thinking=frozenset({"disabled"}), sampling="both", takes_prefill=True
)
_BY_BUDGET = replace(_WITHOUT_THINKING, thinking=frozenset({"disabled", "enabled"}))
_ONE_OF_TWO = replace(_BY_BUDGET, sampling="one")
_BY_BUDGET_OR_EFFORT = ClaudeFacts(
    thinking=frozenset({"adaptive", "disabled", "enabled"}), sampling="one", efforts=_MAX
)
_BY_EFFORT = ClaudeFacts(
    thinking=frozenset({"adaptive", "disabled"}), sampling="none", efforts=_ALL
)
_WITH_SYSTEM = replace(_BY_EFFORT, takes_system_messages=True)
_ALWAYS = replace(_WITH_SYSTEM, thinking=frozenset({"adaptive"}))
_BOUND = replace(_ALWAYS, takes_forced_tools=False, binds_prefix=True)

_CLAUDES: Mapping[ClaudeName, ClaudeFacts] = {
    ClaudeName("", "1.3"): _WITHOUT_THINKING,
    ClaudeName("", "2"): _WITHOUT_THINKING,
    ClaudeName("", "2.1"): _WITHOUT_THINKING,
    ClaudeName("instant", "1"): _WITHOUT_THINKING,
    ClaudeName("instant", "1.2"): _WITHOUT_THINKING,
    ClaudeName("haiku", "3"): _WITHOUT_THINKING,
    ClaudeName("sonnet", "3"): _WITHOUT_THINKING,
    ClaudeName("opus", "3"): _WITHOUT_THINKING,
    ClaudeName("haiku", "3.5"): _WITHOUT_THINKING,
    ClaudeName("sonnet", "3.5"): _WITHOUT_THINKING,
    ClaudeName("sonnet", "3.7"): _BY_BUDGET,
    ClaudeName("sonnet", "4"): _BY_BUDGET,
    ClaudeName("opus", "4"): _BY_BUDGET,
    ClaudeName("opus", "4.1"): _ONE_OF_TWO,
    ClaudeName("haiku", "4.5"): _ONE_OF_TWO,
    ClaudeName("sonnet", "4.5"): _ONE_OF_TWO,
    ClaudeName("opus", "4.5"): replace(_ONE_OF_TWO, efforts=_HIGH),
    ClaudeName("sonnet", "4.6"): _BY_BUDGET_OR_EFFORT,
    ClaudeName("opus", "4.6"): _BY_BUDGET_OR_EFFORT,
    ClaudeName("opus", "4.7"): _BY_EFFORT,
    ClaudeName("opus", "4.8"): _WITH_SYSTEM,
    ClaudeName("sonnet", "5"): _WITH_SYSTEM,
    ClaudeName("opus", "5"): _WITH_SYSTEM,
    ClaudeName("fable", "5"): _ALWAYS,
    ClaudeName("mythos", "5"): _ALWAYS,
    ClaudeName("fable", "5.1"): _BOUND,
    ClaudeName("mythos", "5.1"): replace(_BOUND, binds_prefix=False),
    ClaudeName("haiku", "5.5"): replace(_WITH_SYSTEM, binds_prefix=True),
    ClaudeName("sonnet", "5.5"): replace(_BOUND, thinking=frozenset({"adaptive", "between_tools"})),
    ClaudeName("opus", "5.5"): _BOUND,
}
"""Every Claude; the newest of each family stands last."""


def claude_facts(model: str) -> ClaudeFacts:
    """Return what the Claude called *model* takes.

    An unknown version is judged as the newest of its family, an unknown family as the strictest.
    """
    name = ClaudeName.of(model)
    if name in _CLAUDES:
        return _CLAUDES[name]
    family = [facts for key, facts in _CLAUDES.items() if key.family == name.family]
    return family[-1] if name.family and family else _BOUND


def binds_prefix(vendor: str, model: str) -> bool:
    """True if *model* at *vendor* binds its thinking to the conversation before it."""
    return vendor in FIRST_PARTY and claude_facts(model).binds_prefix


_OPENAI_REASONING = ("o1", "o3", "o4", "gpt-5", "gpt-6", "gpt-oss", "codex")
_OPENAI_WITHOUT_REASONING = ("gpt-5-chat",)


def is_openai_reasoning(model: str) -> bool:
    """True if *model* is one of OpenAI's reasoning models."""
    name = plain_name(model)
    is_excepted = starts_with(name, _OPENAI_WITHOUT_REASONING)
    return starts_with(name, _OPENAI_REASONING) and not is_excepted


_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?=[-@]|$)")
_LOW_TO_HIGH = ("low", "medium", "high")


def _gpt_version(name: str) -> tuple[int, int]:
    """Return the version in *name*, as (5, 1); (0, 0) for none."""
    found = _GPT.match(name)
    return (int(found[1]), int(found[2] or 0)) if found is not None else (0, 0)


def openai_efforts(model: str) -> tuple[str, ...]:
    """Return the levels of effort that OpenAI's reasoning *model* takes.

    Source: developers.openai.com/api/docs/guides/reasoning, and the probes of public gateways;
    read on 2026-11-30.
    """
    name = plain_name(model)
    version = _gpt_version(name)
    if version == (5, 0):
        is_codex = "codex" in name
        return _LOW_TO_HIGH if is_codex else ("minimal", *_LOW_TO_HIGH)
    if version == (5, 1):
        return ("none", *_LOW_TO_HIGH, *(("xhigh",) if "max" in name else ()))
    if (5, 2) <= version <= (5, 5):
        return ("none", *_LOW_TO_HIGH, "xhigh")
    return ("none", *_LOW_TO_HIGH, "xhigh", "max") if version > (5, 5) else _LOW_TO_HIGH


def thinks_as_asked(model: str, effort: object) -> bool:
    """True if OpenAI's reasoning *model* thinks with *effort*; None asks for its default.

    Since GPT-5.1 a model may be told not to think, and up to GPT-5.4 it does not unless told to.
    One that does not think takes sampling parameters. Source: vercel/ai#10942,
    langchain-ai/langchain#35424, developers.openai.com/api/docs/guides/reasoning, and recorded
    requests.
    """
    name = plain_name(model)
    if any(word in name for word in ("codex", "-pro", "-chat")) or effort is not None:
        return effort != "none"
    return not (5, 1) <= _gpt_version(name) <= (5, 4)


_GEMINI_BEFORE_3 = ("gemini-1", "gemini-2", "gemini-exp", "gemini-ultra", "gemini-robotics-er-1")
_GEMINI_1 = frozenset({"gemini-pro", "gemini-pro-vision"})


def is_gemini_3(model: str) -> bool:
    """True if *model* is a Gemini 3 or later, which takes a thinking level."""
    name = plain_name(model)
    is_older = name in _GEMINI_1 or starts_with(name, _GEMINI_BEFORE_3)
    return starts_with(name, ("gemini",)) and not is_older


def needs_call_signatures(model: str) -> bool:
    """True if *model* refuses its own calls of tools without a signature; image models do not."""
    return is_gemini_3(model) and "-image" not in plain_name(model)


_KIMI_THINKING = (
    *("kimi-k2-thinking", "kimi-k2.5", "kimi-k2.6", "kimi-k2.7", "kimi-k3"),
    *("kimi-thinking", "kimi-for-coding", "k3"),
)


def is_kimi_thinking(model: str) -> bool:
    """True if *model* is a Kimi that thinks by default, with a fixed temperature."""
    return starts_with(plain_name(model), _KIMI_THINKING)


DEEPSEEK_FORCED = "Thinking mode does not support this tool_choice"
"""What DeepSeek says, on all its wires, when a request that makes it think forces a tool."""
_DEEPSEEK_SILENT = re.compile(r"deepseek-(?:chat|coder|v2|v3(?![.\d]))")


def is_deepseek_thinking(model: str) -> bool:
    """True if *model* thinks at DeepSeek by default, as all of its newer models do."""
    return _DEEPSEEK_SILENT.match(plain_name(model)) is None


_SEEING: Mapping[str, re.Pattern[str]] = {
    "groq": re.compile(r"llama-4|vision"),
    "zai": re.compile(r"glm-[\d.]+v"),
    "openai": re.compile(r"^(?!gpt-3|o1-mini|o3-mini)"),
    "deepseek": re.compile(r"(?!)"),
    "cerebras": re.compile(r"(?!)"),
}
"""What the names of models that take images contain; all models of other vendors pass."""


def takes_images(vendor: str, model: str) -> bool:
    """False if *model* at *vendor* is known to take no images."""
    seeing = _SEEING.get(vendor)
    return seeing is None or seeing.search(plain_name(model)) is not None
