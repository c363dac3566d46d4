"""Rules for the messages."""

from __future__ import annotations

from ....json_value import listed, string
from ..anthropic_words import EMPTY_MARKED, MOST_MARKERS, too_many_markers
from ..complaint import Complaint
from ..model_facts import takes_images
from ..openai_words import invalid, missing, wrong_kind
from .dialects import MESSAGE, OTHER, mistral_unreadable
from .request import ChatRequest

UNREAD = "Failed to deserialize the JSON body into the target type: "
PICTURES = frozenset({"image_url", "input_image", "image"})
WITHOUT_DETAILS = frozenset({"deepseek", "zai"})
MISTRAL_LAST = (
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
)


def has_objects(request: ChatRequest) -> Complaint | None:
    for index, message in enumerate(request.body["messages"]):
        if not isinstance(message, dict):
            return wrong_kind(f"messages[{index}]", "an object", message)
        if message.get("role") is None:
            return missing(f"messages[{index}].role")
    return None


def has_known_roles(request: ChatRequest) -> Complaint | None:
    roles = request.dialect.roles
    for index, message in enumerate(request.messages):
        if message["role"] not in roles:
            return _unknown_role(request.vendor, index, message["role"], roles)
    return None


def _unknown_role(vendor: str, index: int, role: object, roles: tuple[str, ...]) -> Complaint:
    if vendor == "deepseek":
        names = ", ".join(f"`{each}`" for each in roles)
        why = f"{UNREAD}messages[{index}].role: unknown variant `{role}`, expected one of {names}"
        return Complaint(message=why, code="invalid_request_error")
    if vendor == "mistral":
        tags = ", ".join(map(repr, sorted(roles)))
        why = (
            f"Input tag {role!r} found using 'role' does not match any of the expected tags: {tags}"
        )
        return mistral_unreadable("union_tag_invalid", f"messages.{index}", why)
    *others, last = map(repr, roles)
    why = f"Invalid value: {role!r}. Supported values are: {', '.join(others)}, and {last}."
    return Complaint(message=why, param=f"messages[{index}].role", code="invalid_value")


def has_no_unknown_key(request: ChatRequest) -> Complaint | None:
    """Two vendors that ignore other keys are known to refuse reasoning details."""
    for index, message in enumerate(request.messages):
        if "reasoning_details" in message and request.vendor in WITHOUT_DETAILS:
            return request.dialect.unknown(f"messages.{index}.reasoning_details")
        if request.dialect.known is None:
            continue
        keys = MESSAGE | (
            request.dialect.messages if message["role"] == "assistant" else frozenset()
        )
        extra = sorted(message.keys() - keys)
        if extra:
            return request.dialect.unknown(f"messages.{index}.{extra[0]}")
    return None


def has_contents(request: ChatRequest) -> Complaint | None:
    for index, message in enumerate(request.messages):
        content = message.get("content")
        where = f"messages[{index}].content"
        if content is None and message["role"] == "assistant":
            continue
        if not isinstance(content, str | list):
            return wrong_kind(where, "one of a string or array of objects", content)
        if content == [] and request.vendor == "openai":
            return invalid(where, "empty array. Expected an array with minimum length 1.")
        for place, part in enumerate(listed(content)):
            if not isinstance(part, dict):
                return wrong_kind(f"{where}[{place}]", "an object", part)
            if not isinstance(part.get("type"), str):
                return missing(f"{where}[{place}].type")
    return None


def has_strings_where_only_they_are_taken(request: ChatRequest) -> Complaint | None:
    if not request.dialect.is_plain:
        return None
    for index, message in enumerate(request.messages):
        if message["role"] == "user" or not isinstance(message.get("content"), list):
            continue
        if request.vendor == "deepseek":
            why = f"{UNREAD}messages[{index}]: invalid type: sequence, expected a string"
            return Complaint(message=why, code="invalid_request_error")
        where = f"messages.{index}.{message['role']}.content"
        why = f"{where}: value must be a string"
        return Complaint(message=why, param="validation_error", code="wrong_api_format")
    return None


def has_parts_of_its_role(request: ChatRequest) -> Complaint | None:
    for index, place, part in request.parts():
        role = string(request.messages[index]["role"])
        if _is_taken(request, role, part["type"]):
            continue
        if part["type"] in PICTURES:
            why = (
                f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role "
                f"'user', but this message with role '{role}' contains an image URL."
            )
            return Complaint(message=why, param=f"messages[{index}]", code="invalid_value")
        if request.vendor == "mistral":
            why = f"Input tag {part['type']!r} found using 'type' does not match any expected tag"
            return mistral_unreadable("union_tag_invalid", f"messages.{index}.content.{place}", why)
        where = f"messages[{index}].content[{place}].type"
        message = f"Invalid value: '{part['type']}'. Supported values are: 'text' and 'refusal'."
        return Complaint(message=message, param=where, code="invalid_value")
    return None


def _is_taken(request: ChatRequest, role: str, kind: str) -> bool:
    if kind == "thinking":
        takes_thinking = request.vendor == "mistral" or request.dialect is OTHER
        return takes_thinking and role == "assistant"
    if kind in PICTURES and role == "tool":
        return request.dialect.known is None
    if role == "user":
        return request.dialect.known is None or kind not in {"refusal", "reasoning", "tool_use"}
    return kind == "text" or (kind == "refusal" and role == "assistant")


def has_pictures_for_those_who_see(request: ChatRequest) -> Complaint | None:
    if takes_images(request.vendor, request.route.model):
        return None
    for index, _, part in request.parts():
        if part["type"] in PICTURES:
            return _unseen(request.vendor, index)
    return None


def _unseen(vendor: str, index: int) -> Complaint:
    if vendor == "deepseek":
        why = f"{UNREAD}messages[{index}]: unknown variant `image_url`, expected `text`"
        return Complaint(message=why, code="invalid_request_error")
    if vendor == "groq":
        return Complaint(message=f"messages[{index}].content must be a string")
    if vendor == "cerebras":
        why = f"messages.{index}.user.content: content type 'image_url' is unsupported"  # made up
        return Complaint(message=why, param="validation_error", code="wrong_api_format")
    if vendor == "zai":
        return Complaint(message="messages.content.type is invalid, expected text", code="1210")
    message = "Invalid content type. image_url is only supported by certain models."
    return Complaint(message=message, param=f"messages.[{index}].content.[0].type")


def has_known_keys_in_parts(request: ChatRequest) -> Complaint | None:
    """OpenRouter takes a cache marker on any message and any part; four at most on parts."""
    marked = 0
    for index, place, part in request.parts():
        path = f"messages.{index}.content.{place}.cache_control"
        if "cache_control" in part and request.dialect.known is not None:
            return request.dialect.unknown(path)
        if part.get("cache_control") is None or request.vendor != "openrouter":
            continue
        marked += 1
        if part["type"] == "text" and not part.get("text"):
            where = f"messages.{index}.content.{place}.text"
            why = f"{where}: {EMPTY_MARKED}"
            return request.from_upstream(Complaint(message=why))
    if marked > MOST_MARKERS:
        return request.from_upstream(Complaint(message=too_many_markers(marked)))
    return None


def has_something_to_say(request: ChatRequest) -> Complaint | None:
    for index, message in enumerate(request.messages):
        if message["role"] != "assistant" or message.get("tool_calls"):
            continue
        if message.get("function_call") or message.get("refusal"):
            continue
        content = message.get("content")
        is_empty = not content if request.dialect.refuses_empty_text else content is None
        if is_empty:
            return request.from_upstream(_silent(request.vendor, index))
    return None


def _silent(vendor: str, index: int) -> Complaint:
    if vendor == "mistral":
        return Complaint(
            message="Assistant message must have either content or tool_calls, but not none.",
            type="invalid_request_assistant_message",
            code="3240",
        )
    if vendor == "moonshot":
        why = f"the message at position {index} with role 'assistant' must not be empty"
        return Complaint(message=f"Invalid request: {why}")
    if vendor == "deepseek":
        why = "Invalid assistant message: content or tool_calls must be set"
        return Complaint(message=why, code="invalid_request_error")
    why = "Invalid value for 'content': expected a string, got null."
    return Complaint(message=why, param=f"messages.[{index}].content")


def ends_with_a_question(request: ChatRequest) -> Complaint | None:
    last = request.messages[-1]
    if request.vendor != "mistral" or last["role"] != "assistant" or last.get("prefix") is True:
        return None
    return Complaint(message=MISTRAL_LAST, type="invalid_request_message_order", code="3230")


MESSAGE_RULES = (
    has_objects,
    has_known_roles,
    has_no_unknown_key,
    has_contents,
    has_strings_where_only_they_are_taken,
    has_parts_of_its_role,
    has_pictures_for_those_who_see,
    has_known_keys_in_parts,
    has_something_to_say,
    ends_with_a_question,
)
