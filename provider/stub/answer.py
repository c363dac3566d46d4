"""What the stub may answer, as a scenario says it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..conversation import ToolCall, Usage
    from .capture import Capture


@dataclass(frozen=True, slots=True)
class StreamError:
    """The stream brings an error object, and ends.

    Args:
        error: The object as the provider spells it, or a status, which is put in its own words.
    """

    error: int | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Cut:
    """The body ends in good order, but without the finish and the terminal marker."""


@dataclass(frozen=True, slots=True)
class Abort:
    """The connection is closed in the middle of the body."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset in the middle of the body."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing more comes, and the connection stays open until the client leaves.

    Args:
        keepalive: Seconds between comments (pings on anthropic, empty lines on gemini); None sends
            none.
    """

    keepalive: float | None = None


Fault = StreamError | Cut | Abort | Reset | Stall


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A reply of the model, whole or broken off by one fault.

    Args:
        signature: Proof on the reasoning; None lets the stub issue one.
        chunk: Characters in one delta.
        pace: Seconds between two events.
        delay: Seconds before the response begins.
        comments: How many comments, or what stands for them, come before the first event.
        usage: None lets the stub estimate it.
        stop: The provider's word for why it stopped; None follows from the answer.
        after: How many output deltas come before the fault; 0 plays it before the first event,
            None after the last delta. A delta counts if it carries text, reasoning or arguments;
            on gemini a call is one.
    """

    text: str = ""
    reasoning: str = ""
    signature: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    chunk: int = 16
    pace: float = 0.0
    delay: float = 0.0
    comments: int = 0
    usage: Usage | None = None
    stop: str | None = None
    fault: Fault | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusAnswer:
    """An HTTP status with its body.

    Args:
        body: An object is sent as JSON, a string as it is; None is put in the provider's words.
        delay: Seconds before the response begins.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, object] | str | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class CaptureAnswer:
    """A recorded answer, byte for byte.

    Args:
        delay: Seconds before the response begins.
    """

    capture: Capture
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class RefusedConnection:
    """Nothing listens at the provider of this route."""


Answer = ModelAnswer | StatusAnswer | CaptureAnswer | RefusedConnection
