"""What the stub can answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..conversation import ToolCall, Usage
    from .capture import Capture


@dataclass(frozen=True, slots=True)
class StreamError:
    """The stream sends an error object and ends.

    Args:
        error: The object as the provider spells it, or a status, for the provider's own error.
    """

    error: int | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Cut:
    """The HTTP body ends properly, but without the finish and the terminal marker."""


@dataclass(frozen=True, slots=True)
class Abort:
    """The connection is closed in the middle of the body."""


@dataclass(frozen=True, slots=True)
class ConnectionReset:
    """The connection is reset in the middle of the body."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing more is sent, and the connection stays open until the client closes it.

    Args:
        keepalive: Seconds between comments (pings on anthropic, empty lines on gemini). None: no
            comments.
    """

    keepalive: float | None = None


Fault = StreamError | Cut | Abort | ConnectionReset | Stall


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A reply of the model, complete or cut short by one fault.

    Args:
        signature: Signature of the reasoning. None: the stub issues one.
        chunk: Characters in one delta.
        pace: Seconds between two events.
        delay: Seconds before the response begins.
        comments: How many comments (or pings, or empty lines) come before the first event.
        usage: None: the stub estimates it.
        stop: The provider's word for why the model stopped. None: the word that fits the answer.
        after: How many output deltas come before the fault. 0 plays it before the first event,
            None after the last delta. A delta counts if it carries text, reasoning or arguments;
            on gemini a whole call is one.
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
        body: An object is sent as JSON, a string as it is. None: the provider's own error.
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
    """Nothing listens at the port of this route's provider."""


Answer = ModelAnswer | StatusAnswer | CaptureAnswer | RefusedConnection
