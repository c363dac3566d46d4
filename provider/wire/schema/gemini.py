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
    """Return *schema* in the form of Gemini's ``parametersJsonSchema``.

    A constant becomes an enum of one value, because `const` is ignored there. Few keywords can
    stand beside a reference, and the root is an object.
    """
    root = _one_for_gemini(rooted(schema))
    unread = [root]
    while unread:  # no recursion, because schemas can be nested very deeply
        change_below(unread.pop(), _one_for_gemini, unread)
    return root


def _one_for_gemini(schema: Mapping[str, Any]) -> Schema:
    """Return one schema in Gemini's form, with the agent's own schemas in it."""
    if "$ref" in schema:
        return {
            key: value
            for key, value in schema.items()
            if key != "$schema" and (key.startswith("$") or key in _BESIDE_REF)
        }
    changed = {key: value for key, value in schema.items() if key not in {"$schema", "const"}}
    if "const" in schema:
        changed["enum"] = [schema["const"]]
    return changed
