"""The facts about one route that the shape of its requests depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .tool_id import CHAT_IDS
from .tool_name import OPENAI_NAMES

if TYPE_CHECKING:
    from ..catalog.model import Thinking
    from ..conversation import Reasoning
    from ..route import Route
    from ..wire_name import Wire
    from .tool_id import IdForm
    from .tool_name import NameForm

ReasoningForm = Literal["signature", "unsigned", "encrypted", "details", "text", "none"]
"""What the API wants of its own reasoning when it gets it back.

``signature``: its signature. ``unsigned``: the text, with a signature where it gave one.
``encrypted``: the encrypted form. ``details``: the list of details. ``text``: the text alone.
``none``: it takes none back.
"""

EffortForm = Literal["openai", "gpt-oss", "openrouter", "deepseek", "zai"]
"""The form in which an API that speaks Chat Completions is asked for an effort.

``openai``: ``reasoning_effort``, with the efforts of the model. ``gpt-oss``: likewise, with the
efforts of gpt-oss. ``openrouter``: an object ``reasoning``. ``deepseek``: a switch, and
``reasoning_effort`` beside it. ``zai``: the switch alone.
"""

PLACEHOLDER = "(The reasoning before this call is not kept.)"
"""Stands where an API demands reasoning that the route which answered did not leave."""

PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""Stands where Gemini demands a signature; of the two words that pass for one, this does so on
Vertex as well. Source: ai.google.dev/gemini-api/docs/thought-signatures, read on 2026-11-29."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What one route takes.

    Args:
        vendor: Whose API it is; see `vendor_of`.
        reasoning_form: In what form its own reasoning goes back.
        is_chained: Its reasoning is good only after all the reasoning that came before.
        signs_calls: The signature of its own call goes back on it.
        missing_signature: Stands on a call for the signature that it must have and has not;
            None where no call must have one.
        missing_reasoning: Stands for the reasoning that a message must have and has not; None
            where no message must.
        reasons_before_calls: Only a message that calls tools must have reasoning.
        ids: What the ids of tool calls look like.
        names: What names of tools look like.
        takes_images: The user may send pictures.
        images_in_results: A tool's result may hold pictures; elsewhere they follow in a message
            of the user's.
        images_in_errors: So may the result of a tool that failed.
        begins_with_user: The first message must be the user's.
        takes_system_later: Instructions may stand between messages.
        declares_called_tools: Where tools were called some must be declared.
        thinking: How it is told to think.
        can_disable_thinking: It can be told not to think.
        can_force_tool: It can be told to call a tool.
        thinking_excludes_forcing: While it thinks it cannot be forced, and takes no sampling.
        takes_sampling: It takes ``temperature`` and ``top_p``.
        takes_temperature_and_top_p: It takes these two at once.
        token_limit: What it calls the length of the longest answer.
        max_answer_tokens: The longest answer that it gives; None is unknown.
        markers: How many cache markers a request may hold; 0 where it takes none.
        unsupported_parameters: Names of parameters that are left out of a request.
        is_plain: Content goes as a string, never as a list of parts.
        bridges_results: After results of tools comes an answer, before the user speaks.
        joins_neighbours: Neighbours of one role must be one message (Chat).
        has_developer_role: While it thinks, instructions have the role ``developer`` (Chat).
        reasoning_in_content: How reasoning goes back inside the content; None: it has a field of
            its own (Chat).
        takes_openai_schemas: Schemas of tools must have the form that OpenAI checks (Chat).
        effort_form: How it is asked for an effort; None: it cannot be asked (Chat).
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
    images_in_results: bool = False
    images_in_errors: bool = False
    begins_with_user: bool = False
    takes_system_later: bool = False
    declares_called_tools: bool = False
    thinking: Thinking = "none"
    can_disable_thinking: bool = True
    can_force_tool: bool = True
    thinking_excludes_forcing: bool = False
    takes_sampling: bool = True
    takes_temperature_and_top_p: bool = True
    token_limit: str = "max_tokens"  # noqa: S105 - the name of a parameter
    max_answer_tokens: int | None = None
    markers: int = 0
    unsupported_parameters: frozenset[str] = frozenset()
    is_plain: bool = False
    bridges_results: bool = False
    joins_neighbours: bool = False
    has_developer_role: bool = False
    reasoning_in_content: Literal["chunks", "tag"] | None = None
    takes_openai_schemas: bool = False
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
            case "none":
                return "this API takes none back"
            case _:
                return None

    def longest(self, wanted: int) -> int:
        """Return how long an answer may be that is *wanted* so long, in tokens."""
        return wanted if self.max_answer_tokens is None else min(wanted, self.max_answer_tokens)
