"""Messages and the typed pieces they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .route import Route


@dataclass(slots=True)
class Text:
    """What the user wrote or the model answered.

    Args:
        text: May be empty beside a signature, which then ends the answer.
        signature: Gemini's opaque proof; it stays on the very part that it came with.
        item_id: The id of the Responses item; good only after the reasoning it was made with.
        phase: What Responses calls it, ``commentary`` or ``final_answer``; it stays with the text,
            without which the model does worse.
    """

    text: str
    signature: str | None = None
    item_id: str | None = None
    phase: str | None = None


@dataclass(slots=True)
class Image:
    """A picture, from the user or from a tool.

    Args:
        media_type: As ``image/png``.
        data: The file in base64.
    """

    media_type: str
    data: str


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
Output = str | list[Text | Image]
"""What a tool said: text, or texts and pictures in order."""


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
    output: Output | None = None
    is_error: bool = False
    signature: str | None = None
    item_id: str | None = None


ModelPart = Text | Reasoning | ToolCall
"""What a model can write."""

Part = ModelPart | Image


@dataclass(slots=True)
class Usage:
    """Tokens, as the provider counted them; None where it did not say."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """What became of one attempt at an answer.

    Args:
        number: Which attempt of its step it was, from 1.
        kind: Why it failed, a word of `FailureKind`; None for the one that answered.
        status: The effective HTTP status of the failure; None where there is none.
        seconds: How long it took.
        waited: Seconds that were slept before it.
        input: Tokens sent, those that a cache had as well; None where nobody counted.
        output: Tokens written; None where nobody counted.
        money: US dollars; None where no price was looked up, or none is known.
        is_estimated: The provider left some of the tokens to be estimated.
    """

    route: Route
    number: int
    kind: str | None = None
    status: int | None = None
    seconds: float = 0.0
    waited: float = 0.0
    input: int | None = None
    output: int | None = None
    money: float | None = None
    is_estimated: bool = False


@dataclass(slots=True)
class Message:
    """One message of a conversation.

    Args:
        route: The route that answered; on a failed step the one that was asked for. None for
            what the user or the agent wrote.
        requested: The route that the agent asked for.
        usage: What the answer took; None where nobody counted.
        attempts: Every attempt at the answer, the failed ones as well, in order.
    """

    role: Literal["system", "user", "assistant"]
    parts: list[Part]
    route: Route | None = None
    requested: Route | None = None
    usage: Usage | None = None
    attempts: Sequence[AttemptRecord] = ()

    @property
    def has_calls(self) -> bool:
        """It calls tools, so that their results follow it."""
        return any(isinstance(part, ToolCall) for part in self.parts)


@dataclass(slots=True)
class ToolSpec:
    """What a model is told of a tool that it may call.

    Args:
        input_schema: JSON Schema of its arguments, whose type is ``object``.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model is to think; ``none`` asks it not to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is asked of a model, whichever it is; what it does not take is left out.

    Args:
        max_output_tokens: Longest answer, in tokens; None leaves it to the provider, or to
            4096 where the wire demands a number.
        reasoning: None leaves it to the model.
        temperature: None leaves it to the provider.
        top_p: None leaves it to the provider.
        tool_choice: ``auto``, ``none``, ``required``, or the name of the tool to call; None
            leaves it to the provider.
        parallel_tool_calls: False: at most one call in one answer. None leaves it to the
            provider.
        cache_key: What requests of one conversation have in common, for a provider that looks
            for its cache by it. Only OpenAI is told.
    """

    max_output_tokens: int | None = None
    reasoning: Effort | None = None
    temperature: float | None = None
    top_p: float | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    cache_key: str | None = None


@dataclass(slots=True)
class Conversation:
    """What a request is made of, for any route."""

    messages: list[Message] = field(default_factory=list)
    tools: Sequence[ToolSpec] = ()
    settings: Settings = Settings()
