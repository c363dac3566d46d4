"""A recorded answer, read like an answer that arrives over the network."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..capture import CaptureFile
from ..catalog.provider import Provider
from ..catalog.vendor import vendor_named, vendor_of
from ..client.error_response import failure_of_response, is_stream
from ..client.response_body import is_event
from ..delta import TextDelta, ToolCallStarted
from ..failure import Failure, FailureKind
from .http_dump import RawAnswer, refuse_misplaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..delta import Delta
    from ..wire.reading import Reading
    from ..wire_name import Wire

_SHOWN = (TextDelta, ToolCallStarted)

_FACADE = "-anthropic"
_WIRES: Mapping[str, Wire] = {
    "openai": "openai-responses",
    "openai-responses": "openai-responses",
    "gemini": "gemini",
}
"""The wires of providers that are not in the catalog; all others speak Chat Completions."""
_SIGNS: Mapping[Wire, re.Pattern[bytes]] = {
    "openai-responses": re.compile(rb'"type" ?: ?"response\.\w|"object" ?: ?"response"'),
    "anthropic": re.compile(rb'"type" ?: ?"message(?:_start|_delta|_stop)?"'),
    "gemini": re.compile(rb'"(?:candidates|promptFeedback|usageMetadata)" ?: ?[\[{]'),
    "openai-chat": re.compile(rb'"object" ?: ?"chat\.completion|"choices" ?: ?\['),
}
"""Marks of the events of one wire; inside a string their quotes would be escaped."""
_ANTHROPIC_ERROR = re.compile(rb'"type" ?: ?"error"')
_LOOKED_AT = 65_536  # bytes of a body in which the wire is recognised
_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A provider's answer to a request for a stream.

    Args:
        provider: The provider that answered; empty: unknown.
        blocks: The body in the pieces in which it arrived, or in one piece.
        is_clean: False: the connection broke after the last block.
        notes: What was assumed or ignored.
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
        """Return the recording in *content*: a capture, a raw HTTP answer, or a bare body.

        Args:
            content: The content of the file; it can be in UTF-16, as PowerShell writes it.
            provider: Overrides the provider of a capture; None: no change.
            status: The status of a bare body; None: 200.

        Raises:
            ConfigError: A capture has a wrong field, or an HTTP answer cannot be read.
        """
        content = _to_utf8(content)
        raw = RawAnswer.parse(content)
        if raw is not None:
            return cls(
                provider=provider or "",
                status=raw.status,
                headers=raw.headers,
                blocks=(raw.body,),
                is_clean=raw.is_clean,
                notes=_ignored_status(status, raw.status),
            )
        capture = CaptureFile.parse(content)
        if capture is not None:
            return cls._captured(capture, provider, status)
        notes: tuple[str, ...] = ()
        if status is None:
            refuse_misplaced(content)
            notes = ("status 200, as the file has none and no --status was given",)
        return cls(provider=provider or "", status=status or 200, blocks=(content,), notes=notes)

    @classmethod
    def _captured(cls, capture: CaptureFile, provider: str | None, option: int | None) -> Recorded:
        return cls(
            provider=provider or capture.provider,
            status=capture.status,
            headers={name.lower(): value for name, value in capture.headers},
            blocks=(capture.body,) if capture.chunks is None else capture.chunks,
            is_clean=not capture.is_reset,
            notes=_ignored_status(option, capture.status),
        )

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.blocks)

    @property
    def content_type(self) -> str:
        """The content type in the headers, or else a guess from the body."""
        guess = "application/json" if self.body.lstrip()[:1] == b"{" else ""
        return self.headers.get("content-type", guess)

    def spoken_by(self, providers: Mapping[str, Provider]) -> Provider:
        """Return the provider that answered; an unknown one is made of its name and its wire."""
        name = self.provider
        provider = providers.get(name)
        if provider is not None:
            return self._other_wire_of(provider, providers) or provider
        if name.endswith(_FACADE):
            return Provider(name.removesuffix(_FACADE), "anthropic", "", None)
        return Provider(name, self.looks_like or self._guessed(), "", None)

    def _other_wire_of(
        self, provider: Provider, providers: Mapping[str, Provider]
    ) -> Provider | None:
        """Return the same vendor's provider with the answer's wire, if *provider* has another."""
        vendor, wire = vendor_of(provider), self.looks_like
        if wire in (None, provider.wire):
            return None
        others = (p for p in providers.values() if p.wire == wire and vendor_of(p) == vendor)
        return next(others, None)

    @property
    def names_somebody(self) -> bool:
        """True if the name of the provider is known, even if it is not in the catalog."""
        name = self.provider.removesuffix(_FACADE)
        return name in _WIRES or vendor_named(name) is not None

    @property
    def looks_like(self) -> Wire | None:
        """The wire of its events, whoever answered; None: it cannot be recognised."""
        return wire_of(self.body[:_LOOKED_AT])

    def _guessed(self) -> Wire:
        named = _WIRES.get(self.provider)
        is_anthropic = not self.provider and _ANTHROPIC_ERROR.search(self.body[:_LOOKED_AT])
        return named or ("anthropic" if is_anthropic else "openai-chat")


def wire_of(start: bytes) -> Wire | None:
    """Return the wire of the answer that begins with *start*; None: it cannot be recognised."""
    return next((wire for wire, sign in _SIGNS.items() if sign.search(start)), None)


def _to_utf8(content: bytes) -> bytes:
    """Return *content* in UTF-8, without a byte order mark."""
    if content.startswith(_BOMS):
        return content.decode("utf-16", "replace").encode()
    return content.removeprefix(codecs.BOM_UTF8)


def _ignored_status(option: int | None, status: int) -> tuple[str, ...]:
    is_other = option is not None and option != status
    return (f"status {status}, as the file says, and not {option} of --status",) if is_other else ()


@dataclass(slots=True)
class Outcome:
    """The result of reading a recorded answer.

    Args:
        failure: Why the answer failed; None: it is a whole answer.
        has_shown: Text, or the start of a call, had come.
        events: The number of events that were read.
    """

    failure: Failure | None = None
    has_shown: bool = False
    events: int = 0


def read(recorded: Recorded, provider: Provider, reading: Reading) -> Outcome:
    """Return the result of reading *recorded*, an answer of *provider*.

    Args:
        reading: A new `Reading` for *provider*. Its decoder holds the parts afterwards.
    """
    is_labelled = is_stream(recorded.status, recorded.content_type, provider.wire)
    is_stream_all_the_same = 200 <= recorded.status < 300 and is_event(recorded.body)
    if not (is_labelled or is_stream_all_the_same):
        return Outcome(
            failure_of_response(recorded.status, recorded.headers, recorded.body, provider=provider)
        )
    has_shown = False
    for deltas in _deltas(recorded, reading):
        has_shown |= any(isinstance(delta, _SHOWN) for delta in deltas)
    return Outcome(reading.failed, has_shown, reading.events)


def _deltas(recorded: Recorded, reading: Reading) -> Iterator[Sequence[Delta]]:
    for block in recorded.blocks:
        yield reading.feed(block)
    broken = (
        None
        if recorded.is_clean
        else Failure(kind=FailureKind.NETWORK, message="the connection broke")
    )
    yield reading.end(broken)
