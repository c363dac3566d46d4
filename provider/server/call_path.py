"""The paths of model calls in every wire, as a server on this machine reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

if TYPE_CHECKING:
    from ..wire_name import Wire

ENDINGS: Mapping[str, Wire] = {
    "/v1/messages": "anthropic",
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
}
"""The wire of a request, by the end of its path."""

COUNT_ENDINGS: Mapping[str, Wire] = {
    "/v1/messages/count_tokens": "anthropic",
    "/responses/input_tokens": "openai-responses",
}
"""The wire of a request for a token count, by the end of its path; Gemini has a method."""

SECRET = re.compile(r"(?P<name>(?:^|&)(?:key|api[-_]?key|access_token|token)=)[^&]*", re.IGNORECASE)

METHODS = frozenset({"generateContent", "streamGenerateContent", "countTokens"})
"""The ends of Gemini's paths, which name the model and the method."""


def path_of(target: str) -> str:
    """Return the path of a request *target*: ``/path`` or, as sent to a proxy, a whole URL."""
    if not target.startswith("/"):
        target = "/" + target.partition("://")[2].partition("/")[2]
    return target.partition("?")[0]


def query_of(target: str) -> str:
    """Return the query of a request *target*, without the question mark and without keys."""
    return SECRET.sub(r"\g<name>***", target.partition("?")[2])


@dataclass(frozen=True, slots=True)
class CallPath:
    """What the path of a request says: the provider and the model that are called, and the wire.

    Args:
        model: None: the body names it.
        is_stream: None: the body says it.
        is_count: The request asks for a token count, not for an answer.
    """

    provider: str
    wire: Wire
    model: str | None = None
    is_stream: bool | None = None
    is_count: bool = False

    @classmethod
    def at(cls, path: str) -> Self | None:
        """Return what *path* asks for; None: it is no path of a model call."""
        gemini = _gemini_call(path)
        if gemini is not None:
            provider, model, method = gemini
            is_stream = method == "streamGenerateContent"
            return cls(
                unquote(provider), "gemini", unquote(model), is_stream,
                is_count=method == "countTokens",
            )  # fmt: skip
        for endings in (ENDINGS, COUNT_ENDINGS):
            for ending, wire in endings.items():
                provider = path.removesuffix(ending).strip("/").partition("/")[0]
                if path.endswith(ending) and provider:
                    return cls(unquote(provider), wire, is_count=endings is COUNT_ENDINGS)
        return None


def _gemini_call(path: str) -> tuple[str, str, str] | None:
    """Return the provider, the model and the method that *path* names; None: it names no method.

    No regular expression, because whoever may not use the server at all sends paths too, and some
    paths take a regular expression seconds.
    """
    rest, colon, method = path.rpartition(":")
    if not colon or method not in METHODS:
        return None
    provider, _, rest = rest.removeprefix("/").partition("/")
    _, found, model = f"/{rest}".rpartition("/models/")
    if not (provider and found and model) or model.startswith("/"):
        return None
    return provider, model, method
