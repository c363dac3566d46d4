"""What each dialect of Chat Completions accepts, by its vendor and by the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..catalog.model import (
    claude,
    gemini_version,
    is_kimi,
    is_kimi_thinking,
    is_made_by_openai,
    plain_name,
    reasons_as_openai,
    refuses_effort,
    refuses_user_after_results,
    sampling_efforts,
    thinks_as_deepseek,
)
from .target import PLACEHOLDER, PLACEHOLDER_SIGNATURE
from .tool_id import GATEWAY_IDS, KIMI_IDS, LONG_IDS, MISTRAL_IDS, OTHER_IDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ONE_BY_ONE = frozenset({"parallel_tool_calls"})
_KEEPERS = frozenset({"openrouter", "groq", "cerebras"})
"""Vendors that serve models of others, and pass on the ids of calls as the models made them."""
_WITH_PROOFS = ("anthropic/", "google/", "openai/")
"""Models behind OpenRouter that take their reasoning back only with its proof."""
_AS_IT_LIKES = frozenset({"parallel_tool_calls", "tool_choice"})

_CHAT: Mapping[str, Mapping[str, Any]] = {
    "openai": {
        "token_limit": "max_completion_tokens",
        "takes_system_later": True,
        "has_developer_role": True,
        "takes_openai_schemas": True,
        "effort_form": "openai",
        "takes_cache_key": True,
    },
    "openrouter": {
        "reasoning_form": "as issued",
        "reasoning_field": "reasoning",
        "ids": GATEWAY_IDS,
        "thinking": "adaptive",
        "effort_form": "openrouter",
    },
    "groq": {
        "reasoning_form": "text",
        "reasoning_field": "reasoning",
        "ids": OTHER_IDS,
        "token_limit": "max_completion_tokens",
        "effort_form": "gpt-oss",
    },
    "cerebras": {
        "reasoning_form": "text",
        "reasoning_field": "reasoning",
        "ids": OTHER_IDS,
        "token_limit": "max_completion_tokens",
        "is_plain": True,
        "effort_form": "gpt-oss",
        "unsupported_parameters": _ONE_BY_ONE,
    },
    "gemini": {"signs_calls": True, "effort_form": "gpt-oss"},
    "mistral": {
        "reasoning_form": "text",
        "ids": MISTRAL_IDS,
        "reasoning_in_content": "chunks",
        "joins_neighbours": True,
        "begins_with_user": True,
        "unsupported_parameters": frozenset({"stream_options"}),
    },
    "deepseek": {
        "reasoning_form": "text",
        "missing_reasoning": "",
        "reasons_before_calls": False,
        "is_plain": True,
        "thinking": "manual",
        "effort_form": "deepseek",
        "ids": OTHER_IDS,
        "thinking_excludes_forcing": True,
    },
    "zai": {
        "reasoning_form": "text",
        "thinking": "manual",
        "effort_form": "zai",
        "ids": OTHER_IDS,
        "unsupported_parameters": _AS_IT_LIKES,
    },
    "moonshot": {"reasoning_form": "text", "ids": KIMI_IDS, "unsupported_parameters": _ONE_BY_ONE},
    "minimax": {
        "reasoning_form": "text",
        "ids": OTHER_IDS,
        "reasoning_in_content": "tag",
        "is_plain": True,
        "unsupported_parameters": _AS_IT_LIKES,
    },
}
"""How the dialects of Chat Completions differ.

Source: the vendors' own references, and their answers in
github.com/deepseek-ai/DeepSeek-V3/issues/1376 (no call is forced while it thinks),
github.com/agno-agi/agno/issues/4508 (Cerebras and parallel calls) and
github.com/zed-industries/zed/pull/31736 (Mistral, and the user right after results); for z.ai and
MiniMax, which ignore a choice of tool, java.agentscope.io/v2/en/integration/model. Read on
2026-11-30. What is not named here is sent as it was asked for, and as it came.
"""
_OTHERS: Mapping[str, Any] = {
    "signs_calls": True,
    "reasoning_form": "as issued",
    "ids": OTHER_IDS,
    "thinking": "adaptive",
    "effort_form": "as asked",
}
"""All other vendors: a Gemini may be behind them, which refuses its calls without a signature."""

_CHAT_MODELS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "openai": lambda model: _openai_model(model),
    "groq": lambda model: {
        "thinking": "adaptive" if "gpt-oss" in model else "none",
    },
    "cerebras": lambda model: {"thinking": "adaptive" if "gpt-oss" in model else "none"},
    "deepseek": lambda model: {"can_force_tool": not thinks_as_deepseek(model)},
    "mistral": lambda model: {"bridges_results": refuses_user_after_results(model)},
    "moonshot": lambda model: {
        "missing_reasoning": PLACEHOLDER if is_kimi_thinking(model) else None,
        "takes_sampling": not is_kimi_thinking(model),
        "can_force_tool": not is_kimi_thinking(model),
    },
    "gemini": lambda model: {
        "thinking": "adaptive" if gemini_version(model) >= (2, 5) else "none",
        "missing_signature": PLACEHOLDER_SIGNATURE if gemini_version(model) >= (3, 0) else None,
    },
    "openrouter": lambda model: {
        # Of all providers behind it, only OpenAI does not take ids as long as the others make them.
        **({"ids": OTHER_IDS} if model.startswith("openai/") else {}),
        **({"reasoning_form": "details"} if model.startswith(_WITH_PROOFS) else {}),
        "takes_openai_schemas": model.startswith("openai/"),
        "bridges_results": refuses_user_after_results(model),
        "markers": 4 if model.startswith(("anthropic/", "google/")) else 0,
        **(_claude_behind(model) if model.startswith("anthropic/") else {}),
    },
}
"""How the models of one dialect differ."""


def chat_facts(vendor: str, model: str) -> dict[str, Any]:
    """Return the fields of a `Target` for *model* at *vendor*."""
    model = model.lower()
    if vendor not in _CHAT:
        return {**_OTHERS, **_elsewhere(model)}
    of_model = _CHAT_MODELS.get(vendor, _same)
    ids = {"ids": KIMI_IDS} if vendor in _KEEPERS and is_kimi(model) else {}
    seen = {"takes_images": sees(vendor, model)}
    return {**_CHAT[vendor], **ids, **of_model(model), **seen}


def _elsewhere(model: str) -> Mapping[str, Any]:
    """Return what *model* accepts at a vendor that nobody knows, as far as its name shows."""
    if is_made_by_openai(model):
        of_openai = _openai_model(model)
        limit = "max_completion_tokens" if reasons_as_openai(model) else "max_tokens"
        seen = {"takes_images": sees("openai", model)}
        return {"effort_form": "openai", "token_limit": limit, **of_openai, **seen}
    if "claude" in plain_name(model):
        return {"thinking": claude(model).thinking, **_claude_model(model)}
    if is_kimi(model):
        return {"ids": KIMI_IDS}
    return {"thinking": "none"} if refuses_effort(model) else {}


_SEEING: Mapping[str, re.Pattern[str]] = {
    "cerebras": re.compile("(?!)"),
    "deepseek": re.compile("(?!)"),
    "groq": re.compile("llama-4|vision"),
    "minimax": re.compile("(?!)"),
    "moonshot": re.compile(r"kimi-(?!k2-|k2$)|vision"),
    "openai": re.compile(r"^(?!(?:.*/)?(?:gpt-3|gpt-oss|o1-mini|o3-mini))"),
    "zai": re.compile(r"glm-[\d.]+v"),
}
"""The models that take pictures, of vendors with other models; of other vendors all models do."""


def sees(vendor: str, model: str) -> bool:
    """True if *model* at *vendor* takes pictures, as far as its name shows."""
    seeing = _SEEING.get(vendor)
    return seeing is None or seeing.search(model) is not None


def _claude_behind(model: str) -> Mapping[str, Any]:
    """Return what a Claude accepts behind another vendor."""
    return {**_claude_model(model), "thinking_excludes_sampling": True, "ids": LONG_IDS}


def _claude_model(model: str) -> Mapping[str, Any]:
    """Return what a Claude accepts at any provider."""
    facts = claude(model)
    return {
        "takes_sampling": facts.takes_sampling,
        "takes_temperature_and_top_p": facts.takes_temperature_and_top_p,
        "can_disable_thinking": facts.can_disable_thinking,
        "can_force_tool": facts.can_force_tool,
        "thinking_excludes_forcing": facts.thinking == "manual",
        "declares_called_tools": True,
    }


def _openai_model(model: str) -> Mapping[str, Any]:
    """Return what a model of OpenAI accepts.

    Source: for the o-series and parallel calls, github.com/tensorzero/tensorzero/issues/2805.
    """
    is_reasoning = reasons_as_openai(model)
    is_o_series = re.match(r"o\d", plain_name(model)) is not None
    return {
        "thinking": "adaptive" if is_reasoning else "none",
        "takes_sampling": not is_reasoning,
        "sampling_efforts": sampling_efforts(model),
        "unsupported_parameters": _ONE_BY_ONE if is_o_series else frozenset(),
    }


def _same(_model: str) -> Mapping[str, Any]:
    """Return no difference, because all models of the vendor accept the same."""
    return {}
