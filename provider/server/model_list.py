"""The list of a provider's models, as each wire spells it.

Source: the types of the anthropic 2.14, openai 3.57 and google-genai 2.34 packages, and
openrouter.ai/docs/api/api-reference/models, read on 2026-11-30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..wire_name import Wire

WINDOW = 1_000_000
LONGEST = 64_000
CREATED = 1_767_225_600  # 2026-01-01


def listed_models(models: list[dict[str, object]], wire: Wire) -> dict[str, object]:
    """Return the list of *models*, each as `listed_model` returns it."""
    if wire == "gemini":
        return {"models": models}
    if wire == "anthropic":
        ends = {"first_id": models[0]["id"], "last_id": models[-1]["id"]} if models else {}
        return {"data": models, "has_more": False, "first_id": None, "last_id": None, **ends}
    return {"object": "list", "data": models}


def listed_model(name: str, wire: Wire, *, owner: str, window: int = WINDOW) -> dict[str, object]:
    """Return the entry of the model *name*, which has a context of *window* tokens."""
    if wire == "gemini":
        return {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": window,
            "outputTokenLimit": LONGEST,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
    if wire == "anthropic":
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": window,
            "max_tokens": LONGEST,
            "capabilities": None,
            "lifecycle": "active",
        }
    return {
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": owner,
        "name": name,
        "context_length": window,
    }
