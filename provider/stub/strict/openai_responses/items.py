"""Rules for the items of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....json_value import listed, mapping, string
from ..complaint import Complaint
from ..openai_words import (
    invalid,
    missing,
    too_long,
    unknown_parameter,
    wrong_kind,
    wrong_name,
)
from .request import ResponsesRequest, openai_only

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_ID = 64
ROLES = ("assistant", "system", "developer", "user")
OWN_TOOLS = frozenset(
    {
        *("file_search_call", "computer_call", "computer_call_output", "web_search_call"),
        *("image_generation_call", "code_interpreter_call", "local_shell_call", "shell_call"),
        *("local_shell_call_output", "shell_call_output", "apply_patch_call", "mcp_call"),
        *("apply_patch_call_output", "mcp_list_tools", "mcp_approval_request", "compaction"),
        *("mcp_approval_response", "custom_tool_call", "custom_tool_call_output"),
        *("item_reference", "tool_search_call", "tool_search_output", "additional_tools"),
        *("compaction_trigger", "configuration_update", "program", "program_output"),
    }
)
"""Items of the provider's own tools: they are known and not checked."""


class ItemForm(NamedTuple):
    """The keys that an item has beside its type.

    Args:
        needs: The required keys.
        strings: The required keys with a string as value.
        takes: The optional keys.
    """

    needs: tuple[str, ...]
    strings: tuple[str, ...]
    takes: frozenset[str] = frozenset({"id", "status"})


# Source: the types of the openai package 3.57, read on 2026-11-29.
FORMS: Mapping[str, ItemForm] = {
    "message": ItemForm(("role", "content"), ("role",), frozenset({"id", "status", "phase"})),
    "function_call": ItemForm(
        ("call_id", "name", "arguments"),
        ("call_id", "name", "arguments"),
        frozenset({"id", "status", "namespace", "caller", "async"}),
    ),
    "function_call_output": ItemForm(
        ("call_id", "output"),
        ("call_id",),
        frozenset({"id", "status", "namespace", "caller", "name"}),
    ),
    "reasoning": ItemForm(
        ("summary",), (), frozenset({"id", "status", "content", "encrypted_content"})
    ),
}
PASSED_THROUGH = frozenset({"internal_chat_message_metadata_passthrough"})
"""Keys that Codex puts on any item, and the API takes, as recorded requests show."""
PREFIXES: Mapping[str, str] = {
    "message": "msg",
    "function_call": "fc",
    "reasoning": "rs",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
}
INPUT_PARTS = ("input_text", "input_image", "input_file")
OUTPUT_PARTS = ("output_text", "refusal")


def has_known_items(request: ResponsesRequest) -> Complaint | None:
    for index, item in enumerate(listed(request.body.get("input"))):
        if not isinstance(item, dict):
            return wrong_kind(f"input[{index}]", "an object", item)
        kind = request.kind(index)
        if kind in FORMS or kind in OWN_TOOLS or (kind and not request.is_openai):
            continue
        choices = ", ".join(map(repr, FORMS))
        message = f"Invalid value: '{item.get('type')}'. Supported values are: {choices}."
        return Complaint(message=message, param=f"input[{index}]", code="invalid_value")
    return None


def has_whole_items(request: ResponsesRequest) -> Complaint | None:
    for index, item in enumerate(request.items):
        form, where = FORMS.get(request.kind(index)), f"input[{index}]"
        if form is None:
            continue
        absent = [key for key in form.needs if item.get(key) is None]
        if absent:
            return missing(f"{where}.{absent[0]}")
        for key in form.strings:
            if not isinstance(item[key], str):
                return wrong_kind(f"{where}.{key}", "a string", item[key])
        given = {key for key, value in item.items() if value is not None}
        extra = sorted(given - set(form.needs) - form.takes - PASSED_THROUGH - {"type"})
        if extra and request.is_openai:
            return unknown_parameter(f"{where}.{extra[0]}")
    return None


def has_messages_in_form(request: ResponsesRequest) -> Complaint | None:
    for index, item in enumerate(request.items):
        if request.kind(index) != "message":
            continue
        where, content = f"input[{index}]", item["content"]
        if item["role"] not in ROLES:
            return _not_among(f"{where}.role", item["role"], ROLES)
        if not isinstance(content, str | list):
            return wrong_kind(f"{where}.content", "one of a string or array of objects", content)
        taken: tuple[str, ...] = OUTPUT_PARTS if item["role"] == "assistant" else INPUT_PARTS
        taken = taken if request.is_openai else (*OUTPUT_PARTS, *INPUT_PARTS)
        for place, part in enumerate(listed(content)):
            at = f"{where}.content[{place}]"
            if mapping(part).get("type") not in taken:
                return _not_among(at, mapping(part).get("type"), taken)
            url = mapping(part).get("image_url")  # aplpolaris/promptfx#724
            if url is not None and not isinstance(url, str):
                return wrong_kind(f"{at}.image_url", "an image URL", url)
    return None


def has_outputs_in_form(request: ResponsesRequest) -> Complaint | None:
    for index, item in enumerate(request.items):
        if request.kind(index) != "function_call_output":
            continue
        where, output = f"input[{index}].output", item["output"]
        if not isinstance(output, str | list):
            return wrong_kind(where, "one of a string or array of objects", output)
        for place, part in enumerate(listed(output)):
            if mapping(part).get("type") not in INPUT_PARTS:
                return _not_among(f"{where}[{place}]", mapping(part).get("type"), INPUT_PARTS)
    return None


def _not_among(where: str, value: object, choices: tuple[str, ...]) -> Complaint:
    *others, last = map(repr, choices)
    supported = f"{', '.join(others)} and {last}"
    message = f"Invalid value: '{value}'. Supported values are: {supported}."
    return Complaint(message=message, param=where, code="invalid_value")


@openai_only
def has_ids_of_its_kind(request: ResponsesRequest) -> Complaint | None:
    seen: set[str] = set()
    for index, item in enumerate(request.items):
        item_id, prefix = item.get("id"), PREFIXES.get(request.kind(index))
        where = f"input[{index}].id"
        if item_id is None or request.kind(index) == "item_reference":
            continue
        if not isinstance(item_id, str):
            return wrong_kind(where, "a string", item_id)
        if len(item_id) > LONGEST_ID:
            return too_long(where, LONGEST_ID, len(item_id))
        if prefix is not None and not item_id.startswith(prefix):
            message = f"Invalid '{where}': '{item_id}'. Expected an ID that begins with '{prefix}'."
            return Complaint(message=message, param=where, code="invalid_value")
        if item_id in seen:
            why = (
                f"Duplicate item found with id {item_id}. Remove duplicate items from your input "
                "and try again."
            )
            return Complaint(message=why, param="input")
        seen.add(item_id)
    return None


def has_call_ids_in_form(request: ResponsesRequest) -> Complaint | None:
    for index, item in enumerate(request.items):
        if not request.kind(index).startswith("function_call"):
            continue
        where, call_id = f"input[{index}].call_id", item["call_id"]
        if not call_id:
            why = (
                "empty string. Expected a string with minimum length 1, but got an empty string "
                "instead."
            )
            return invalid(where, why, code="empty_string")
        if not request.is_openai:
            continue
        if len(call_id) > LONGEST_ID:
            return too_long(where, LONGEST_ID, len(call_id))
        if request.kind(index) == "function_call":
            found = wrong_name(item["name"], f"input[{index}].name")
            if found is not None:
                return found
    return None


def has_outputs_for_calls(request: ResponsesRequest) -> Complaint | None:
    """Every call has one output after it, and every output has one call before it."""
    unanswered: dict[str, None] = {}
    seen: set[str] = set()
    for index, item in enumerate(request.items):
        call_id = string(item.get("call_id"))
        if request.kind(index) == "function_call":
            if call_id in seen:
                return _uncalled(request, call_id)
            seen.add(call_id)
            unanswered[call_id] = None
        elif request.kind(index) == "function_call_output":
            if call_id not in unanswered and not (request.is_continued and call_id not in seen):
                return _uncalled(request, call_id)
            unanswered.pop(call_id, None)
    return next((_unanswered(request, call_id) for call_id in unanswered), None)


def has_outputs_right_after_calls(request: ResponsesRequest) -> Complaint | None:
    """DeepSeek takes nothing between calls and their outputs.

    Source: deepseek-ai/awesome-deepseek-integration#740 and deepseek-ai/DeepSeek-V3#1588.
    """
    if request.vendor != "deepseek":
        return None
    open_calls: dict[str, None] = {}
    before = ""
    for index in range(len(request.items) + 1):
        kind = request.kind(index) if index < len(request.items) else ""
        is_next = kind == "function_call_output" or (kind == before == "function_call")
        if open_calls and not is_next:
            return _unanswered(request, next(iter(open_calls)))
        call_id = string(request.items[index].get("call_id")) if kind else ""
        if kind == "function_call":
            open_calls[call_id] = None
        elif kind == "function_call_output":
            open_calls.pop(call_id, None)
        before = kind
    return None


def _unanswered(request: ResponsesRequest, call_id: str) -> Complaint:
    return _unpaired(
        request,
        f"No tool output found for function call {call_id}.",
        at_deepseek=f"No tool output found for tool call {call_id}",
    )


def _uncalled(request: ResponsesRequest, call_id: str) -> Complaint:
    return _unpaired(
        request,
        f"No tool call found for function call output with call_id {call_id}.",
        at_deepseek=f"No tool call found for tool output with call_id {call_id}",
    )


def _unpaired(request: ResponsesRequest, message: str, *, at_deepseek: str) -> Complaint:
    if request.vendor == "deepseek":
        return Complaint(message=at_deepseek, code="invalid_request_error")
    return Complaint(message=message, param="input")


ITEM_RULES = (
    has_known_items,
    has_whole_items,
    has_messages_in_form,
    has_outputs_in_form,
    has_ids_of_its_kind,
    has_call_ids_in_form,
    has_outputs_for_calls,
    has_outputs_right_after_calls,
)
