"""Rules for the fields of a request, and for the parts of its contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....json_value import listed, mapping
from ..complaint import Complaint
from .request import GeminiRequest, lacking, snake, unknown, unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTENT = "type.googleapis.com/google.ai.generativelanguage.v1beta.Content"
PART = "type.googleapis.com/google.ai.generativelanguage.v1beta.Part"
STRUCT = "type.googleapis.com/google.protobuf.Struct"
ROLES = ("user", "model", "function")
HOTTEST = 2.0

TOP = frozenset(
    {
        *("contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "model"),
        *("generationConfig", "cachedContent", "serviceTier", "store"),
    }
)
CONFIG = frozenset(
    {
        *("stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema", "seed"),
        *("responseModalities", "candidateCount", "maxOutputTokens", "temperature", "topP"),
        *("topK", "presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs"),
        *("enableEnhancedCivicAnswers", "speechConfig", "thinkingConfig", "imageConfig"),
        *("mediaResolution", "audioTimestamp", "responseFormat"),
    }
)
THINKING = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
DATA = frozenset(
    {
        *("text", "inlineData", "fileData", "functionCall", "functionResponse"),
        *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
    }
)
ASIDE = frozenset(
    {
        *("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"),
        *("speechMetadata", "mediaProcessing", "audioTranscription"),
    }
)
"""Keys beside the data. A signature may stand alone, as on a thought without text."""
INNER: Mapping[str, frozenset[str]] = {
    "functionCall": frozenset({"id", "name", "args", "partialArgs", "willContinue"}),
    "functionResponse": frozenset(
        {"id", "name", "response", "parts", "willContinue", "scheduling"}
    ),
    "inlineData": frozenset({"mimeType", "data", "displayName"}),
    "fileData": frozenset({"mimeType", "fileUri", "displayName"}),
}


def has_contents(request: GeminiRequest) -> Complaint | None:
    contents = request.read.get("contents")
    if contents is None or contents == []:
        return lacking("contents", "contents is not specified")
    if not isinstance(contents, list):
        return unreadable("contents", CONTENT, contents)
    for index, content in enumerate(contents):
        if not isinstance(content, dict):
            return unreadable(f"contents[{index}]", CONTENT, content)
        if not isinstance(content.get("parts", []), list):
            return unreadable(f"contents[{index}].parts", PART, content["parts"])
        for place, part in enumerate(content.get("parts", [])):
            if not isinstance(part, dict):
                return unreadable(f"contents[{index}].parts[{place}]", PART, part)
    return None


def has_no_unknown_field(request: GeminiRequest) -> Complaint | None:
    config = mapping(request.read.get("generationConfig"))
    places = (
        (request.read, TOP, ""),
        (config, CONFIG, "generation_config"),
        (mapping(config.get("thinkingConfig")), THINKING, "generation_config.thinking_config"),
        (mapping(request.read.get("systemInstruction")), {"parts", "role"}, "system_instruction"),
    )
    for fields, allowed, where in places:
        for name in fields:
            if name not in allowed:
                return unknown(name, where)
    return None


def has_no_unknown_field_in_contents(request: GeminiRequest) -> Complaint | None:
    for index, content in enumerate(request.contents):
        for name in content:
            if name not in {"parts", "role"}:
                return unknown(name, f"contents[{index}]")
        for place, part in enumerate(request.parts(index)):
            found = _unknown_in_part(part, f"contents[{index}].parts[{place}]")
            if found is not None:
                return found
    return None


def _unknown_in_part(part: Mapping[str, Any], where: str) -> Complaint | None:
    for name, value in part.items():
        if name not in DATA | ASIDE:
            return unknown(name, where)
        if name not in INNER:
            continue
        inside = f"{where}.{snake(name)}"
        if not isinstance(value, dict):
            return unreadable(inside, PART, value)
        extra = sorted(value.keys() - INNER[name])
        if extra:
            return unknown(extra[0], inside)
    return None


def thinks_in_one_way(request: GeminiRequest) -> Complaint | None:
    config = mapping(mapping(request.read.get("generationConfig")).get("thinkingConfig"))
    if "thinkingLevel" not in config:
        return None
    if "thinkingBudget" in config:
        return Complaint(message="You can only set only one of thinking budget and thinking level.")
    if not request.takes_thinking_level:
        return Complaint(message="Thinking level is not supported for this model.")
    return None


def has_roles(request: GeminiRequest) -> Complaint | None:
    for content in request.contents:
        if content.get("role", "user") not in ROLES:
            return Complaint(message="Please use a valid role: user, model.")
    return None


def has_parts(request: GeminiRequest) -> Complaint | None:
    for index in range(len(request.contents)):
        if not request.parts(index):
            return lacking(f"contents[{index}].parts", "contents.parts must not be empty.")
    instruction = mapping(request.read.get("systemInstruction"))
    if "systemInstruction" in request.read and not listed(instruction.get("parts")):
        return lacking("system_instruction.parts", "contents.parts must not be empty.")
    return None


def has_parts_with_data(request: GeminiRequest) -> Complaint | None:
    why = "required oneof field 'data' must have one initialized field"
    for index in range(len(request.contents)):
        for place, part in enumerate(request.parts(index)):
            where = f"contents[{index}].parts[{place}]"
            if not part.keys() & (DATA | {"thoughtSignature"}):
                return lacking(f"{where}.data", why)
            if not isinstance(part.get("text", ""), str):
                return unreadable(f"{where}.text", "TYPE_STRING", part["text"])
    return None


def has_calls_in_form(request: GeminiRequest) -> Complaint | None:
    for index in range(len(request.contents)):
        for place, part in enumerate(request.parts(index)):
            found = _misformed_call(part, f"contents[{index}].parts[{place}]")
            if found is not None:
                return found
    return None


def _misformed_call(part: Mapping[str, Any], where: str) -> Complaint | None:
    for key, held in (("functionCall", "args"), ("functionResponse", "response")):
        if key not in part:
            continue
        inside = f"{where}.{snake(key)}"
        name, value = part[key].get("name"), part[key].get(held)
        if not isinstance(name, str) or not name:
            return lacking(f"{inside}.name", "Name cannot be empty.")
        if value is None and key == "functionCall":
            continue
        if not isinstance(value, dict):
            return unreadable(f"{inside}.{held}", STRUCT, value)
    return None


def samples_within_bounds(request: GeminiRequest) -> Complaint | None:
    """Public programs that measured it quote the message, which names no place."""
    value = mapping(request.read.get("generationConfig")).get("temperature")
    if isinstance(value, bool) or not isinstance(value, int | float) or 0 <= value <= HOTTEST:
        return None
    return Complaint(message=f"temperature must be in the range [0.0, {HOTTEST}]")


FIELD_RULES = (
    has_no_unknown_field,
    has_contents,
    has_no_unknown_field_in_contents,
    thinks_in_one_way,
    samples_within_bounds,
)
PART_RULES = (has_roles, has_parts, has_parts_with_data, has_calls_in_form)
