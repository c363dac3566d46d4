"""Messages and the typed pieces they are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .route import Route


@dataclass(slots=True)
class Text:
    """What the user wrote or the model answered.

    Args:
        text: May be empty beside a signature, which then ends the answer.
        signature: Gemini's opaque proof; it stays on the very part that it came with.
        item_id: The id of the Responses item; good only after the reasoning it was made with.
    """

    text: str
    signature: str | None = None
    item_id: str | None = None


@dataclass(slots=True)
class Reasoning:
    """The model's thinking, whatever its provider calls it.

    Args:
        text: The readable thinking; may be empty beside a signature.
        signature: The provider's opaque proof, good only on the route that issued it. Never set
            on an unfinished block.
        redacted: Anthropic's encrypted thinking, in place of text.
        details: OpenRouter's ``reasoning_details``, merged, as they must be sent back.
        complete: False for a block that the stream did not finish.
        encrypted: The encrypted thinking of Responses, beside what can be read of it.
        item_id: The id of the Responses item.
    """

    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    details: Sequence[Mapping[str, Any]] = ()
    complete: bool = True
    encrypted: str | None = None
    item_id: str | None = None


ToolState = Literal["pending", "running", "completed", "error", "interrupted"]


@dataclass(slots=True)
class ToolCall:
    """A call that the model made, and its own result.

    Args:
        output: What the tool said; None until it has run.
        signature: Gemini's opaque proof; of parallel calls only the first has one.
        item_id: The id of the Responses item; the result names ``id``, not this one.
    """

    id: str
    name: str
    input: dict[str, Any]
    state: ToolState = "pending"
    output: str | None = None
    is_error: bool = False
    signature: str | None = None
    item_id: str | None = None


Part = Text | Reasoning | ToolCall


@dataclass(slots=True)
class Message:
    """One message of a conversation.

    Args:
        route: The route that answered; on a failed step the one that was asked for. None for
            what the user or the agent wrote.
        requested: The route that the agent asked for.
    """

    role: Literal["system", "user", "assistant"]
    parts: list[Part]
    route: Route | None = None
    requested: Route | None = None


@dataclass(slots=True)
class Usage:
    """Tokens, as the provider counted them; None where it did not say."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


@dataclass(slots=True)
class Conversation:
    """What a request is made of, for any route.

    Args:
        max_output_tokens: Longest answer, in tokens; None leaves it to the provider, or to
            4096 where the wire demands a number.
    """

    messages: list[Message] = field(default_factory=list)
    max_output_tokens: int | None = None
