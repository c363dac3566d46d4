"""Answer a request for a token count.

Source: the types of the anthropic 2.14, openai 3.57 and google-genai 2.34 packages, and
ai.google.dev/api/tokens, read on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from .script import error_script, json_script

if TYPE_CHECKING:
    from ..wire_name import Wire
    from .script import Script
    from .wire.base import StubRequest

_TAKEN: Mapping[Wire, frozenset[str]] = MappingProxyType(
    {
        "anthropic": frozenset(
            {"model", "messages", "system", "thinking", "tool_choice", "tools", "output_config"}
            | {"cache_control", "speed", "user_profile_id", "workspace_id"}
        ),
        "openai-responses": frozenset(
            {"conversation", "input", "instructions", "model", "parallel_tool_calls", "text"}
            | {"personality", "previous_response_id", "reasoning", "tool_choice", "tools"}
            | {"truncation"}
        ),
        "gemini": frozenset({"contents", "generateContentRequest"}),
    }
)


def count_script(request: StubRequest, wire: Wire, tokens: int, *, request_id: str) -> Script:
    """Return a response with *tokens*, or a refusal of keys that only a request may have."""
    unknown = sorted(request.body.keys() - _TAKEN[wire])
    wrong = _complaint(request, wire) if not unknown else _unknown(wire, unknown[0])
    if wrong is not None:
        return error_script(request.dialect, 400, request_id=request_id, message=wrong)
    return json_script("count", _answer(wire, tokens))


def _unknown(wire: Wire, key: str) -> str:
    if wire == "anthropic":
        return f"{key}: Extra inputs are not permitted"
    if wire == "openai-responses":
        return f"Unknown parameter: '{key}'."
    return f'Invalid JSON payload received. Unknown name "{key}": Cannot find field.'


def _complaint(request: StubRequest, wire: Wire) -> str | None:
    if wire == "anthropic" and not isinstance(request.body.get("messages"), list):
        return "messages: Field required"
    if wire != "gemini":
        return None
    inner = request.body.get("generateContentRequest")
    if isinstance(inner, Mapping) and inner.get("model") != f"models/{request.route.model}":
        return "The model of generateContentRequest is not the one in the path"  # made up
    return None


def _answer(wire: Wire, tokens: int) -> dict[str, object]:
    if wire == "gemini":
        return {"totalTokens": tokens}
    is_openai = wire == "openai-responses"
    return {"input_tokens": tokens} | ({"object": "response.input_tokens"} if is_openai else {})
