"""What the stub's wires share: the request to answer, and an answer as parts and events."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...catalog.vendor import vendor_named
from ...conversation import ModelPart, Reasoning, Text, ToolCall, Usage
from ...json_value import listed, mapping
from ..signature.anthropic import prefix_of
from ..signature.issuer import Issuer
from ..signature.openai_responses import item_id
from ..strict.model_facts import binds_prefix, is_deepseek_thinking, is_kimi_thinking
from ..vendor_error import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...route import Route
    from ..answer import ModelAnswer
from ..vendor_error import Dialect

CREATED = 1764400000
"""The time of every answer, fixed so that an answer depends on its request alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StubRequest:
    """What the answer to a request depends on.

    Args:
        number: The number of the request on this route, counted from 1.
        body: The parsed body.
        wants_usage: A chat request asked for a chunk with the usage.
        prompt_tokens: An estimate of its size.
        issuer: Makes the signatures of the answer.
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
        """The owner of the API that is asked; an unknown provider is its own vendor."""
        return vendor_named(self.route.provider) or self.route.provider

    @property
    def must_think(self) -> bool:
        """True if it is sent to a DeepSeek or a Kimi that thinks in every answer.

        Such a model wants its thinking back beside its calls, even if that is empty.
        """
        thinks = {"deepseek": is_deepseek_thinking, "moonshot": is_kimi_thinking}.get(self.vendor)
        is_off = mapping(self.body.get("thinking")).get("type") == "disabled"
        is_off = is_off or mapping(self.body.get("reasoning")).get("effort") == "none"
        return thinks is not None and thinks(self.route.model) and not is_off

    @property
    def thinks_openly(self) -> bool:
        """True if an answer in Responses has its reasoning as text, as DeepSeek's has."""
        return self.dialect == "openai-responses" and self.vendor == "deepseek"

    def id(self, prefix: str, *more: object) -> str:
        """Return an id that is the same for the same request, and differs from all others."""
        return prefix + self._digest(*more).hex()[:24]

    def item_id(self, prefix: str, index: int, *, is_after: bool = False) -> str:
        """Return the id of an item of Responses; it records whether reasoning came before it."""
        nonce = self.id("", "items")
        return item_id(self.issuer, self.route, prefix, nonce, index, is_after=is_after)

    def signature(self, content: object) -> str:
        """Return a signature of *content*, valid on this route only.

        If the model binds its thinking, the signature is valid only after this request.
        """
        is_bound = self.dialect == "anthropic" and binds_prefix(self.vendor, self.route.model)
        prefix = prefix_of(self.body) if is_bound else None
        return self.issuer.issue(self.route, content, prefix)

    def _digest(self, *more: object) -> bytes:
        # The length of the conversation makes the answers of two stubs to one agent differ.
        length = sum(len(listed(self.body.get(key))) for key in ("messages", "input", "contents"))
        key = "\0".join(map(str, (self.route, self.number, length, *more)))
        return hashlib.sha256(key.encode(errors="surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as bytes.

    Args:
        is_output: It carries text, reasoning or arguments.
    """

    data: bytes
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """An answer as events.

    Args:
        frames: All events before the finish.
        finish: The finish and the terminal marker.
    """

    frames: tuple[Frame, ...]
    finish: tuple[Frame, ...]


class StubWire(Protocol):
    """A module that writes answers in one wire."""

    def stream(self, answer: ModelAnswer, request: StubRequest, /) -> StreamedAnswer:
        """Return *answer* as events."""

    def whole(self, answer: ModelAnswer, request: StubRequest, /) -> dict[str, object]:
        """Return *answer* as one object."""

    def error_frames(
        self, error: Mapping[str, object], request: StubRequest, sent: int, /
    ) -> tuple[Frame, ...]:
        """Return the events with which *error* ends a stream after *sent* events."""


class TokenCounts(NamedTuple):
    """Tokens of an answer.

    Args:
        input: Without tokens read from or written to the cache.
        reasoning: The part of *output* that is reasoning.
    """

    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input + self.cache_read + self.cache_write


def parts_of(answer: ModelAnswer, request: StubRequest) -> list[ModelPart]:
    """Return the parts of *answer*, with the ids and the signature that the scenario left out.

    The signature of reasoning in Responses is its encrypted content, which belongs to its id.
    """
    parts: list[ModelPart] = []
    if answer.reasoning or answer.signature:
        is_item = request.dialect == "openai-responses"
        content = request.item_id("rs", 0) if is_item else answer.reasoning
        signature = signature_of(answer, request, content)
        parts.append(Reasoning(text=answer.reasoning, signature=signature))
    elif answer.tool_calls and request.must_think and _shows_empty_thinking(request):
        parts.append(Reasoning(text="", signature=""))
    if answer.text:
        parts.append(Text(answer.text))
    for index, call in enumerate(answer.tool_calls):
        call_id = call.id or _call_id(index, request)
        parts.append(ToolCall(id=call_id, name=call.name, input=call.input))
    return parts


def _shows_empty_thinking(request: StubRequest) -> bool:
    return request.dialect == "anthropic" or request.thinks_openly


def signature_of(answer: ModelAnswer, request: StubRequest, content: object) -> str:
    """Return the signature of *answer*: its own, or one that the stub issues for *content*."""
    return request.signature(content) if answer.signature is None else answer.signature


def _call_id(index: int, request: StubRequest) -> str:
    """Return an id in the provider's form; Mistral takes nine characters only."""
    if request.route.provider == "mistral":
        return request.id("", "call", index)[:9]
    return request.id("toolu_" if request.dialect == "anthropic" else "call_", "call", index)


def pieces_of(text: str, size: int) -> list[str]:
    """Return *text* in pieces of *size* characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def arguments_of(call: ToolCall) -> str:
    """Return the input of *call* as JSON text."""
    return to_json(call.input).decode()


def usage_of(answer: ModelAnswer, request: StubRequest) -> TokenCounts:
    """Return the usage of *answer*; what it leaves out is estimated, a token for 4 characters."""
    stated = answer.usage or Usage()
    size = len(answer.text) + len(answer.reasoning)
    size += sum(len(call.name) + len(arguments_of(call)) for call in answer.tool_calls)
    output = max(1, size // 4) if stated.output is None else stated.output
    return TokenCounts(
        input=request.prompt_tokens if stated.input is None else stated.input,
        output=output,
        cache_read=stated.cache_read or 0,
        cache_write=stated.cache_write or 0,
        reasoning=output * len(answer.reasoning) // max(1, size),
    )


def stop_of(answer: ModelAnswer, done: str, calls: str) -> str:
    """Return why the model stopped: *calls* if it calls tools, else *done*."""
    return answer.stop or (calls if answer.tool_calls else done)


def event(kind: str, *, is_output: bool = False, **fields: object) -> Frame:
    """Return one event that is named after its type."""
    data = to_json({"type": kind, **fields})
    return Frame(b"event: %s\ndata: %s\n\n" % (kind.encode(), data), is_output)
