"""The parameters of a Chat Completions request that limit and steer its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..effort import DEEPSEEK, USUAL, nearest_effort, openai_efforts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...conversation import Effort, Settings
    from ...handover.target import Target


def limits(settings: Settings, target: Target) -> dict[str, Any]:
    """Return the parameters that limit and steer an answer, except its thinking."""
    parameters: dict[str, Any] = {}
    if settings.max_output_tokens is not None:
        parameters[target.token_limit] = target.longest(settings.max_output_tokens)
    takes_sampling = target.samples_at(settings.reasoning)
    if takes_sampling and settings.temperature is not None:
        parameters["temperature"] = settings.temperature
    is_one_too_many = "temperature" in parameters and not target.takes_temperature_and_top_p
    if takes_sampling and settings.top_p is not None and not is_one_too_many:
        parameters["top_p"] = settings.top_p
    if target.takes_cache_key and settings.cache_key is not None:
        parameters["prompt_cache_key"] = settings.cache_key
    return parameters


def reasoning(settings: Settings, target: Target) -> dict[str, Any]:
    """Return the parameters that ask for an effort; empty: the target takes none."""
    effort = settings.reasoning
    if effort is None or target.thinking == "none":
        return {}
    if effort == "none" and not target.can_disable_thinking:
        return {}
    return _effort_parameters(effort, target)


def _effort_parameters(effort: Effort, target: Target) -> dict[str, Any]:
    match target.effort_form:
        case "openai":
            return _effort(effort, openai_efforts(target.route.model))
        case "gpt-oss":
            return _effort(effort, USUAL)
        case "openrouter":
            return {"reasoning": {"enabled": False} if effort == "none" else {"effort": effort}}
        case "deepseek":
            return _deepseek(effort)
        case "zai":
            return _switch(effort)
        case "as asked":
            return {"reasoning_effort": effort}
        case None:
            return {}


def excludes_forcing(settings: Settings, target: Target) -> bool:
    """True if the model is asked to think, and then cannot be forced."""
    return target.thinking_excludes_forcing and settings.reasoning not in {None, "none"}


def can_disable_thinking(target: Target) -> bool:
    return target.thinking != "none" and target.can_disable_thinking


def _effort(effort: Effort, taken: Sequence[Effort]) -> dict[str, Any]:
    nearest = nearest_effort(effort, taken)
    return {} if nearest is None else {"reasoning_effort": nearest}


def _switch(effort: Effort) -> dict[str, Any]:
    return {"thinking": {"type": "disabled" if effort == "none" else "enabled"}}


def _deepseek(effort: Effort) -> dict[str, Any]:
    amount = DEEPSEEK.get(effort)
    return _switch(effort) | ({} if amount is None else {"reasoning_effort": amount})
