"""The arguments of a call, also in the dialects that some servers write.

Source: github.com/openai/openai-agents-js/pull/712 (``{}`` first, Bedrock),
github.com/microsoft/autogen/pull/7549 and github.com/mudler/cogito/pull/66 (the whole object
again), github.com/NousResearch/hermes-agent/issues/62937 and its pull 36039 (several calls of one
tool in one slot, Gemini's facade), github.com/vllm-project/vllm/pull/54964 and
github.com/quarkiverse/quarkus-langchain4j/pull/2642 (encoded twice).
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..json_value import read_json

_LENIENT = json.JSONDecoder(strict=False)
"""It takes a raw line break or tab inside a string, which JSON forbids."""
_TEXT = re.compile(r"\S")
_FENCE = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)
_MOST = 64  # values in the arguments of one call
_DEEPEST = 3  # times that arguments may be encoded


def read_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of one call; None: they cannot be read, or not in one way only.

    Empty text means none.
    """
    objects = read_objects(text)
    return objects[0] if objects is not None and len(objects) == 1 else None


def read_objects(text: str) -> list[dict[str, Any]] | None:
    """Return the different objects in *text*, at least one; None: it holds anything else.

    An empty object beside others is left out, and so is an object that came before. If one object
    only continues another, nobody can say whether it replaces it, so that the result is None.
    """
    objects = _objects(text, _DEEPEST)
    if objects is None:
        return None
    different: list[dict[str, Any]] = []
    for each in objects:
        if each and each not in different:
            different.append(each)
    if _has_draft(different):
        return None
    return different or [{}]


def _objects(text: str, depth: int) -> list[dict[str, Any]] | None:
    if not text or text.isspace():
        return [{}]
    try:
        values = [read_json(text)]
    except ValueError:
        values = _values(_undressed(text))
    if len(values) == 1 and isinstance(values[0], list) and len(values[0]) == 1:
        values = values[0]  # a list with one object
    objects: list[dict[str, Any]] = []
    for value in values:
        if isinstance(value, dict):
            objects.append(value)
        elif isinstance(value, str) and depth and (inner := _objects(value, depth - 1)) is not None:
            objects += inner
        elif value is None and len(values) == 1:
            objects.append({})
        else:
            return None
    return objects or None


def _undressed(text: str) -> str:
    """Return *text* without what can be no part of arguments: a fence, or a mark at an end."""
    found = _FENCE.fullmatch(text)
    return (text if found is None else found[1]).strip("\ufeff\0")


def _values(text: str) -> list[Any]:
    """Return the values that stand one after another in *text*; empty: it holds something else."""
    values: list[Any] = []
    end = _skip_blank(text, 0)
    while end < len(text):
        try:
            value, end = _LENIENT.raw_decode(text, end)
            values.append(_without_surrogates(value))
        except (ValueError, RecursionError):
            return []
        if len(values) > _MOST:
            return []
        end = _skip_blank(text, end)
    return values


def _skip_blank(text: str, start: int) -> int:
    found = _TEXT.search(text, start)
    return len(text) if found is None else found.start()


def _without_surrogates(value: Any) -> Any:
    """Return *value* with a question mark for each lone surrogate, as `read_json` returns it."""
    return read_json(json.dumps(value))


def _has_draft(objects: list[dict[str, Any]]) -> bool:
    """True if one of *objects* is another with more in it."""
    return any(
        one is not other and all(key in other and other[key] == one[key] for key in one)
        for one in objects
        for other in objects
    )
