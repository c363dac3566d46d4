"""A provider: where its routes are served, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from ..wire_name import Wire

if TYPE_CHECKING:
    from ..fact import Fact

Capability = Literal["tool_calling", "streaming", "structured_output", "images", "reasoning"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
"""What a route may be said to have."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a provider may be silent, in seconds.

    Args:
        connect: To open a connection.
        first_event: From the start of the request to the first output.
        gap: From one piece of output to the next.
    """

    connect: float = 10.0
    first_event: float = 120.0
    gap: float = 60.0


@dataclass(frozen=True, slots=True)
class Provider:
    """Where the routes of one provider are served, and how one speaks to it.

    Args:
        wire: How its API spells things.
        base_url: What the wire's path is appended to.
        api_key_env: The environment variable that holds the key; None where none is needed.
        boundary: Where its data may go, in the operator's own word; None says nothing.
        context_window: Tokens that a request and its answer may take; None is unknown.
        capabilities: What its models have, of `CAPABILITIES`; None says nothing.
        failures: What its failures mean beyond what we know, or in spite of it; read first.
    """

    name: str
    wire: Wire
    base_url: str
    api_key_env: str | None
    timeouts: Timeouts = Timeouts()
    boundary: str | None = None
    context_window: int | None = None
    capabilities: frozenset[str] | None = None
    failures: tuple[Fact, ...] = field(default=(), hash=False)  # mappings in them have no hash

    @property
    def says_what_it_takes(self) -> bool:
        """Something is said of it that may keep a step away."""
        told = (self.boundary, self.context_window, self.capabilities)
        return any(each is not None for each in told)
