"""Rules for reasoning items and for the items that came with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....json_value import listed, mapping, string
from ...signature.issuer import ProofState
from ...signature.openai_responses import is_own_reasoning, needed_reasoning
from ..complaint import Complaint
from ..model_facts import is_deepseek_thinking
from ..openai_words import missing
from .items import OWN_TOOLS
from .request import ResponsesRequest, openai_only

if TYPE_CHECKING:
    from collections.abc import Mapping

OF_ANOTHER_TO_XAI = (
    "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified "
    "encrypted_content from a previous response."
)
"""Source: NousResearch/hermes-agent#32617, read on 2026-11-30."""
FOLLOWING = frozenset({"reasoning", "function_call", "custom_tool_call"})
ANSWERED = frozenset({"function_call", "web_search_call"})
"""The calls of one answer, which may stand between its reasoning and a later call."""


def has_encrypted_content_of_its_own(request: ResponsesRequest) -> Complaint | None:
    for index, item in enumerate(request.items):
        if request.kind(index) != "reasoning":
            continue
        found = _unreadable(request, item, index)
        if found is not None:
            return found
    return None


def _unreadable(request: ResponsesRequest, item: Mapping[str, Any], index: int) -> Complaint | None:
    """Return the refusal of reasoning of another route; without an id its content decides.

    Other vendors than OpenAI take reasoning as plain text too.
    """
    item_id, content = item.get("id"), item.get("encrypted_content")
    if content is None and not request.is_openai:
        return None
    if content is None:
        return missing(f"input[{index}].id") if item_id is None else _unstored(request, item_id)
    is_good = request.issuer.is_own(content, request.route)
    if item_id is not None:
        is_good = request.issuer.verify(content, request.route, item_id) is ProofState.VALID
    if is_good:
        return None
    if request.vendor == "xai":
        return Complaint(message=OF_ANOTHER_TO_XAI)
    message = (
        f"The encrypted content for item {item_id} could not be verified. Reason: Encrypted "
        "content could not be decrypted or parsed."
    )
    return Complaint(message=message, code="invalid_encrypted_content")


def _unstored(request: ResponsesRequest, item_id: object) -> Complaint | None:
    """Return the refusal of reasoning that is sent by its id alone, if it is not stored."""
    if request.body.get("store") is False:
        why = (
            f"Item with id '{item_id}' not found. Items are not persisted when `store` is set "
            "to false. Try again with `store` set to true, or remove this item from your input."
        )
        return Complaint(message=why, param="input")
    if is_own_reasoning(request.issuer, request.route, str(item_id)):
        return None
    return Complaint(message=f"Item with id '{item_id}' not found.", param="input", status=404)


@openai_only
def has_what_follows_reasoning(request: ResponsesRequest) -> Complaint | None:
    for index, item in enumerate(request.items):
        if request.kind(index) != "reasoning" or _is_followed(request, index + 1):
            continue
        message = (
            f"Item '{item.get('id')}' of type 'reasoning' was provided without its required "
            "following item."
        )
        return Complaint(message=message, param="input")
    return None


def _is_followed(request: ResponsesRequest, index: int) -> bool:
    if index >= len(request.items):
        return False
    kind = request.kind(index)
    if kind == "message":
        return request.items[index].get("role") == "assistant"
    return kind in FOLLOWING or (kind in OWN_TOOLS and kind.endswith("_call"))


@openai_only
def has_reasoning_before_what_follows(request: ResponsesRequest) -> Complaint | None:
    """An item that was issued together with reasoning needs that reasoning before it."""
    seen: list[Mapping[str, Any]] = []
    for index, item in enumerate(request.items):
        if request.kind(index) == "reasoning":
            seen.append(item)
        needed = needed_reasoning(request.issuer, request.route, string(item.get("id")))
        if needed is None or any(_is_it(request, each, needed) for each in seen):
            continue
        message = (
            f"Item '{item['id']}' of type '{request.kind(index)}' was provided without its "
            f"required 'reasoning' item: '{needed}'."
        )
        return Complaint(message=message, param="input")
    return None


def _is_it(request: ResponsesRequest, reasoning: Mapping[str, Any], needed: str) -> bool:
    if reasoning.get("id") is not None:
        return bool(reasoning["id"] == needed)
    content = reasoning.get("encrypted_content")
    return request.issuer.verify(content, request.route, needed) is ProofState.VALID


def keeps_what_deepseek_thought(request: ResponsesRequest) -> Complaint | None:
    """While it thinks, DeepSeek wants its reasoning back, as text, beside the calls it led to.

    Source: api-docs.deepseek.com/guides/responses_api (only ``content`` is read),
    lidge-jun/opencodex#1594 and Wei-Shaw/sub2api#8706, read on 2026-11-30.
    """
    is_off = request.effort == "none" or not is_deepseek_thinking(request.route.model)
    if request.vendor != "deepseek" or is_off:
        return None
    has_thought = False
    for index, item in enumerate(request.items):
        kind = request.kind(index)
        if kind == "reasoning":
            has_thought = has_thought or _has_text(item)
        elif kind == "function_call" and not has_thought:
            why = "The `reasoning_text` in the thinking mode must be passed back to the API."
            return Complaint(message=why, code="invalid_request_error")
        elif kind not in ANSWERED and item.get("role") != "assistant":
            has_thought = False
    return None


def _has_text(reasoning: Mapping[str, Any]) -> bool:
    parts = map(mapping, listed(reasoning.get("content")))
    return any(part.get("type") == "reasoning_text" for part in parts)


ENCRYPTED_RULES = (
    keeps_what_deepseek_thought,
    has_encrypted_content_of_its_own,
    has_what_follows_reasoning,
    has_reasoning_before_what_follows,
)
