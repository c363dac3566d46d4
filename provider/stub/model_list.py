"""Answer requests for the list of models, or for one of them.

Source: the types of the anthropic 2.14, openai 3.57 and google-genai 2.34 packages, and
openrouter.ai/docs/api/api-reference/models, read on 2026-11-30.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote

from .endpoint import place_of
from .script import json_script
from .wire.base import CREATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..wire_name import Wire
    from .script import Script

PATH = re.compile(r"/(?P<provider>[^/]+)/(?:.*/)?models(?:/(?P<model>[^:]+))?")
WINDOW = 1_000_000
LONGEST = 64_000


class ModelQuestion(NamedTuple):
    """A request for models.

    Args:
        model: None: it asks for all of the provider's models.
        wire: The wire in which they are listed.
    """

    provider: str
    model: str | None
    wire: Wire

    @classmethod
    def of(cls, path: str, headers: Mapping[str, str]) -> Self | None:
        """Return what a ``GET`` of *path* asks for; None if it asks for no models."""
        found = PATH.fullmatch(path)
        if found is None:
            return None
        provider, model = unquote(found["provider"]), found["model"]
        return cls(provider, model and unquote(model), _wire(provider, path, headers))

    def script(self, names: Iterable[str]) -> Script:
        """Return the response; *names* are the provider's models."""
        if self.model is not None:
            return json_script("model", _model(self.model, self.wire))
        return json_script("models", _list([_model(each, self.wire) for each in names], self.wire))


def _wire(provider: str, path: str, headers: Mapping[str, str]) -> Wire:
    """Return the wire of the question: a version in its path or headers, or the provider's own."""
    if "/v1beta/" in path:
        return "gemini"
    if "anthropic-version" in headers:
        return "anthropic"
    own, _ = place_of(provider)
    return "openai-chat" if own == "gemini" else own


def _list(models: list[dict[str, object]], wire: Wire) -> dict[str, object]:
    if wire == "gemini":
        return {"models": models}
    if wire == "anthropic":
        ends = {"first_id": models[0]["id"], "last_id": models[-1]["id"]} if models else {}
        return {"data": models, "has_more": False, "first_id": None, "last_id": None, **ends}
    return {"object": "list", "data": models}


def _model(name: str, wire: Wire) -> dict[str, object]:
    if wire == "gemini":
        return {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": WINDOW,
            "outputTokenLimit": LONGEST,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
    if wire == "anthropic":
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": WINDOW,
            "max_tokens": LONGEST,
            "capabilities": None,
            "lifecycle": "active",
        }
    return {
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "stub",
        "name": name,
        "context_length": WINDOW,
    }
