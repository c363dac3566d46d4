"""What the API behind one route takes: all that shaping a conversation for it depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..catalog.model import (
    claude,
    gemini_version,
    is_kimi_by_effort,
    is_kimi_thinking,
    plain_name,
    reasons_as_openai,
)
from ..catalog.vendor import vendor_of
from .tool_id import ANTHROPIC_IDS, CHAT_IDS, KIMI_IDS, LONG_IDS, MISTRAL_IDS
from .tool_name import ANTHROPIC_NAMES, GEMINI_NAMES, OPENAI_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..catalog.model import Thinking
    from ..catalog.provider import Provider
    from ..route import Route
    from ..wire_name import Wire
    from .tool_id import IdForm
    from .tool_name import NameForm

Proof = Literal["signature", "unsigned", "encrypted", "details", "text", "none"]
"""What the API wants of its own reasoning when it gets it back.

``signature``: its signature. ``unsigned``: the text, with a signature where it gave one.
``encrypted``: the encrypted form. ``details``: the list of details. ``text``: the text alone.
``none``: it takes none back.
"""

PLACEHOLDER = "(The reasoning before this call is not kept.)"
"""Stands where an API demands reasoning that the route which answered did not leave."""

PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""Stands where Gemini demands a signature; of the two words that pass for one, this does so on
Vertex as well. Source: ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-29."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What one route takes.

    Args:
        vendor: Whose API it is; see `vendor_of`.
        proof: In what form its own reasoning goes back.
        is_chained: Its reasoning is good only after all the reasoning that came before.
        signs_calls: The signature of its own call goes back on it.
        missing_signature: Stands on a call for the signature that it must have and has not;
            None where no call must have one.
        missing_reasoning: Stands for the reasoning that a message must have and has not; None
            where no message must.
        reasons_before_calls: Only a message that calls tools must have reasoning.
        ids: What the ids of tool calls look like.
        names: What names of tools look like.
        takes_images: The user may send pictures.
        images_in_results: A tool's result may hold pictures; elsewhere they follow in a message
            of the user's.
        images_in_errors: So may the result of a tool that failed.
        begins_with_user: The first message must be the user's.
        takes_system_later: Instructions may stand between messages.
        declares_called_tools: Where tools were called some must be declared.
        thinking: How it is told to think.
        can_be_silenced: It can be told not to think.
        can_be_forced: It can be told to call a tool.
        is_free_to_think: While it thinks it cannot be forced, and takes no sampling.
        takes_sampling: It takes ``temperature`` and ``top_p``.
        takes_both: It takes these two at once.
        token_limit: What it calls the length of the longest answer.
        most_tokens: The longest answer that it gives; None is unknown.
        markers: How many cache markers a request may hold; 0 where it takes none.
        omitted: Names of parameters that are left out of a request.
        is_plain: Content goes as a string, never as a list of parts.
        bridges_results: After results of tools comes an answer, before the user speaks.
    """

    route: Route
    wire: Wire
    vendor: str
    proof: Proof = "none"
    is_chained: bool = False
    signs_calls: bool = False
    missing_signature: str | None = None
    missing_reasoning: str | None = None
    reasons_before_calls: bool = True
    ids: IdForm = CHAT_IDS
    names: NameForm = OPENAI_NAMES
    takes_images: bool = True
    images_in_results: bool = False
    images_in_errors: bool = False
    begins_with_user: bool = False
    takes_system_later: bool = False
    declares_called_tools: bool = False
    thinking: Thinking = "none"
    can_be_silenced: bool = True
    can_be_forced: bool = True
    is_free_to_think: bool = False
    takes_sampling: bool = True
    takes_both: bool = True
    token_limit: str = "max_tokens"  # noqa: S105 - the name of a parameter
    most_tokens: int | None = None
    markers: int = 0
    omitted: frozenset[str] = frozenset()
    is_plain: bool = False
    bridges_results: bool = False

    def longest(self, wanted: int) -> int:
        """Return how long an answer may be that is *wanted* so long, in tokens."""
        return wanted if self.most_tokens is None else min(wanted, self.most_tokens)


@lru_cache(maxsize=1024)
def target_of(provider: Provider, route: Route) -> Target:
    """Say what *route* takes, which *provider* serves."""
    vendor = vendor_of(provider)
    target = Target(route=route, wire=provider.wire, vendor=vendor)
    match provider.wire:
        case "anthropic":
            return _anthropic(target)
        case "openai-responses":
            return _responses(target)
        case "gemini":
            return _gemini(target)
        case "openai-chat":
            return replace(target, **_chat(vendor, route.model))


_NO_SWITCH = frozenset({"thinking"})
_FACADES = frozenset({"deepseek", "moonshot", "zai", "minimax"})
"""Who speaks the wire of Anthropic with models of their own, whatever name these are given."""


def _anthropic(target: Target) -> Target:
    """Anthropic itself, a gateway to it, or one of the facades with other models behind."""
    facts = claude(target.route.model)
    is_claude = "claude" in plain_name(target.route.model) and target.vendor not in _FACADES
    target = replace(
        target,
        ids=ANTHROPIC_IDS,
        names=ANTHROPIC_NAMES,
        begins_with_user=True,
        declares_called_tools=True,
        images_in_results=True,
        thinking=facts.thinking,
    )
    if target.vendor in {"anthropic", "bedrock"} or is_claude:
        return replace(
            target,
            proof="signature",
            is_chained=True,
            can_be_silenced=facts.can_be_silenced,
            can_be_forced=facts.can_be_forced,
            takes_sampling=facts.takes_sampling,
            takes_both=facts.takes_both,
            markers=4,
        )
    wants_thinking = target.vendor in {"deepseek", "moonshot"}
    return replace(
        target,
        proof="unsigned",
        missing_reasoning=PLACEHOLDER if wants_thinking else None,
        omitted=_NO_SWITCH if is_kimi_by_effort(target.route.model) else frozenset(),
        takes_images=_sees(target.vendor, target.route.model.lower()),
        markers=4 if target.vendor == "openrouter" else 0,
    )


def _responses(target: Target) -> Target:
    is_reasoning = reasons_as_openai(target.route.model)
    return replace(
        target,
        proof="encrypted",
        ids=LONG_IDS,
        takes_images=_sees("openai", target.route.model.lower()),
        images_in_results=True,
        images_in_errors=True,
        takes_system_later=True,
        thinking="adaptive" if is_reasoning else "none",
        takes_sampling=not is_reasoning,
        token_limit="max_output_tokens",  # noqa: S106
    )


def _gemini(target: Target) -> Target:
    version = gemini_version(target.route.model)
    is_third = version >= (3, 0)
    thinking: Thinking = "none"
    if version >= (2, 5):
        thinking = "adaptive" if is_third else "manual"
    return replace(
        target,
        proof="signature",
        signs_calls=True,
        missing_signature=PLACEHOLDER_SIGNATURE if is_third else None,
        ids=LONG_IDS,
        names=GEMINI_NAMES,
        images_in_results=is_third,
        images_in_errors=is_third,
        begins_with_user=True,
        thinking=thinking,
        token_limit="maxOutputTokens",  # noqa: S106
    )


_ONE_BY_ONE = frozenset({"parallel_tool_calls"})
_AS_IT_LIKES = frozenset({"parallel_tool_calls", "tool_choice"})

_CHAT: Mapping[str, Mapping[str, Any]] = {
    "openai": {"token_limit": "max_completion_tokens", "takes_system_later": True},
    "openrouter": {"proof": "details", "ids": LONG_IDS, "thinking": "adaptive"},
    "groq": {"token_limit": "max_completion_tokens"},
    "cerebras": {
        "token_limit": "max_completion_tokens",
        "is_plain": True,
        "omitted": _ONE_BY_ONE,
    },
    "mistral": {
        "ids": MISTRAL_IDS,
        "begins_with_user": True,
        "bridges_results": True,
        "omitted": frozenset({"stream_options"}),
    },
    "deepseek": {
        "proof": "text",
        "missing_reasoning": "",
        "reasons_before_calls": False,
        "is_plain": True,
        "thinking": "manual",
        "can_be_forced": False,  # while it thinks
    },
    "zai": {"proof": "text", "thinking": "manual", "omitted": _AS_IT_LIKES},
    "moonshot": {"proof": "text", "ids": KIMI_IDS, "omitted": _ONE_BY_ONE},
    "minimax": {"proof": "text", "is_plain": True, "omitted": _AS_IT_LIKES},
}
"""How the dialects of Chat Completions differ in what they take.

Source: the vendors' own references, and what they answered in
github.com/deepseek-ai/DeepSeek-V3/issues/1376 (no call is forced while it thinks),
github.com/agno-agi/agno/issues/4508 (Cerebras and parallel calls) and
github.com/zed-industries/zed/pull/31736 (Mistral, and the user right after results), which
github.com/NousResearch/hermes-agent/issues/20154 saw of a model of 2026 as well; for z.ai and
MiniMax, which take no choice of a tool but their own, java.agentscope.io/v2/en/integration/model.
Read on 2026-11-30.
"""
_SIGNING: Mapping[str, Any] = {"signs_calls": True}
"""What all others take: behind them may be a Gemini, which refuses its calls without that."""

_CHAT_MODELS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "openai": lambda model: _openai_model(model),
    "groq": lambda model: {
        "thinking": "adaptive" if "gpt-oss" in model else "none",
    },
    "cerebras": lambda model: {"thinking": "adaptive" if "gpt-oss" in model else "none"},
    "mistral": lambda model: {"proof": "text" if "magistral" in model else "none"},
    "moonshot": lambda model: {
        "missing_reasoning": PLACEHOLDER if is_kimi_thinking(model) else None,
        "takes_sampling": not is_kimi_thinking(model),
        "can_be_forced": not is_kimi_thinking(model),
    },
    "gemini": lambda model: {
        "missing_signature": PLACEHOLDER_SIGNATURE if gemini_version(model) >= (3, 0) else None
    },
    "openrouter": lambda model: {
        # OpenAI is the only one behind it whose ids may not be as long as the others give them.
        **({"ids": CHAT_IDS} if model.startswith("openai/") else {}),
        "bridges_results": model.startswith("mistralai/"),
        "markers": 4 if model.startswith(("anthropic/", "google/")) else 0,
        **(_claude_behind(model) if model.startswith("anthropic/") else {}),
    },
}
"""How the models of one dialect differ."""


def _chat(vendor: str, model: str) -> dict[str, Any]:
    model = model.lower()
    of_model = _CHAT_MODELS.get(vendor, _same)
    sees = {"takes_images": _sees(vendor, model)}
    return {**_CHAT.get(vendor, _SIGNING), **of_model(model), **sees}


_SEEING: Mapping[str, re.Pattern[str]] = {
    "cerebras": re.compile("(?!)"),
    "deepseek": re.compile("(?!)"),
    "groq": re.compile("llama-4|vision"),
    "minimax": re.compile("(?!)"),
    "moonshot": re.compile(r"kimi-(?!k2-|k2$)|vision"),
    "openai": re.compile(r"^(?!(?:.*/)?(?:gpt-3|gpt-oss|o1-mini|o3-mini))"),
    "zai": re.compile(r"glm-[\d.]+v"),
}
"""Which models of those vendors take pictures that have others as well; of the rest all do."""


def _sees(vendor: str, model: str) -> bool:
    seeing = _SEEING.get(vendor)
    return seeing is None or seeing.search(model) is not None


def _claude_behind(model: str) -> Mapping[str, Any]:
    """Say what a Claude takes whoever it comes through."""
    facts = claude(model)
    return {
        "takes_sampling": facts.takes_sampling,
        "takes_both": facts.takes_both,
        "can_be_silenced": facts.can_be_silenced,
        "can_be_forced": facts.can_be_forced,
        "is_free_to_think": True,
        "declares_called_tools": True,
    }


def _openai_model(model: str) -> Mapping[str, Any]:
    """Say what one of OpenAI's takes.

    Source: for the o-series and parallel calls, github.com/tensorzero/tensorzero/issues/2805.
    """
    is_reasoning = reasons_as_openai(model)
    is_o_series = re.match(r"o\d", plain_name(model)) is not None
    return {
        "thinking": "adaptive" if is_reasoning else "none",
        "takes_sampling": not is_reasoning,
        "omitted": _ONE_BY_ONE if is_o_series else frozenset(),
    }


def _same(_model: str) -> Mapping[str, Any]:
    """All models of this vendor take the same."""
    return {}
