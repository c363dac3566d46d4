"""An answer that was recorded, read as the client reads one while it comes."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..capture import CaptureFile
from ..catalog.provider import Provider
from ..catalog.vendor import vendor_named, vendor_of
from ..client.error_response import is_stream, name_refusal
from ..delta import TextDelta, ToolCallStarted
from ..error import ProviderError
from ..json_value import is_json
from ..wire.registry import parser_of
from .http_dump import RawAnswer, refuse_misplaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..delta import Delta
    from ..failure import Failure
    from ..wire.gemini.json_events import RawJsonParser
    from ..wire.protocol import Decoder
    from ..wire.sse import Event, SseParser
    from ..wire_name import Wire

_SHOWN = (TextDelta, ToolCallStarted)

_FACADE = "-anthropic"
_WIRES: Mapping[str, Wire] = {
    "openai": "openai-responses",
    "openai-responses": "openai-responses",
    "gemini": "gemini",
}
"""Of providers that the catalog does not list; any other is taken to speak chat completions."""
_SIGNS: Mapping[Wire, re.Pattern[bytes]] = {
    "openai-responses": re.compile(rb'"type" ?: ?"response\.\w'),
    "anthropic": re.compile(rb'"type" ?: ?"message_(?:start|delta|stop)"'),
    "gemini": re.compile(rb'"(?:candidates|promptFeedback|usageMetadata)" ?: ?[\[{]'),
    "openai-chat": re.compile(rb'"object" ?: ?"chat\.completion|"choices" ?: ?\['),
}
"""What stands in the events of one wire only; inside a string its quotes would be escaped."""
_ANTHROPIC_ERROR = re.compile(rb'"type" ?: ?"error"')
_LOOKED_AT = 65_536  # bytes of a body that say which wire it is
_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a provider answered to a request for a stream.

    Args:
        provider: Whose facts to read it by; empty where nobody said.
        blocks: The body as it came from the network; joined where only that is known.
        is_clean: False where the connection broke after the last block.
        notes: What was taken for granted, or left out.
    """

    provider: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[bytes, ...] = ()
    is_clean: bool = True
    notes: tuple[str, ...] = ()

    @classmethod
    def parse(
        cls, content: bytes, *, provider: str | None = None, status: int | None = None
    ) -> Recorded:
        """Read a recording: a capture, a raw HTTP answer, or a bare body.

        Args:
            content: What is in the file; also as PowerShell writes one, in UTF-16.
            provider: Overrides what a capture says; None leaves it.
            status: That of a bare body; None takes 200.

        Raises:
            ConfigError: It is a capture that lacks something, or no answer that can be read.
        """
        content = _plain(content)
        raw = RawAnswer.parse(content)
        if raw is not None:
            return cls(
                provider=provider or "", status=raw.status, headers=raw.headers,
                blocks=(raw.body,), is_clean=raw.is_clean, notes=_left_out(status, raw.status),
            )  # fmt: skip
        capture = CaptureFile.parse(content)
        if capture is not None:
            return cls._captured(capture, provider, status)
        notes: tuple[str, ...] = ()
        if status is None:
            refuse_misplaced(content)
            notes = ("status 200, as the file has none and no --status was given",)
        return cls(provider=provider or "", status=status or 200, blocks=(content,), notes=notes)

    @classmethod
    def _captured(cls, capture: CaptureFile, provider: str | None, given: int | None) -> Recorded:
        return cls(
            provider=provider or capture.provider,
            status=capture.status,
            headers={name.lower(): value for name, value in capture.headers},
            blocks=(capture.body,) if capture.chunks is None else capture.chunks,
            is_clean=not capture.is_reset,
            notes=_left_out(given, capture.status),
        )

    @property
    def body(self) -> bytes:
        """The whole of it."""
        return b"".join(self.blocks)

    @property
    def content_type(self) -> str:
        """What it says it is, or where it does not say, what it looks like."""
        looks = "application/json" if self.body.lstrip()[:1] == b"{" else ""
        return self.headers.get("content-type", looks)

    def spoken_by(self, providers: Mapping[str, Provider]) -> Provider:
        """Return that of *providers*, or for one that nobody knows one with its name and wire."""
        name = self.provider
        known = providers.get(name)
        if known is not None:
            return self._other_wire_of(known, providers) or known
        if name.endswith(_FACADE):
            return Provider(name.removesuffix(_FACADE), "anthropic", "", None)
        return Provider(name, self.looks_like or self._guessed(), "", None)

    def _other_wire_of(self, known: Provider, providers: Mapping[str, Provider]) -> Provider | None:
        """Return the provider of the same vendor in whose wire it is, where *known* has another."""
        vendor, wire = vendor_of(known), self.looks_like
        if wire in (None, known.wire):
            return None
        others = (p for p in providers.values() if p.wire == wire and vendor_of(p) == vendor)
        return next(others, None)

    @property
    def names_somebody(self) -> bool:
        """Whether sidestep has heard of its provider, though it may not know how to ask there."""
        name = self.provider.removesuffix(_FACADE)
        return name in _WIRES or vendor_named(name) is not None

    @property
    def looks_like(self) -> Wire | None:
        """The wire whose events it has, whoever answered; None where that does not show."""
        start = self.body[:_LOOKED_AT]
        return next((wire for wire, sign in _SIGNS.items() if sign.search(start)), None)

    def _guessed(self) -> Wire:
        named = _WIRES.get(self.provider)
        is_anthropic = not self.provider and _ANTHROPIC_ERROR.search(self.body[:_LOOKED_AT])
        return named or ("anthropic" if is_anthropic else "openai-chat")


def _plain(content: bytes) -> bytes:
    """Return *content* in UTF-8, without a byte order mark."""
    if content.startswith(_BOMS):
        return content.decode("utf-16", "replace").encode()
    return content.removeprefix(codecs.BOM_UTF8)


def _left_out(given: int | None, status: int) -> tuple[str, ...]:
    is_other = given is not None and given != status
    return (f"status {status}, as the file says, and not {given} of --status",) if is_other else ()


@dataclass(slots=True)
class Outcome:
    """What a recorded answer came to.

    Args:
        failure: Why it is no answer; None where it is one.
        has_shown: Whether text, or the beginning of a call, had come.
        events: How many were read.
    """

    failure: Failure | None = None
    has_shown: bool = False
    events: int = 0


def read(recorded: Recorded, provider: Provider, decoder: Decoder) -> Outcome:
    """Run *recorded*, an answer of *provider*, through *decoder*, and say what it came to.

    Args:
        decoder: A new one, of the provider's wire. It holds the parts afterwards.
    """
    if not is_stream(recorded.status, recorded.content_type, provider.wire):
        return Outcome(
            name_refusal(recorded.status, recorded.headers, recorded.body, provider=provider)
        )
    outcome = Outcome()
    try:
        for deltas in _decoded(recorded, decoder, parser_of(provider.wire), outcome):
            outcome.has_shown |= any(isinstance(delta, _SHOWN) for delta in deltas)
    except ProviderError as error:
        outcome.failure = error.failure
    return outcome


def _decoded(
    recorded: Recorded, decoder: Decoder, parser: SseParser | RawJsonParser, outcome: Outcome
) -> Iterator[Sequence[Delta]]:
    for name, data in _events(recorded, parser):
        if not decoder.is_done:
            outcome.events += 1
            yield decoder.decode(data, name)
    yield decoder.end(is_clean=recorded.is_clean)


def _events(recorded: Recorded, parser: SseParser | RawJsonParser) -> Iterator[Event]:
    for block in recorded.blocks:
        yield from parser.feed(block)
    # What is no JSON was cut, and the end judges that.
    yield from (event for event in parser.flush() if is_json(event[1]))
