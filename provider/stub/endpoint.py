"""The paths that the stub serves, and what a request to one of them asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from ..catalog.catalog import catalog
from ..route import Route
from .wire.base import StubRequest

if TYPE_CHECKING:
    from ..wire_name import Wire
    from .vendor_error import Dialect

SERVED = (
    "POST /PROVIDER/v1/messages",
    "POST /PROVIDER/v1/chat/completions",
    "POST /PROVIDER/v1/responses",
    "POST /PROVIDER/v1beta/models/MODEL:streamGenerateContent",
    "POST /PROVIDER/v1beta/models/MODEL:generateContent",
    "POST /PROVIDER/v1/messages/count_tokens",
    "POST /PROVIDER/v1/responses/input_tokens",
    "POST /PROVIDER/v1beta/models/MODEL:countTokens",
    "GET /PROVIDER/v1/models",
    "GET /PROVIDER/v1beta/models",
    "GET /_stub/requests",
    "GET /_stub/providers",
    "POST /_stub/reset",
)

CHAT: tuple[Wire, str] = ("openai-chat", "/v1")

_ENDS: Mapping[Wire, str] = {
    "anthropic": "", "openai-chat": "/v1", "openai-responses": "/v1", "gemini": "/v1beta",
}  # fmt: skip
KNOWN: Mapping[str, tuple[Wire, str]] = {
    **{name: (known.wire, _ENDS[known.wire]) for name, known in catalog().items()},
    "openrouter": ("openai-chat", "/api/v1"),
}
"""The wire and the end of the base URL of each provider that a stub without a scenario lists.

The stub answers for any other provider too, and takes it to speak `CHAT`.
"""

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

GENERATE = re.compile(
    r"/(?P<provider>[^/]+)/(?:.*/)?models/(?P<model>[^/].*):"
    r"(?P<method>generateContent|streamGenerateContent|countTokens)"
)
"""Gemini's paths, which name the model and the method."""


def place_of(provider: str) -> tuple[Wire, str]:
    """Return the wire of *provider* and the end of its base URL."""
    return KNOWN.get(provider, CHAT)


def path_of(target: str) -> str:
    """Return the path of a request *target*: ``/path`` or, as sent to a proxy, a whole URL."""
    if not target.startswith("/"):
        target = "/" + target.partition("://")[2].partition("/")[2]
    return target.partition("?")[0]


def query_of(target: str) -> str:
    """Return the query of a request *target*, without the question mark and without keys."""
    return SECRET.sub(r"\g<name>***", target.partition("?")[2])


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a request goes.

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
        """Return the endpoint at *path*; None if nothing is served there."""
        gemini = GENERATE.fullmatch(path)
        if gemini is not None:
            provider, model = unquote(gemini["provider"]), unquote(gemini["model"])
            method = gemini["method"]
            is_stream = method == "streamGenerateContent"
            return cls(provider, "gemini", model, is_stream, is_count=method == "countTokens")
        for endings in (ENDINGS, COUNT_ENDINGS):
            for ending, wire in endings.items():
                provider = path.removesuffix(ending).strip("/").partition("/")[0]
                if path.endswith(ending) and provider:
                    return cls(unquote(provider), wire, is_count=endings is COUNT_ENDINGS)
        return None

    @property
    def dialect(self) -> Dialect:
        """The dialect in which the provider answers."""
        is_openrouter = self.provider == "openrouter" and self.wire == "openai-chat"
        return "openrouter" if is_openrouter else self.wire

    def read(self, body: object, *, size: int) -> StubRequest:
        """Return what a request of *size* bytes asks for.

        Raises:
            ValueError: *body* is not an object, or no model is named.
        """
        if not isinstance(body, Mapping):
            raise ValueError("The request body is not a JSON object")  # noqa: TRY004
        model = body.get("model") if self.model is None else self.model
        if not isinstance(model, str) or not model:
            raise ValueError("model: Field required")
        options = body.get("stream_options")
        return StubRequest(
            route=Route(f"{self.provider}/{model}"),
            dialect=self.dialect,
            body=body,
            is_stream=body.get("stream") is True if self.is_stream is None else self.is_stream,
            wants_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
            prompt_tokens=max(1, size // 4),
        )
