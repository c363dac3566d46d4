"""The facts about one route that the shape of its requests depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .tool_id import CHAT_IDS
from .tool_name import OPENAI_NAMES

if TYPE_CHECKING:
    from ..catalog.model import Thinking
    from ..conversation import Effort, Reasoning
    from ..route import Route
    from ..wire_name import Wire
    from .tool_id import IdForm
    from .tool_name import NameForm

ReasoningForm = Literal[
    "signature", "unsigned", "encrypted", "details", "text", "as issued", "none"
]
"""What the API requires of its own reasoning when it comes back.

``signature``: its signature. ``unsigned``: the text, with the signature if there was one.
``encrypted``: the encrypted form. ``details``: the list of details. ``text``: the text alone.
``as issued``: whatever the route issued, in the fields in which it came.
``none``: it takes no reasoning back.
"""

EffortForm = Literal["openai", "gpt-oss", "openrouter", "deepseek", "zai", "as asked"]
"""The form in which an API that speaks Chat Completions is asked for an effort.

``openai``: ``reasoning_effort``, with the efforts of the model. ``gpt-oss``: likewise, with the
efforts of gpt-oss. ``openrouter``: an object ``reasoning``. ``deepseek``: a switch, and
``reasoning_effort`` beside it. ``zai``: the switch alone. ``as asked``: ``reasoning_effort``, with
whatever effort was asked for.
"""

PLACEHOLDER = "(The reasoning before this call is not kept.)"
"""Placeholder for reasoning that the API requires, and another route's answer does not have."""

PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""Placeholder for a signature that Gemini requires. Gemini takes two such words, and Vertex only
this one. Source: ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-29."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What one route accepts.

    Args:
        vendor: The vendor of its API; see `vendor_of`.
        reasoning_form: In what form its own reasoning goes back.
        is_chained: Its reasoning is valid only together with all reasoning before it.
        signs_calls: The signature of its own call goes back with the call.
        missing_signature: Placeholder for a required call signature that is missing; None:
            signatures are optional.
        missing_reasoning: Placeholder for required reasoning that is missing; None: reasoning is
            optional.
        reasons_before_calls: Only messages that call tools must have reasoning.
        ids: The form of the ids of tool calls.
        names: The form of the names of tools.
        takes_images: The user can send pictures.
        refused_images: The images that the API refused; see `image_digest`.
        filtered_messages: The messages that a content filter refused; see `message_digest`.
        plain_messages: How many messages, from the first, it gets as plain text.
        longest_text: Bytes of the longest text, output or arguments; None: unknown.
        longest_arguments: Bytes of the longest arguments of a call; None: as of a text.
        longest_output: Bytes of the longest text in a result; None: as of a text.
        longest_description: Bytes of the longest description of a tool; None: unknown.
        images_in_results: The result of a tool can hold pictures; otherwise they follow in a user
            message.
        images_in_errors: The result of a tool that failed can hold pictures.
        begins_with_user: The first message must be the user's.
        takes_system_later: Instructions can stand between messages.
        declares_called_tools: If tools were called, at least one must be declared.
        thinking: How a request asks for thinking.
        can_disable_thinking: A request can switch thinking off.
        can_force_tool: A request can force a tool call.
        thinking_excludes_forcing: If it is asked to think, no tool can be forced.
        thinking_excludes_sampling: If it is asked to think, it takes no sampling.
        takes_sampling: It takes ``temperature`` and ``top_p``.
        sampling_efforts: The efforts at which it takes them nevertheless; None stands for no
            effort.
        takes_temperature_and_top_p: It takes both of them at once.
        token_limit: The name of the parameter for the longest answer.
        max_answer_tokens: The longest answer that it can write; None: unknown.
        efforts: The efforts that its API named; empty: unknown.
        markers: How many cache markers a request can hold; 0: none.
        unsupported_parameters: Names of parameters that are left out of a request.
        is_plain: Content is a string, never a list of parts (Chat).
        bridges_results: An answer must stand between the results of tools and a user message.
        joins_neighbours: Neighbours of one role must be one message (Chat).
        has_developer_role: Instructions to a thinking model have the role ``developer`` (Chat).
        reasoning_in_content: How reasoning goes back inside the content; None: it has its own
            field (Chat).
        takes_openai_schemas: Schemas of tools must have the form that OpenAI checks (Chat).
        reasoning_field: The field for reasoning, unless it came in another (Chat).
        effort_form: How a request asks for an effort; None: it cannot (Chat).
        takes_cache_key: It takes ``prompt_cache_key`` (Chat and Responses).
    """

    route: Route
    wire: Wire
    vendor: str
    reasoning_form: ReasoningForm = "none"
    is_chained: bool = False
    signs_calls: bool = False
    missing_signature: str | None = None
    missing_reasoning: str | None = None
    reasons_before_calls: bool = True
    ids: IdForm = CHAT_IDS
    names: NameForm = OPENAI_NAMES
    takes_images: bool = True
    refused_images: frozenset[str] = frozenset()
    filtered_messages: frozenset[str] = frozenset()
    plain_messages: int = 0
    longest_text: int | None = None
    longest_arguments: int | None = None
    longest_output: int | None = None
    longest_description: int | None = None
    images_in_results: bool = False
    images_in_errors: bool = False
    begins_with_user: bool = False
    takes_system_later: bool = False
    declares_called_tools: bool = False
    thinking: Thinking = "none"
    can_disable_thinking: bool = True
    can_force_tool: bool = True
    thinking_excludes_forcing: bool = False
    thinking_excludes_sampling: bool = False
    takes_sampling: bool = True
    sampling_efforts: frozenset[Effort | None] = frozenset()
    takes_temperature_and_top_p: bool = True
    token_limit: str = "max_tokens"  # noqa: S105 - the name of a parameter
    max_answer_tokens: int | None = None
    efforts: tuple[Effort, ...] = ()
    markers: int = 0
    unsupported_parameters: frozenset[str] = frozenset()
    is_plain: bool = False
    bridges_results: bool = False
    joins_neighbours: bool = False
    has_developer_role: bool = False
    reasoning_in_content: Literal["chunks", "tag"] | None = None
    takes_openai_schemas: bool = False
    reasoning_field: str = "reasoning_content"
    effort_form: EffortForm | None = None
    takes_cache_key: bool = False

    def why_not_accepted(self, reasoning: Reasoning) -> str | None:
        """Return why the route does not accept its own *reasoning* back; None: it does."""
        if not reasoning.complete:
            return "it is not finished"
        # Only Anthropic's wire has a place for redacted reasoning.
        redacted = reasoning.redacted if self.wire == "anthropic" else None
        match self.reasoning_form:
            case "signature" if not (reasoning.signature or redacted):
                return "it has no signature"
            case "unsigned" if not (reasoning.text or reasoning.signature or redacted):
                return "it is empty"
            case "encrypted" if not (reasoning.encrypted and reasoning.item_id):
                return "it has no encrypted form"
            case "details" if not reasoning.details:
                return "it has no details"
            case "text" if not reasoning.text:
                return "it is empty"
            case "as issued" if not (reasoning.text or reasoning.details or reasoning.encrypted):
                return "it is empty"
            case "none":
                return "this API takes none back"
            case _:
                return None

    def samples_at(self, effort: Effort | None) -> bool:
        """True if it takes ``temperature`` and ``top_p`` when it is asked for *effort*."""
        if self.thinking_excludes_sampling and effort not in {None, "none"}:
            return False
        return self.takes_sampling or effort in self.sampling_efforts

    def longest(self, wanted: int) -> int:
        """Return *wanted*, or the longest answer in tokens if that is less."""
        return wanted if self.max_answer_tokens is None else min(wanted, self.max_answer_tokens)
