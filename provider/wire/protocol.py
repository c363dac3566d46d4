"""What the two sides of every wire have in common: how we read it, and what a decoder offers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..conversation import Part, Usage
    from ..delta import Delta
    from ..handover.handover import Handover
    from ..handover.target import Target


class Decoder(Protocol):
    """Reads the events of one attempt, and keeps what it has read."""

    model: str | None
    """The model that the provider says it used."""
    request_id: str | None
    """The provider's id of the answer, where the stream names one."""
    usage: Usage
    is_done: bool
    """Nothing more can come."""
    silent_output: int
    """How many events brought output that no delta shows: arguments of calls, signatures."""
    stop_count: int
    """How many reasons for the end came; some providers send several, and output between them."""

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None while it has not."""

    @property
    def parts(self) -> list[Part]:
        """What came so far. Before the end, reasoning is marked unfinished where it is, and has
        no signature then; calls that are not closed are left out."""

    def decode(self, data: bytes, event: bytes = b"") -> Sequence[Delta]:
        """Read one event.

        Raises:
            ProviderError: It is an error, or cannot be read.
        """

    def end(self, *, is_clean: bool = True) -> Sequence[Delta]:
        """Judge the stream where the body ended; give the deltas that its end completes.

        Args:
            is_clean: False where the connection broke.

        Raises:
            ProviderError: No terminal marker came, or one that means failure.
        """


class Encoder(Protocol):
    """What spells a request in one wire: a module."""

    def path(self, target: Target) -> str:
        """Return what is appended to the provider's base URL."""

    def encode(self, handover: Handover) -> dict[str, Any]:
        """Build the body of the request."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Name the headers that this wire needs; without *key* none that proves who we are."""


def new_call_id() -> str:
    """Make an id for a call that came without one; every wire accepts its form."""
    return f"call_{os.urandom(12).hex()}"
