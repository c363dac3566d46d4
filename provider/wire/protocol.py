"""What every wire has: encoder and decoder for providers, reader and writer for clients."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..conversation import Part, Usage
    from ..delta import Delta
    from ..failure import Failure
    from ..handover.handover import Handover
    from ..handover.target import Target
    from ..wire_name import Wire
    from .answer import Answer
    from .read_request import ReadRequest
    from .refusal import Refusal


class Decoder(Protocol):
    """Decodes the events of one attempt, and collects their content."""

    wire: ClassVar[Wire]
    model: str | None
    """The model that the provider reports."""
    request_id: str | None
    """The provider's id of the answer; None: the stream does not name it."""
    usage: Usage
    max_output_tokens: int | None
    """The longest answer that the request allows, to be set by who sends it; None: unknown."""
    follows_results: bool
    """The request ends in results of tools, so that an answer may be empty; to be set as well."""
    assumed: list[str]
    """What the provider did not say and was taken for granted, in half a sentence each."""
    is_done: bool
    """True once nothing more can come."""
    silent_output: int
    """The number of events with output but without a delta: arguments of calls, signatures."""
    unread: int
    """The number of pieces of output that are not kept, such as an image or a server's own tool."""
    stop_count: int
    """The number of stop reasons; some providers send several, with output between them."""

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None: it has not stopped yet."""

    @property
    def parts(self) -> list[Part]:
        """The parts so far. Before the end, unfinished reasoning is marked and has no signature,
        and open calls are left out."""

    def decode(self, data: bytes, event: bytes = b"") -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error, or cannot be read.
        """

    def take(self, value: Any) -> Sequence[Delta]:
        """Return the deltas of *value*, an event that was read already.

        Raises:
            ProviderError: The event is an error, or cannot be read.
        """

    def end(self, *, is_clean: bool = True) -> Sequence[Delta]:
        """Check the stream at the end of the body, and return the deltas that the end completes.

        Args:
            is_clean: False: the connection broke.

        Raises:
            ProviderError: The terminal marker is missing, or means failure.
        """


class Encoder(Protocol):
    """Encodes requests in one wire; each wire's module ``encode`` is one."""

    def path(self, target: Target) -> str:
        """Return the path that is appended to the provider's base URL."""

    def encode(self, handover: Handover) -> dict[str, Any]:
        """Return the body of the request."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers of this wire, with *key* if there is one."""


class Reader(Protocol):
    """Reads the requests of clients in one wire; each wire's module ``read`` is one."""

    def read(self, body: bytes | Mapping[str, Any], *, path: str = "") -> ReadRequest:
        """Return the request in *body*, which is JSON or was read already.

        Args:
            path: The path of the request with its query; Gemini's has the model in it.

        Raises:
            RequestError: The body is not a request of this wire; the message says where.
        """


class Writer(Protocol):
    """Writes one answer for a client, as a stream or as one object.

    A stream is `start`, then `feed` for each block of deltas, then `end` or `error`. An answer that
    was held back until it was whole needs no `feed`: then `end` writes all of its parts, with the
    proofs that `feed` cannot know. `ping` may stand anywhere, also before `start`.
    """

    wire: ClassVar[Wire]

    def __init__(
        self,
        *,
        model: str,
        answer_id: str = "",
        created: int = 0,
        wants_usage: bool = True,
        is_array: bool = False,
    ) -> None:
        """Make a writer for one answer.

        Args:
            model: The name of the model that the client asked for.
            answer_id: The id of the answer; empty: a new one.
            created: When the answer was made, in whole seconds of the epoch.
            wants_usage: See `ReadRequest`.
            is_array: See `ReadRequest`.
        """

    def start(self) -> bytes:
        """Return the beginning of a stream."""

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Return the events for *deltas*; empty if there are none."""

    def end(self, answer: Answer) -> bytes:
        """Return the rest of a stream, with the terminal marker."""

    def error(self, failure: Failure) -> bytes:
        """Return the end of a stream that fails after it has begun."""

    def ping(self) -> bytes:
        """Return what keeps an idle stream alive, and means nothing."""

    def whole(self, answer: Answer) -> bytes:
        """Return *answer* as one JSON object, for a request without a stream."""

    @staticmethod
    def refusal(failure: Failure, *, is_streamed: bool = False) -> Refusal:
        """Return the response to a request that failed before a byte was sent.

        Args:
            is_streamed: The client asked for a stream.
        """


def new_call_id() -> str:
    """Return a new id for a call without an id; every wire accepts its form."""
    return f"call_{os.urandom(12).hex()}"
