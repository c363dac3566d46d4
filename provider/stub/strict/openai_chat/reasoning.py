"""Rules for the reasoning that comes back in a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....json_value import listed, mapping, string
from ...signature.issuer import ProofState
from ..complaint import Complaint
from ..model_facts import is_kimi_thinking
from ..openai_words import wrong_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .request import ChatRequest


def keeps_what_deepseek_thought(request: ChatRequest) -> Complaint | None:
    """In a conversation with calls every answer must have the key; an empty string is enough."""
    if not request.is_thinking_at_deepseek:
        return None
    if not any(True for _ in request.calls()):
        return None
    for message in request.messages:
        if message["role"] == "assistant" and not isinstance(message.get("reasoning_content"), str):
            why = "The `reasoning_content` in the thinking mode must be passed back to the API."
            return Complaint(message=why, code="invalid_request_error")
    return None


def keeps_what_kimi_thought(request: ChatRequest) -> Complaint | None:
    """An empty string is enough; reports disagree about it."""
    is_default = is_kimi_thinking(request.route.model)
    if request.vendor != "moonshot" or not request.is_asked_to_think(is_default):
        return None
    for index, message in enumerate(request.messages):
        is_kept = isinstance(message.get("reasoning_content"), str)
        if message.get("tool_calls") and not is_kept:
            why = (
                "thinking is enabled but reasoning_content is missing in assistant tool call "
                f"message at index {index}"
            )
            return Complaint(message=why)
    return None


def has_details_of_its_own(request: ChatRequest) -> Complaint | None:
    """Every detail must have been issued on the same route."""
    if request.vendor != "openrouter":
        return None
    for index, message in enumerate(request.messages):
        details = message.get("reasoning_details")
        if details is not None and not isinstance(details, list):
            return wrong_kind(f"messages[{index}].reasoning_details", "an array", details)
        for place, detail in enumerate(_merged(listed(details))):
            why = _forged(request, detail)
            if why is not None:
                why = f"messages.{index}.content.{place}: {why}"
                return request.from_upstream(Complaint(message=why))
    return None


def _merged(details: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the details, with the streamed fragments of one text joined."""
    running: dict[str, Any] | None = None
    for each in details:
        detail = mapping(each)
        is_text = detail.get("type") == "reasoning.text"
        if running is not None and is_text and detail.get("index") == running.get("index"):
            running["text"] = string(running.get("text")) + string(detail.get("text"))
            running["signature"] = detail.get("signature") or running.get("signature")
            continue
        if running is not None:
            yield running
        running = dict(detail) if is_text else None
        if not is_text:
            yield detail
    if running is not None:
        yield running


def _forged(request: ChatRequest, detail: Mapping[str, Any]) -> str | None:
    match detail.get("type"):
        case "reasoning.text":
            text, signature = string(detail.get("text")), detail.get("signature")
            if request.issuer.verify(signature, request.route, text) is ProofState.VALID:
                return None
            return "Invalid `signature` in `thinking` block"
        case "reasoning.encrypted":
            if request.issuer.is_own(detail.get("data"), request.route):
                return None
            return "Invalid `data` in `redacted_thinking` block"
        case "reasoning.summary" | "reasoning.server_tool_call":
            return None
        case kind:
            return f"Invalid type of reasoning detail: {kind!r}"  # made up


REASONING_RULES = (
    keeps_what_deepseek_thought,
    keeps_what_kimi_thought,
    has_details_of_its_own,
)
