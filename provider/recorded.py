"""An answer that was recorded, read as the client reads one while it comes."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .catalog import Provider
from .delta import TextDelta, ToolCallStarted
from .error import ConfigError, ProviderError
from .reader import parser_of
from .refusal import name_refusal
from .wire import mapping, read_json, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .delta import Delta
    from .failure import Failure
    from .raw_json import RawJsonParser
    from .sse import SseParser
    from .wire import Decoder, Wire

_SHOWN = (TextDelta, ToolCallStarted)

_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})(?: [^\r\n]*)?\r?\n")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_FACADE = "-anthropic"
_WIRES: Mapping[str, Wire] = {
    "openai": "openai-responses",
    "openai-responses": "openai-responses",
    "gemini": "gemini",
}
"""Of providers that the catalog does not list; any other is taken to speak chat completions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a provider answered to a request for a stream.

    Args:
        provider: Whose facts to read it by; empty where nobody said.
        blocks: The body as it came from the network; joined where only that is known.
        is_clean: False where the connection broke after the last block.
    """

    provider: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[bytes, ...] = ()
    is_clean: bool = True

    @classmethod
    def parse(
        cls, content: bytes, *, provider: str | None = None, status: int | None = None
    ) -> Recorded:
        """Read a recording: a capture, a raw HTTP answer, or a bare body.

        Args:
            content: What is in the file.
            provider: Overrides what a capture says; None leaves it.
            status: That of a bare body; None takes 200.

        Raises:
            ConfigError: It is a capture that lacks something.
        """
        raw = _STATUS_LINE.match(content)
        if raw is not None:
            return cls._raw(content, int(raw[1]), raw.end(), provider or "")
        capture = _capture(content)
        if capture is not None:
            return cls._captured(capture, provider)
        return cls(provider=provider or "", status=status or 200, blocks=(content,))

    @classmethod
    def _raw(cls, content: bytes, status: int, start: int, provider: str) -> Recorded:
        head, *rest = _BLANK_LINE.split(content[start:], maxsplit=1)
        pairs = (line.partition(b":") for line in head.splitlines() if b":" in line)
        headers = {
            name.strip().decode("latin-1").lower(): value.strip().decode("latin-1")
            for name, _, value in pairs
        }
        body = rest[0] if rest else b""
        return cls(provider=provider, status=status, headers=headers, blocks=(body,))

    @classmethod
    def _captured(cls, capture: Mapping[str, Any], provider: str | None) -> Recorded:
        status, body, chunks = capture["status"], capture.get("body"), capture.get("chunks_b64")
        if not isinstance(status, int) or isinstance(status, bool):
            raise ConfigError(f"`status` of a capture must be a whole number, got {status!r}")
        blocks = tuple(_chunks(chunks)) if chunks is not None else (string(body).encode(),)
        return cls(
            provider=provider or string(capture.get("provider")),
            status=status,
            headers={name.lower(): str(value) for name, value in _headers(capture)},
            blocks=blocks,
            is_clean=capture.get("eof") != "reset",
        )

    @property
    def body(self) -> bytes:
        """The whole of it."""
        return b"".join(self.blocks)

    @property
    def is_json(self) -> bool:
        """Whether it is one JSON value in place of events, as its type or its look says."""
        kind = self.headers.get("content-type")
        return self.body.lstrip()[:1] == b"{" if kind is None else "json" in kind

    def spoken_by(self, providers: Mapping[str, Provider]) -> Provider:
        """Return that of *providers*, or for one that nobody knows one with its name and wire."""
        name = self.provider
        known = providers.get(name)
        if known is not None:
            return known
        if name.endswith(_FACADE):
            return Provider(name.removesuffix(_FACADE), "anthropic", "", None)
        return Provider(name, _WIRES.get(name) or self._guessed(), "", None)

    def _guessed(self) -> Wire:
        is_anthropic = not self.provider and b'"type":"error"' in self.body.replace(b" ", b"")
        return "anthropic" if is_anthropic else "openai-chat"


def _capture(content: bytes) -> Mapping[str, Any] | None:
    """Return *content* where it is a capture: JSON with a status and a body of its own."""
    try:
        value = mapping(read_json(content))
    except ValueError:
        return None
    return value if "status" in value and ("body" in value or "chunks_b64" in value) else None


def _chunks(chunks: object) -> list[bytes]:
    try:
        return [base64.b64decode(chunk, validate=True) for chunk in chunks]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ConfigError("`chunks_b64` of a capture must be a list of base64 strings") from None


def _headers(capture: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(mapping(capture.get("headers")).items())


@dataclass(slots=True)
class Outcome:
    """What a recorded answer came to.

    Args:
        failure: Why it is no answer; None where it is one.
        has_shown: Whether text, or the beginning of a call, had come.
    """

    failure: Failure | None = None
    has_shown: bool = False


def read(recorded: Recorded, provider: Provider, decoder: Decoder) -> Outcome:
    """Run *recorded*, an answer of *provider*, through *decoder*, and say what it came to.

    Args:
        decoder: A new one, of the provider's wire. It holds the parts afterwards.
    """
    is_success = 200 <= recorded.status < 300
    if not is_success or (recorded.is_json and provider.wire != "gemini"):
        return Outcome(
            name_refusal(recorded.status, recorded.headers, recorded.body, provider=provider)
        )
    outcome = Outcome()
    try:
        for deltas in _decoded(recorded, decoder, parser_of(provider.wire)):
            outcome.has_shown |= any(isinstance(delta, _SHOWN) for delta in deltas)
    except ProviderError as error:
        outcome.failure = error.failure
    return outcome


def _decoded(
    recorded: Recorded, decoder: Decoder, parser: SseParser | RawJsonParser
) -> Iterator[Sequence[Delta]]:
    for block in recorded.blocks:
        for name, data in parser.feed(block):
            if not decoder.is_done:
                yield decoder.decode(data, name)
    for name, data in parser.flush():
        if not decoder.is_done:
            yield decoder.decode(data, name)
    yield decoder.end(is_clean=recorded.is_clean)
