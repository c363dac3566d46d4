"""Rules for the thinking that comes back in a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....json_value import listed, mapping, string
from ...signature.anthropic import REASONING, BoundReasoning, reasoning_of
from ...signature.issuer import ProofState
from ..model_facts import binds_prefix
from .request import AnthropicRequest, bad

if TYPE_CHECKING:
    from ..complaint import Complaint

REDACTED = "redacted_thinking"
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
MOVED = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def has_thinking_that_says_something(request: AnthropicRequest) -> Complaint | None:
    """An empty text is fine with a signature, because newer models leave out the text."""
    for index, place, block in request.blocks():
        if block["type"] != "thinking" or request.is_facade:
            continue
        if not block["thinking"] and not block["signature"]:
            where = f"messages.{index}.content.{place}.thinking"
            return bad(f"{where}: each thinking block must contain thinking")
    return None


def has_proofs_of_its_own(request: AnthropicRequest) -> Complaint | None:
    for bound in reasoning_of(request.body):
        found = (
            _redacted(request, bound)
            if bound.block["type"] == REDACTED
            else _signed(request, bound)
        )
        if found is not None:
            return bad(f"messages.{bound.message}.content.{bound.place}: {found}")
    return None


def _redacted(request: AnthropicRequest, bound: BoundReasoning) -> str | None:
    if request.issuer.is_own(bound.block["data"], request.route):
        return None
    return "Invalid `data` in `redacted_thinking` block"


def _signed(request: AnthropicRequest, bound: BoundReasoning) -> str | None:
    """A facade takes thinking without a signature, but not with a foreign one."""
    signature = bound.block.get("signature")
    if request.is_facade and not signature:
        return None
    prefix = bound.prefix if binds_prefix(request.vendor, request.route.model) else None
    match request.issuer.verify(signature, request.route, bound.block["thinking"], prefix):
        case ProofState.EDITED if bound.message == _latest(request) and not request.is_facade:
            return MODIFIED
        case ProofState.FOREIGN | ProofState.EDITED:
            return "Invalid `signature` in `thinking` block"
        case ProofState.MOVED if not _drops_moved(request):
            return f"Invalid `signature` in `thinking` block. {MOVED}"
    return None


def _latest(request: AnthropicRequest) -> int:
    roles = [message["role"] for message in request.messages]
    return len(roles) - 1 - roles[::-1].index("assistant")


def _drops_moved(request: AnthropicRequest) -> bool:
    binding = mapping(mapping(request.body.get("thinking")).get("block_binding"))
    return string(binding.get("prefix_mismatch_behavior")) == "drop_block"


def begins_with_thinking_in_a_tool_loop(request: AnthropicRequest) -> Complaint | None:
    """With a thinking budget, the answer that called the tools must begin with thinking.

    All steps since the last user message are one answer. Only its first step needs thinking.
    Source: platform.claude.com/docs/en/build-with-claude/extended-thinking, read on 2026-11-29.
    """
    turns = request.turns
    if request.thinking != "enabled" or request.is_facade or not turns[-1].of("tool_result"):
        return None
    at = len(turns) - 2
    while at >= 2 and turns[at - 1].of("tool_result"):
        at -= 2
    index, block = turns[at].blocks[0]
    kind = string(block.get("type"))
    if kind in REASONING:
        return None
    return bad(
        f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        f"`{kind}`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We "
        "recommend you include thinking blocks from previous turns. To avoid this requirement, "
        "disable `thinking`."
    )


def ends_without_thinking(request: AnthropicRequest) -> Complaint | None:
    """The last block of the last answer is not thinking."""
    content = listed(request.messages[-1]["content"])
    is_last = content and mapping(content[-1]).get("type") in REASONING
    if request.messages[-1]["role"] == "assistant" and is_last:
        return bad(
            f"messages.{len(request.messages) - 1}: The final block in an assistant message cannot "
            "be `thinking`."
        )
    return None


THINKING_RULES = (
    has_thinking_that_says_something,
    has_proofs_of_its_own,
    begins_with_thinking_in_a_tool_loop,
    ends_without_thinking,
)
