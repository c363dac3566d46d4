"""A provider: where its routes are served, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from ..fact import Fact
from ..wire_name import Wire

Capability = Literal["tool_calling", "streaming", "structured_output", "images", "reasoning"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
"""The capabilities that a configuration can name."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a provider may be silent, in seconds.

    Args:
        connect: Time to open a connection.
        first_event: Time from the start of the request to the first output.
        gap: Time from one piece of output to the next.
    """

    connect: float = 10.0
    first_event: float = 120.0
    gap: float = 60.0


@dataclass(frozen=True, slots=True)
class Provider:
    """Where one provider serves its routes, and how to speak to it.

    Args:
        wire: The wire of its API.
        base_url: The address to which the wire's path is appended.
        api_key_env: The environment variable that holds the key, or several, each with a key of
            its own, the preferred one first; None: no key is needed.
        boundary: Where its data may go, in the operator's own word; None: not stated.
        context_window: Tokens that a request and its answer can have; None: unknown.
        capabilities: What its models have, of `CAPABILITIES`; None: not stated.
        failures: The configuration's facts about its failures; read before ours.
    """

    name: str
    wire: Wire
    base_url: str
    api_key_env: str | tuple[str, ...] | None
    timeouts: Timeouts = Timeouts()
    boundary: str | None = None
    context_window: int | None = None
    capabilities: frozenset[str] | None = None
    failures: tuple[Fact, ...] = field(
        default=(), hash=False
    )  # facts hold mappings, which have no hash

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables that hold its keys, in order; empty: no key is needed."""
        if isinstance(self.api_key_env, str):
            return (self.api_key_env,)
        return self.api_key_env or ()

    def why_keyless(self) -> str:
        """Return that none of its `key_variables` is set, as half a sentence."""
        *others, last = self.key_variables
        return f"neither {', '.join(others)} nor {last} is set" if others else f"{last} is not set"

    @property
    def has_limits(self) -> bool:
        """True if a boundary, context window or capability is known, which a step may not fit."""
        facts = (self.boundary, self.context_window, self.capabilities)
        return any(fact is not None for fact in facts)
