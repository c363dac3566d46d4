"""The `Target` of a route: what each wire, each vendor and each model accepts."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ..catalog.model import (
    claude,
    gemini_version,
    is_kimi_by_effort,
    is_made_by_openai,
    plain_name,
    reasons_as_openai,
    refuses_effort,
    sampling_efforts,
    thinks_as_deepseek,
)
from ..catalog.vendor import vendor_of
from .chat_facts import chat_facts, sees
from .target import PLACEHOLDER, PLACEHOLDER_SIGNATURE, Target
from .tool_id import (
    ANTHROPIC_IDS,
    FACADE_IDS,
    GATEWAY_IDS,
    LONG_IDS,
)
from .tool_name import ANTHROPIC_NAMES, GEMINI_NAMES

if TYPE_CHECKING:
    from ..catalog.model import Thinking
    from ..catalog.provider import Provider
    from ..route import Route


@lru_cache(maxsize=1024)
def target_of(provider: Provider, route: Route) -> Target:
    """Return what *route* accepts, as *provider* serves it."""
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
            return replace(target, **chat_facts(vendor, route.model))


_NO_SWITCH = frozenset({"thinking"})
_FACADES = frozenset({"deepseek", "moonshot", "zai", "minimax"})
"""Vendors that serve their own models on Anthropic's wire, even under the name of a Claude."""


def _anthropic(target: Target) -> Target:
    """Return what Anthropic, a gateway to it, or a facade of other models accepts."""
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
            reasoning_form="signature",
            is_chained=True,
            can_disable_thinking=facts.can_disable_thinking,
            can_force_tool=facts.can_force_tool,
            takes_sampling=facts.takes_sampling,
            takes_temperature_and_top_p=facts.takes_temperature_and_top_p,
            markers=4,
        )
    wants_thinking = target.vendor in {"deepseek", "moonshot"}
    return replace(
        target,
        reasoning_form="unsigned",
        ids=FACADE_IDS,
        missing_reasoning=PLACEHOLDER if wants_thinking else None,
        thinking_excludes_forcing=wants_thinking,
        can_force_tool=not (target.vendor == "deepseek" and thinks_as_deepseek(target.route.model)),
        unsupported_parameters=_NO_SWITCH if is_kimi_by_effort(target.route.model) else frozenset(),
        takes_images=sees(target.vendor, target.route.model.lower()),
        markers=4 if target.vendor == "openrouter" else 0,
    )


def _responses(target: Target) -> Target:
    """Return what OpenAI accepts, or another vendor who serves this wire with models of its own."""
    model = target.route.model
    is_openai = target.vendor == "openai" or is_made_by_openai(model)
    is_reasoning = reasons_as_openai(model) if is_openai else not refuses_effort(model)
    wants_thinking = target.vendor == "deepseek" and thinks_as_deepseek(model)
    return replace(
        target,
        missing_reasoning=PLACEHOLDER if wants_thinking else None,
        reasoning_form="encrypted" if is_openai else "as issued",
        ids=LONG_IDS if target.vendor == "openai" else GATEWAY_IDS,
        takes_images=sees("openai", target.route.model.lower()),
        images_in_results=True,
        images_in_errors=True,
        takes_system_later=True,
        thinking="adaptive" if is_reasoning else "none",
        effort_form="openai" if is_openai else "as asked",
        takes_sampling=not (is_openai and is_reasoning),
        sampling_efforts=sampling_efforts(model) if is_openai else frozenset(),
        token_limit="max_output_tokens",  # noqa: S106
        takes_cache_key=target.vendor == "openai",
    )


def _gemini(target: Target) -> Target:
    version = gemini_version(target.route.model)
    is_third = version >= (3, 0)
    thinking: Thinking = "none"
    if version >= (2, 5):
        thinking = "adaptive" if is_third else "manual"
    return replace(
        target,
        reasoning_form="signature",
        signs_calls=True,
        missing_signature=PLACEHOLDER_SIGNATURE if is_third else None,
        ids=LONG_IDS if target.vendor == "gemini" else GATEWAY_IDS,
        names=GEMINI_NAMES,
        images_in_results=is_third,
        images_in_errors=is_third,
        begins_with_user=True,
        thinking=thinking,
        token_limit="maxOutputTokens",  # noqa: S106
    )
