"""The paths that the stub serves, and what a request to one of them asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..catalog.catalog import catalog
from ..route import Route
from ..server.call_path import CallPath
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


def place_of(provider: str) -> tuple[Wire, str]:
    """Return the wire of *provider* and the end of its base URL."""
    return KNOWN.get(provider, CHAT)


class Endpoint(CallPath):
    """Where a request to the stub goes."""

    __slots__ = ()

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
