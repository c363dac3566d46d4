"""Rules of xAI alone: what it refuses in a request that OpenAI takes.

Source, read on 2026-11-30: for tools router-for-me/CLIProxyAPI#5257, kittors/CliRelay#696 and
james-6-23/codex2api#516; for reasoning lidge-jun/opencodex#2237 and makecindy/cindy#1345; for calls
of custom tools router-for-me/CLIProxyAPI#3704; for the whole list of tools and for fields of a tool
the tests of architectds/modeldock, which quote the API's answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....json_value import listed, mapping
from ..complaint import Complaint

if TYPE_CHECKING:
    from .request import ResponsesRequest

TOOLS = (
    *("function", "web_search", "x_search", "image_generation", "collections_search"),
    *("file_search", "code_execution", "code_interpreter", "mcp", "shell", "tool_search"),
)
UNREAD = "Failed to deserialize the JSON body into the target type: "
UNKNOWN_ITEMS = frozenset({"custom_tool_call", "custom_tool_call_output", "additional_tools"})
"""The last as router-for-me/CLIProxyAPI#4434 has it, where Codex sends it."""
NOT_TAKEN = "external_web_access"


def has_tools_that_xai_knows(request: ResponsesRequest) -> Complaint | None:
    """Refuse a ``namespace``, the form of some of Codex's tools, which only OpenAI knows."""
    if request.vendor != "xai":
        return None
    for place, tool in enumerate(listed(request.body.get("tools"))):
        kind = mapping(tool).get("type")
        if kind not in TOOLS:
            known = ", ".join(f"`{each}`" for each in TOOLS)
            why = f"tools[{place}].type: unknown variant `{kind}`, expected one of {known}"
            return Complaint(message=UNREAD + why, status=422)
        if NOT_TAKEN in mapping(tool):
            return Complaint(message=f"Argument not supported: {NOT_TAKEN}")
    return None


def has_items_that_xai_knows(request: ResponsesRequest) -> Complaint | None:
    kinds = map(request.kind, range(len(request.items)))
    if request.vendor != "xai" or UNKNOWN_ITEMS.isdisjoint(kinds):
        return None
    why = "data did not match any variant of untagged enum ModelInput"
    return Complaint(message=UNREAD + why, status=422)


def has_no_null_beside_encrypted_content(request: ResponsesRequest) -> Complaint | None:
    """A ``content`` that is null counts as a change of the encrypted content beside it."""
    if request.vendor != "xai":
        return None
    for index, item in enumerate(request.items):
        is_null = "content" in item and item["content"] is None
        if request.kind(index) == "reasoning" and item.get("encrypted_content") and is_null:
            why = (
                "Could not decode the compaction blob. Ensure it is unmodified from the compact "
                "response."
            )
            return Complaint(message=why)
    return None


XAI_RULES = (
    has_tools_that_xai_knows,
    has_items_that_xai_knows,
    has_no_null_beside_encrypted_content,
)
