"""The parts of a LangChain request that may go to a route: no reasoning of another route.

Source: langchain-core 1.8.3, langchain-openai 1.7.4 and langchain-anthropic 1.7.10, read on
2026-11-30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, HumanMessage

from .answer_history import FROM_THE_USER, STAMP, answer_history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain.agents.middleware import ModelRequest
    from langchain_core.messages import AnyMessage, BaseMessage
    from langchain_core.tools import BaseTool

    from ...provider.route import Route
    from ..step.move_policy import MoveHistory

_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Types of content blocks that only the route that wrote them can read."""
_PROOFS = frozenset(
    {"reasoning", "reasoning_content", "reasoning_details", "thought_signature", "signature"}
    | {"__gemini_function_call_thought_signatures__"}
)
"""Keys of the same, beside the content or in a block."""
_IDS = frozenset({"text", "output_text", "function_call"})
"""Types of blocks with an `id` that OpenAI Responses looks up among its own items."""
_CACHE_SETTINGS = frozenset(
    {"cache_control", "cached_content", "prompt_cache_key", "prompt_cache_retention"}
    | {"prompt_cache_options", "prompt_cache_breakpoint"}
)


def request_for(request: ModelRequest[Any], route: Route, requested: Route) -> ModelRequest[Any]:
    """Return *request* without the parts that only another route than *route* can read.

    A message that names no route counts as one of *requested*. Cache settings are written for the
    provider of *requested*; ``cache_control`` may also go to another route to a Claude.
    """
    messages = [message_for(message, route, requested) for message in request.messages]
    request = request.override(messages=messages)
    dropped = _cache_settings_dropped(route, requested)
    if not dropped:
        return request
    system = request.system_message
    return request.override(
        messages=[_without_keys(message, dropped) for message in request.messages],
        system_message=None if system is None else _without_keys(system, dropped),
        tools=[_tool_without_keys(tool, dropped) for tool in request.tools],
        model_settings=_without(request.model_settings, dropped),
    )


def history_of(messages: Sequence[AnyMessage], requested: Route) -> MoveHistory | None:
    """Return what a step that asks for *requested* needs to know of *messages*."""
    return answer_history(map(_stamp, reversed(messages)), requested)


def _stamp(message: AnyMessage) -> object:
    if isinstance(message, AIMessage):
        return message.response_metadata.get(STAMP)
    return FROM_THE_USER if isinstance(message, HumanMessage) else None


def message_for(message: AnyMessage, route: Route, requested: Route) -> AnyMessage:
    """Return *message* without reasoning, proofs and ids if another route wrote it."""
    if not isinstance(message, AIMessage) or _author(message, requested) == route:
        return message
    content = message.content
    if isinstance(content, list):
        content = [_block_for(each) for each in content if not _is_reasoning(each)] or ""
    return message.model_copy(
        update={
            "content": content,
            "additional_kwargs": _without(message.additional_kwargs, _PROOFS),
            # OpenAI Responses looks up both ids in its store.
            "response_metadata": _without(message.response_metadata, frozenset({"id"})),
            "id": None if (message.id or "").startswith("msg_") else message.id,
        }
    )


def _author(message: AIMessage, requested: Route) -> str:
    stamp = message.response_metadata.get(STAMP)
    route = stamp.get("route") if isinstance(stamp, dict) else None
    return route if isinstance(route, str) else requested


def _is_reasoning(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _REASONING


def _block_for(block: str | dict[str, Any]) -> str | dict[str, Any]:
    if not isinstance(block, dict):
        return block
    return _without_deep(block, _PROOFS | {"id"} if block.get("type") in _IDS else _PROOFS)


def _cache_settings_dropped(route: Route, requested: Route) -> frozenset[str]:
    if route.provider == requested.provider:
        return frozenset()
    if _is_claude(route) and _is_claude(requested):
        return _CACHE_SETTINGS - {"cache_control"}
    return _CACHE_SETTINGS


def _is_claude(route: Route) -> bool:
    return route.provider == "anthropic" or "claude" in route.model


def _without_keys(message: BaseMessage, keys: frozenset[str]) -> Any:
    content = message.content
    if not isinstance(content, list):
        return message
    kept = [_without_deep(each, keys) if isinstance(each, dict) else each for each in content]
    return message.model_copy(update={"content": kept})


def _tool_without_keys(
    tool: BaseTool | dict[str, Any], keys: frozenset[str]
) -> BaseTool | dict[str, Any]:
    if isinstance(tool, dict):
        return _without_deep(tool, keys)
    extras = getattr(tool, "extras", None)
    if not extras or keys.isdisjoint(extras):
        return tool
    return tool.model_copy(update={"extras": _without(extras, keys) or None})


def _without_deep(block: dict[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """Return *block* without *keys*, also in its ``extras``."""
    kept = _without(block, keys)
    extras = kept.get("extras")
    if isinstance(extras, dict):
        kept["extras"] = _without(extras, keys)
    return kept


def _without(given: dict[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in keys}
