"""Rules of the facades, which have other models behind Anthropic's wire.

Source: api-docs.deepseek.com/guides/anthropic_api, platform.moonshot.ai/docs, read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....json_value import listed, mapping, string
from ...signature.anthropic import REASONING
from ..model_facts import DEEPSEEK_FORCED, is_deepseek_thinking, is_kimi_thinking
from .request import AnthropicRequest, bad

if TYPE_CHECKING:
    from ..complaint import Complaint

DEEPSEEK_BLOCKS = ("text", "thinking", "tool_use", "tool_result")


def has_blocks_that_deepseek_reads(request: AnthropicRequest) -> Complaint | None:
    if request.vendor != "deepseek":
        return None
    for index, message in enumerate(request.messages):
        for block in listed(message["content"]):
            kind = mapping(block).get("type")
            if isinstance(kind, str) and kind not in DEEPSEEK_BLOCKS:
                names = ", ".join(f"`{each}`" for each in DEEPSEEK_BLOCKS)
                return bad(
                    "Failed to deserialize the JSON body into the target type: "
                    f"messages[{index}]: unknown variant `{kind}`, expected one of {names}"
                )
    return None


def keeps_thinking_with_calls(request: AnthropicRequest) -> Complaint | None:
    if request.vendor not in {"deepseek", "moonshot"} or not _thinks(request):
        return None
    for index, message in enumerate(request.messages):
        kinds = {str(mapping(block).get("type")) for block in listed(message["content"])}
        if "tool_use" not in kinds or kinds & REASONING:
            continue
        if request.vendor == "deepseek":
            return bad(
                "The `content[].thinking` in the thinking mode must be passed back to the API."
            )
        return bad(
            "thinking is enabled but reasoning_content is missing in assistant tool call message "
            f"at index {index}"
        )
    return None


def forces_no_tool_where_deepseek_thinks(request: AnthropicRequest) -> Complaint | None:
    """Source: deepseek-ai/DeepSeek-V3#1376."""
    if request.vendor != "deepseek" or not _thinks(request):
        return None
    choice = string(mapping(request.body.get("tool_choice")).get("type"))
    return bad(DEEPSEEK_FORCED) if choice in {"any", "tool"} else None


def _thinks(request: AnthropicRequest) -> bool:
    if request.thinking:
        return request.is_thinking
    if request.vendor == "moonshot":
        return is_kimi_thinking(request.route.model)
    return is_deepseek_thinking(request.route.model)


FACADE_RULES = (
    has_blocks_that_deepseek_reads,
    keeps_thinking_with_calls,
    forces_no_tool_where_deepseek_thinks,
)
