"""What the wires of the stub share: what was asked, and an answer on its way to bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...catalog.vendor import vendor_named
from ...conversation import ModelPart, Reasoning, Text, ToolCall, Usage
from ...json_value import listed
from ..signature.anthropic import prefix_of
from ..signature.issuer import Issuer
from ..signature.openai_responses import item_id
from ..strict.model_facts import binds_prefix
from ..vendor_error import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...route import Route
    from ..answer import ModelAnswer
from ..vendor_error import Dialect

CREATED = 1764400000
"""When every answer was made, so that it depends on its request alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StubRequest:
    """What of a request its answer depends on.

    Args:
        number: Which request on this route it is, counted from 1.
        body: All of it, as it was parsed.
        wants_usage: A chat request asked for a chunk with the usage.
        prompt_tokens: How large it is, roughly.
        issuer: Who makes the proofs on the answer.
    """

    route: Route
    dialect: Dialect
    number: int = 1
    body: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    is_stream: bool = True
    wants_usage: bool = True
    prompt_tokens: int = 1
    issuer: Issuer = field(default_factory=Issuer)

    @property
    def vendor(self) -> str:
        """Whose API is asked; one that is not known is its own vendor."""
        return vendor_named(self.route.provider) or self.route.provider

    def id(self, prefix: str, *more: object) -> str:
        """An id that is the same for the same request, and unlike any other."""
        return prefix + self._digest(*more).hex()[:24]

    def item_id(self, prefix: str, index: int, *, is_after: bool = False) -> str:
        """The id of an item of Responses, which says whether reasoning came before it."""
        nonce = self.id("", "items")
        return item_id(self.issuer, self.route, prefix, nonce, index, is_after=is_after)

    def signature(self, content: object) -> str:
        """The proof that the stub issues on *content*: for this route only.

        Where the model binds its thinking, it is good only after this request as well.
        """
        is_bound = self.dialect == "anthropic" and binds_prefix(self.vendor, self.route.model)
        prefix = prefix_of(self.body) if is_bound else None
        return self.issuer.issue(self.route, content, prefix)

    def _digest(self, *more: object) -> bytes:
        # How long the conversation is tells apart the answers of two stubs to one agent.
        length = sum(len(listed(self.body.get(key))) for key in ("messages", "input", "contents"))
        key = "\0".join(map(str, (self.route, self.number, length, *more)))
        return hashlib.sha256(key.encode(errors="surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it is written.

    Args:
        is_output: It brings text, reasoning or arguments.
    """

    data: bytes
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer as events.

    Args:
        frames: All up to the finish.
        finish: The finish and the terminal marker.
    """

    frames: tuple[Frame, ...]
    finish: tuple[Frame, ...]


class StubWire(Protocol):
    """One wire that the stub answers in: the module that spells it."""

    def stream(self, answer: ModelAnswer, request: StubRequest, /) -> Streamed:
        """Spell *answer* as events."""

    def whole(self, answer: ModelAnswer, request: StubRequest, /) -> dict[str, object]:
        """Spell *answer* as one object."""

    def error_frames(
        self, error: Mapping[str, object], request: StubRequest, sent: int, /
    ) -> tuple[Frame, ...]:
        """Spell *error* as what ends a stream after *sent* events."""


class Counts(NamedTuple):
    """Tokens of an answer.

    Args:
        input: Without those that the cache took or gave.
        reasoning: How many of the output.
    """

    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int

    @property
    def prompt(self) -> int:
        """All that went in, cached or not."""
        return self.input + self.cache_read + self.cache_write


def parts_of(answer: ModelAnswer, request: StubRequest) -> list[ModelPart]:
    """The parts of *answer*, with the ids and the signature that it leaves to the stub.

    Reasoning of Responses is proved by its encrypted form, which belongs to its id.
    """
    parts: list[ModelPart] = []
    if answer.reasoning or answer.signature:
        is_item = request.dialect == "openai-responses"
        content = request.item_id("rs", 0) if is_item else answer.reasoning
        signature = signature_of(answer, request, content)
        parts.append(Reasoning(text=answer.reasoning, signature=signature))
    if answer.text:
        parts.append(Text(answer.text))
    for index, call in enumerate(answer.tool_calls):
        call_id = call.id or _call_id(index, request)
        parts.append(ToolCall(id=call_id, name=call.name, input=call.input))
    return parts


def signature_of(answer: ModelAnswer, request: StubRequest, content: object) -> str:
    """The proof on *answer*: its own, or the one that the stub issues for *content*."""
    return request.signature(content) if answer.signature is None else answer.signature


def _call_id(index: int, request: StubRequest) -> str:
    """An id in the form of the provider's own: Mistral takes no other than nine characters."""
    if request.route.provider == "mistral":
        return request.id("", "call", index)[:9]
    return request.id("toolu_" if request.dialect == "anthropic" else "call_", "call", index)


def pieces_of(text: str, size: int) -> list[str]:
    """Cut *text* into deltas of *size* characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def arguments_of(call: ToolCall) -> str:
    """The input of *call* as the model wrote it."""
    return to_json(call.input).decode()


def usage_of(answer: ModelAnswer, request: StubRequest) -> Counts:
    """The usage that *answer* states, filled up with an estimate: a token is four characters."""
    said = answer.usage or Usage()
    size = len(answer.text) + len(answer.reasoning)
    size += sum(len(call.name) + len(arguments_of(call)) for call in answer.tool_calls)
    output = max(1, size // 4) if said.output is None else said.output
    return Counts(
        input=request.prompt_tokens if said.input is None else said.input,
        output=output,
        cache_read=said.cache_read or 0,
        cache_write=said.cache_write or 0,
        reasoning=output * len(answer.reasoning) // max(1, size),
    )


def stop_of(answer: ModelAnswer, done: str, calls: str) -> str:
    """The provider's word for why the model stopped: *done*, or *calls* when it calls tools."""
    return answer.stop or (calls if answer.tool_calls else done)


def event(kind: str, *, is_output: bool = False, **fields: object) -> Frame:
    """Write one event that is named after its type."""
    data = to_json({"type": kind, **fields})
    return Frame(b"event: %s\ndata: %s\n\n" % (kind.encode(), data), is_output)
