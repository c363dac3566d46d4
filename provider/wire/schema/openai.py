"""The JSON Schema of a tool's arguments as OpenAI takes it, where it is not to be strict.

Source: developers.openai.com/api/docs/guides/function-calling, and what is refused without being
written there: ``schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at
the top level`` and ``array schema missing items``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .object_root import object_schema
from .schema import change_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NOT_AT_ROOT = frozenset({"not", "enum"})


def for_openai(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* with an object at its root that names its properties, and lists of things."""
    root = {key: each for key, each in object_schema(schema).items() if key not in _NOT_AT_ROOT}
    root.setdefault("properties", {})
    unread = [root] if any(map(_lacks_items, _nested(root))) else []
    while unread:  # a schema may be nested deeper than functions can be
        change_below(unread.pop(), _listed, unread)
    return root


def _listed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return one schema that says what is in a list, where it may be one."""
    return {**schema, "items": {}} if _lacks_items(schema) else dict(schema)


def _lacks_items(schema: Mapping[str, Any]) -> bool:
    type_ = schema.get("type")
    is_list = type_ == "array" or (isinstance(type_, list) and "array" in type_)
    return is_list and "items" not in schema


def _nested(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Go through all that is in *schema* and may be one."""
    unread: list[object] = [schema]
    while unread:
        each = unread.pop()
        if isinstance(each, dict):
            yield each
            unread += each.values()
        elif isinstance(each, list):
            unread += each
