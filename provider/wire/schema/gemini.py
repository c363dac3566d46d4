"""JSON Schemas in the form of Gemini's ``parametersJsonSchema``, for Gemini 2.5 and later.

Source: ai.google.dev/api/caching
(FunctionDeclaration) and ai.google.dev/gemini-api/docs/structured-output, read on 2026-11-29; for
what is refused without being documented github.com/spring-projects/spring-ai/issues/4776 and
github.com/su-kaka/gcli2api/pull/374.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .schema import Schema, change_below, rooted

if TYPE_CHECKING:
    from collections.abc import Mapping

_BESIDE_REF = frozenset({"description", "default"})


def for_gemini(schema: Mapping[str, Any]) -> Schema:
    """Return *schema* as Gemini's ``parametersJsonSchema`` takes it.

    A constant is said as the only one of a list, for `const` is ignored there. Beside a
    reference stands little else, and the root is an object.
    """
    root = _for_gemini(rooted(schema))
    unread = [root]
    while unread:  # a schema may be nested deeper than functions can be
        change_below(unread.pop(), _for_gemini, unread)
    return root


def _for_gemini(schema: Mapping[str, Any]) -> Schema:
    """Return one schema as Gemini takes it; those in it are still the agent's."""
    if "$ref" in schema:
        return {
            key: value
            for key, value in schema.items()
            if key != "$schema" and (key.startswith("$") or key in _BESIDE_REF)
        }
    made = {key: value for key, value in schema.items() if key not in {"$schema", "const"}}
    if "const" in schema:
        made["enum"] = [schema["const"]]
    return made
