"""Rules for the blocks of a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ....json_value import listed, mapping, string
from ...signature.anthropic import blocks_of
from ..anthropic_words import EXTRA, LONGEST_ID, MISSING, NO_OBJECT, TOOL_ID
from .request import AnthropicRequest, bad, first_party
from .settings import ends_with_user

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..complaint import Complaint

TOOL_NAME = r"^[a-zA-Z0-9_-]{1,128}$"


class BlockForm(NamedTuple):
    """The keys that a block has beside its type.

    Args:
        needs: The required keys, with the types of their values.
        takes: The optional keys.
        role: The role of the messages that may hold it. None: both.
    """

    needs: Mapping[str, type]
    takes: frozenset[str] = frozenset({"cache_control"})
    role: str | None = None


# Source: the types of the anthropic package 2.14.0, read on 2026-11-29.
FORMS: Mapping[str, BlockForm] = {
    "text": BlockForm({"text": str}, frozenset({"cache_control", "citations"})),
    "image": BlockForm(
        {"source": dict}, frozenset({"cache_control", "transformations"}), role="user"
    ),
    "document": BlockForm(
        {"source": dict}, frozenset({"cache_control", "citations", "context", "title"})
    ),
    "tool_use": BlockForm(
        {"id": str, "name": str, "input": dict},
        frozenset({"cache_control", "caller", "toolset_name"}),
        "assistant",
    ),
    "tool_result": BlockForm(
        {"tool_use_id": str},
        frozenset({"cache_control", "content", "is_error", "toolset_name"}),
        "user",
    ),
    "thinking": BlockForm({"thinking": str, "signature": str}, frozenset(), "assistant"),
    "redacted_thinking": BlockForm({"data": str}, frozenset(), "assistant"),
}
UNCHECKED = frozenset(
    {
        *("server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "search_result"),
        *("code_execution_tool_result", "bash_code_execution_tool_result", "container_upload"),
        *("text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result"),
        *("tool_search_tool_result", "compaction", "advisor_tool_result", "mcp_tool_listing"),
        *("tool_addition", "tool_removal"),
    }
)
"""Blocks of the provider's own tools: they are known and not checked."""
PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
KINDS: Mapping[type, str] = {str: "string", dict: "dictionary"}


def has_known_blocks(request: AnthropicRequest) -> Complaint | None:
    for index, message in enumerate(request.messages):
        for place, block in enumerate(listed(message["content"])):
            where = f"messages.{index}.content.{place}"
            if not isinstance(block, dict):
                return bad(f"{where}: {NO_OBJECT}")
            if "type" not in block:
                return bad(f"{where}.type: {MISSING}")
            kind = block["type"]
            if not isinstance(kind, str) or kind not in {*FORMS, *UNCHECKED}:
                tags = ", ".join(repr(tag) for tag in sorted({*FORMS, *UNCHECKED}))
                return bad(
                    f"{where}: Input tag {kind!r} found using 'type' does not match any of the "
                    f"expected tags: {tags}"
                )
    return None


def has_whole_blocks(request: AnthropicRequest) -> Complaint | None:
    for index, place, block in request.blocks():
        kind = str(block["type"])
        found = _missing(block, FORMS[kind], request.is_facade) if kind in FORMS else None
        if found is not None:
            return bad(f"messages.{index}.content.{place}.{kind}.{found}")
    return None


def _missing(block: Mapping[str, Any], form: BlockForm, is_facade: bool) -> str | None:
    """Return what is wrong with the keys of *block*; None for nothing.

    A signature may be missing on the facades only. A null signature has a message of its own.
    """
    for key, kind in form.needs.items():
        is_free = key == "signature" and is_facade
        if key not in block and not is_free:
            return f"{key}: {MISSING}"
        if block.get(key) is None and is_free:
            continue
        if not isinstance(block[key], kind):
            way = f"{key}.str" if key == "signature" else key
            return f"{way}: Input should be a valid {KINDS[kind]}"
    extra = sorted(block.keys() - form.needs.keys() - form.takes - {"type"})
    return f"{extra[0]}: {EXTRA}" if extra and not is_facade else None


def has_blocks_of_its_role(request: AnthropicRequest) -> Complaint | None:
    for index, _, block in request.blocks():
        kind = str(block["type"])
        form = FORMS.get(kind)
        if form is None or form.role is None:
            continue
        if request.messages[index]["role"] != form.role:
            return bad(f"messages.{index}: `{kind}` blocks can only be in `{form.role}` messages")
    return None


def has_content(request: AnthropicRequest) -> Complaint | None:
    last = len(request.messages) - 1
    for index, message in enumerate(request.messages):
        is_open = index == last and message["role"] == "assistant"
        if message["role"] == "system" and "output_config" in message:
            continue
        if not message["content"] and not is_open:
            return bad(
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )
    return None


def has_texts(request: AnthropicRequest) -> Complaint | None:
    """A text of white space is taken in a message that calls a tool."""
    for where, text, is_beside_a_call in _texts(request):
        if not string(text):
            return bad(f"{where}: text content blocks must be non-empty")
        if string(text).isspace() and not is_beside_a_call:
            return bad(f"{where}: text content blocks must contain non-whitespace text")
    return None


def _texts(request: AnthropicRequest) -> Iterator[tuple[str, object, bool]]:
    """Yield every text with the field it is in, and whether a call is in the same message."""
    calling = {index for index, _, block in request.blocks() if block["type"] == "tool_use"}
    for index, _, block in request.blocks():
        inner = listed(block.get("content")) if block["type"] == "tool_result" else []
        for each in (block, *map(mapping, inner)):
            if each.get("type") == "text":
                yield "messages", each.get("text"), index in calling
    for each in listed(request.body.get("system")):
        yield "system", mapping(each).get("text"), False


def has_readable_results(request: AnthropicRequest) -> Complaint | None:
    for index, place, block in request.blocks():
        if block["type"] != "tool_result":
            continue
        where = f"messages.{index}.content.{place}.tool_result"
        content = block.get("content")
        if content is not None and not isinstance(content, str | list):
            return bad(f"{where}.content: Input should be a valid list")
        kinds = {string(mapping(each).get("type")) for each in blocks_of(content)}
        if block.get("is_error") is True and not kinds <= {"text"}:
            return bad(f"{where}: all content must be type `text` if `is_error` is true")
        unknown = kinds - {"text", "image", "document", "search_result", "tool_reference"}
        if unknown:
            return bad(f"{where}.content: Input tag {unknown.pop()!r} does not match any tag")
    return None


def has_ids_and_names_in_form(request: AnthropicRequest) -> Complaint | None:
    for index, place, block in request.blocks():
        kind = str(block["type"])
        where = f"messages.{index}.content.{place}.{kind}"
        key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(kind)
        if key is None:
            continue
        if not re.fullmatch(TOOL_ID[1:-1], block[key]):
            return bad(f"{where}.{key}: String should match pattern '{TOOL_ID}'")
        if len(block[key]) > LONGEST_ID:
            return bad(f"{where}.{key}: String should have at most {LONGEST_ID} characters")
        if kind == "tool_use" and not re.fullmatch(TOOL_NAME[1:-1], block["name"]):
            return bad(f"{where}.name: String should match pattern '{TOOL_NAME}'")
    return None


@first_party
def has_pictures_in_its_formats(request: AnthropicRequest) -> Complaint | None:
    """Source: NousResearch/hermes-agent#55432 (the formats); public programs quote the message."""
    for index, place, block in request.blocks():
        source = mapping(block.get("source"))
        if block["type"] != "image" or source.get("type") != "base64":
            continue
        if source.get("media_type") not in PICTURES:
            *others, last = map(repr, PICTURES)
            return bad(
                f"messages.{index}.content.{place}.image.source.base64.media_type: Input should be "
                f"{', '.join(others)} or {last}"
            )
    return None


BLOCK_RULES = (
    has_known_blocks,
    has_whole_blocks,
    has_blocks_of_its_role,
    has_pictures_in_its_formats,
    has_content,
    has_texts,
    has_readable_results,
    has_ids_and_names_in_form,
    ends_with_user,
)
