"""Messages and their parts: the conversation as all routes share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .route import Route


@dataclass(slots=True)
class Text:
    """A text of the user or of the model.

    Args:
        text: Empty only for a final signature without text.
        signature: Gemini's opaque proof; it stays on the part that it came with.
        item_id: The id of the Responses item; valid only after the reasoning that it came with.
        phase: ``commentary`` or ``final_answer`` (Responses); it goes back with the text, because
            the model does worse without it.
    """

    text: str
    signature: str | None = None
    item_id: str | None = None
    phase: str | None = None


@dataclass(slots=True)
class Image:
    """A picture, from the user or from a tool.

    Args:
        media_type: Such as ``image/png``.
        data: The file in base64.
    """

    media_type: str
    data: str


@dataclass(slots=True)
class Reasoning:
    """The model's thinking, whatever its provider calls it.

    Args:
        text: The readable thinking; can be empty if there is a signature.
        signature: The provider's opaque proof, valid only on the route that issued it. Never set
            on an unfinished block.
        redacted: Anthropic's encrypted thinking, in place of text.
        details: OpenRouter's ``reasoning_details``, merged, in the form in which they go back.
        complete: False for a block that the stream did not finish.
        encrypted: The encrypted thinking of Responses, in addition to the readable text.
        item_id: The id of the Responses item.
        field_name: The field in which the text came, and goes back; None: the usual one.
    """

    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    details: Sequence[Mapping[str, Any]] = ()
    complete: bool = True
    encrypted: str | None = None
    item_id: str | None = None
    field_name: str | None = None


ToolState = Literal["pending", "running", "completed", "error", "interrupted"]
Output = str | list[Text | Image]
"""The output of a tool: text, or texts and pictures in order."""


@dataclass(slots=True)
class ToolCall:
    """A tool call of the model, with its result.

    Args:
        output: The output of the tool; None until it has run.
        signature: Gemini's opaque proof; only the first of parallel calls has one.
        item_id: The id of the Responses item; the result refers to ``id``, not to this id.
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
"""A part that a model can write."""

Part = ModelPart | Image


@dataclass(slots=True)
class Usage:
    """Tokens as the provider counted them; None: it did not report them."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """The outcome of one attempt at an answer.

    Args:
        number: The number of the attempt in its step, from 1.
        kind: Why it failed, a word of `FailureKind`; None: it succeeded.
        status: The effective HTTP status of the failure; None: it has none.
        seconds: Duration of the attempt.
        waited: Seconds slept before the attempt.
        input: Tokens sent, including those read from a cache; None: not counted.
        output: Tokens written; None: not counted.
        money: US dollars; None: no price was looked up, or none is known.
        is_estimated: Some of the tokens are estimated, because the provider did not count them.
        api_key_env: The variable with the key that was sent; None: no key was needed.
        cold_tokens: Input tokens that the route had no cache of, because the conversation has just
            moved there; None: it has not.
        cold_money: Their price in US dollars; None: not known.
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
    api_key_env: str | None = None
    cold_tokens: int | None = None
    cold_money: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """A route or key that was degraded when a message was stored.

    Args:
        name: The route; or its provider, if the key is degraded with all routes.
        until: When the cooldown ends, in seconds since 1970.
        cooldowns: Consecutive cooldowns so far, this one included.
        kind: Why the last attempt failed, a word of `FailureKind`; None: not known.
        api_key_env: The variable of the key; None: the provider has one key or none.
    """

    name: str
    until: float
    cooldowns: int = 1
    kind: str | None = None
    api_key_env: str | None = None


@dataclass(slots=True)
class Message:
    """One message of a conversation.

    Args:
        route: The route that answered; on a failed step the requested route. None: the user or
            the agent wrote the message.
        requested: The route that the agent requested.
        usage: The tokens of the answer; None: not counted.
        attempts: Every attempt at the answer in order, including failed ones.
        cooldowns: The routes and keys that were degraded when the message was stored, for a
            session that is resumed.
    """

    role: Literal["system", "user", "assistant"]
    parts: list[Part]
    route: Route | None = None
    requested: Route | None = None
    usage: Usage | None = None
    attempts: Sequence[AttemptRecord] = ()
    cooldowns: Sequence[Cooldown] = ()

    @property
    def has_calls(self) -> bool:
        """True if the message calls tools, so that results follow it."""
        return any(isinstance(part, ToolCall) for part in self.parts)


@dataclass(slots=True)
class ToolSpec:
    """The declaration of a tool that a model may call.

    Args:
        input_schema: JSON Schema of the arguments; its type is ``object``.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model should think; ``none``: not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a request for any model; those that a model does not take are left out.

    Args:
        max_output_tokens: Longest answer, in tokens; None leaves it to the provider, or means
            4096 if the wire requires a number.
        reasoning: None leaves it to the model.
        temperature: None leaves it to the provider.
        top_p: None leaves it to the provider.
        tool_choice: ``auto``, ``none``, ``required``, or the name of the tool to call; None
            leaves it to the provider.
        parallel_tool_calls: False: at most one call in one answer. None leaves it to the
            provider.
        cache_key: A key that all requests of one conversation share, by which a provider finds
            its cache. Only OpenAI takes it.
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
    """The messages, tools and settings that a request for any route is made from."""

    messages: list[Message] = field(default_factory=list)
    tools: Sequence[ToolSpec] = ()
    settings: Settings = Settings()
