"""The JSON Schema of a tool's arguments in the form that OpenAI checks, without strict mode.

Source: developers.openai.com/api/docs/guides/function-calling, and undocumented refusals: ``schema
must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level`` and
``array schema missing items``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .object_root import object_schema
from .schema import change_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NOT_AT_ROOT = frozenset({"not", "enum"})


def for_openai(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* with an object at its root that has properties, and arrays with items."""
    root = {key: each for key, each in object_schema(schema).items() if key not in _NOT_AT_ROOT}
    root.setdefault("properties", {})
    unread = [root] if any(map(_lacks_items, _nested(root))) else []
    while unread:  # no recursion, because schemas can be nested very deeply
        change_below(unread.pop(), _with_items, unread)
    return root


def _with_items(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return one schema; if it can be an array, with its items."""
    return {**schema, "items": {}} if _lacks_items(schema) else dict(schema)


def _lacks_items(schema: Mapping[str, Any]) -> bool:
    type_ = schema.get("type")
    is_list = type_ == "array" or (isinstance(type_, list) and "array" in type_)
    return is_list and "items" not in schema


def _nested(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield *schema* and every object in it, which may be a schema."""
    unread: list[object] = [schema]
    while unread:
        each = unread.pop()
        if isinstance(each, dict):
            yield each
            unread += each.values()
        elif isinstance(each, list):
            unread += each
