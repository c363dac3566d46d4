"""Values that OpenAI refuses, in Chat Completions and in Responses.

Source, read on 2026-11-30. The bounds: OpenAI's reference, as the documentation of openai-lib
(docs.rs) and of tidyllm (rdrr.io) repeats it. The messages: for ranges
thisisartium/continuous-alignment-testing#25, for lists vishalmysore/Tools4AI#16, for strict schemas
agentscope-ai/agentscope-java#2548 and vercel/ai#6484 (Chat Completions), bingoYB/ham_home#16
(Responses) and ash-project/ash_ai#155 (functions). For decimals, public programs quote the message;
for a ``top_logprobs`` out of range, its form is guessed from that of ``n``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...json_value import listed, mapping, string
from .complaint import Complaint
from .openai_words import invalid

RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "n": (1, 128),
    "top_logprobs": (0, 20),
}
_INTEGERS = frozenset({"n", "top_logprobs"})
_STRICT = "is required to be supplied and to be"
"""OpenAI's own words."""


def out_of_range(body: Mapping[str, Any]) -> Complaint | None:
    """Return the refusal of the first number of *body* that is too small or too large."""
    for name, (least, most) in RANGES.items():
        value = body.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        kind = "integer" if name in _INTEGERS else "decimal"
        if value > most:
            return _beyond(name, f"{kind} above maximum value", f"<= {most}", value)
        if value < least:
            return _beyond(name, f"{kind} below minimum value", f">= {least}", value)
    return None


def _beyond(name: str, how: str, bound: str, value: float) -> Complaint:
    code = how.replace("maximum", "max").replace("minimum", "min").replace(" ", "_")
    return invalid(name, f"{how}. Expected a value {bound}, but got {value} instead.", code=code)


def too_many(body: Mapping[str, Any], name: str, most: int) -> Complaint | None:
    """Return the refusal of the list *name* of *body* if it has more than *most* entries."""
    count = len(listed(body.get(name)))
    if count <= most:
        return None
    why = (
        f"array too long. Expected an array with maximum length {most}, but got an array with "
        f"length {count} instead."
    )
    return invalid(name, why, code="array_above_max_length")


def wrong_strict_function(function: Mapping[str, Any], where: str) -> Complaint | None:
    """Return what is wrong with the schema of a *function* that is declared as strict."""
    if function.get("strict") is not True:
        return None
    why = next(_strict_faults(function.get("parameters"), ()), None)
    if why is None:
        return None
    message = f"Invalid schema for function '{string(function.get('name'))}': {why}"
    param = f"{where}.parameters"
    return Complaint(message=message, param=param, code="invalid_function_parameters")


def wrong_strict_format(
    form: Mapping[str, Any], param: str, *, code: str | None = None
) -> Complaint | None:
    """Return what is wrong with a *form* of answers that is declared as strict."""
    if form.get("strict") is not True:
        return None
    why = next(_strict_faults(form.get("schema"), ()), None)
    if why is None:
        return None
    message = f"Invalid schema for response_format '{string(form.get('name'))}': {why}"
    return Complaint(message=message, param=param, code=code)


def _strict_faults(schema: object, path: tuple[str, ...]) -> Iterator[str]:
    """Yield what is wrong with the objects in a strict *schema*."""
    fields = mapping(schema)
    properties = mapping(fields.get("properties"))
    if fields.get("type") == "object":
        head = f"In context={path!r}, "
        if fields.get("additionalProperties") is not False:
            yield f"{head}'additionalProperties' {_STRICT} false."
        absent = [name for name in properties if name not in listed(fields.get("required"))]
        if absent:
            keys = "an array including every key in properties"
            yield f"{head}'required' {_STRICT} {keys}. Missing '{absent[0]}'."
    for name, each in properties.items():
        yield from _strict_faults(each, (*path, "properties", name))
    if "items" in fields:
        yield from _strict_faults(fields["items"], (*path, "items"))
