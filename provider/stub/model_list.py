"""Answer requests for the list of models, or for one of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote

from ..server.model_list import listed_model, listed_models
from .endpoint import place_of
from .script import json_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..wire_name import Wire
    from .script import Script

PATH = re.compile(r"/(?P<provider>[^/]+)/(?:.*/)?models(?:/(?P<model>[^:]+))?")
_OWNER = "stub"


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
            return json_script("model", listed_model(self.model, self.wire, owner=_OWNER))
        models = [listed_model(each, self.wire, owner=_OWNER) for each in names]
        return json_script("models", listed_models(models, self.wire))


def _wire(provider: str, path: str, headers: Mapping[str, str]) -> Wire:
    """Return the wire of the question: a version in its path or headers, or the provider's own."""
    if "/v1beta/" in path:
        return "gemini"
    if "anthropic-version" in headers:
        return "anthropic"
    own, _ = place_of(provider)
    return "openai-chat" if own == "gemini" else own
