"""What the two wires of the stub share: what was asked, and an answer on its way to bytes."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .part import ModelPart, Reasoning, Text, ToolCall, Usage
from .stub_error import to_json

if TYPE_CHECKING:
    from .route import Route
    from .stub_answer import ModelAnswer
    from .stub_error import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What of a request its answer depends on.

    Args:
        number: Which request on this route it is, counted from 1.
        wants_usage: A chat request asked for a chunk with the usage.
        prompt_tokens: How large it is, roughly.
    """

    route: Route
    dialect: Dialect
    number: int = 1
    is_stream: bool = True
    wants_usage: bool = True
    prompt_tokens: int = 1

    def id(self, prefix: str, *more: object) -> str:
        """An id that is the same for the same request, and unlike any other."""
        return prefix + self._digest(*more).hex()[:24]

    def signature(self, text: str) -> str:
        """The proof that the stub issues on reasoning: for this *text*, route and request only."""
        return base64.b64encode(self._digest("signature", text) * 2).decode()

    def _digest(self, *more: object) -> bytes:
        key = "\0".join(map(str, (self.route, self.number, *more)))
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


class Counts(NamedTuple):
    """Tokens of an answer; *input* without those that the cache took or gave."""

    input: int
    output: int
    cache_read: int
    cache_write: int


def parts_of(answer: ModelAnswer, ask: Ask) -> list[ModelPart]:
    """The parts of *answer*, with the ids and the signature that it leaves to the stub."""
    parts: list[ModelPart] = []
    if answer.reasoning or answer.signature:
        signature = answer.signature
        if signature is None:
            signature = ask.signature(answer.reasoning)
        parts.append(Reasoning(text=answer.reasoning, signature=signature))
    if answer.text:
        parts.append(Text(answer.text))
    prefix = "toolu_" if ask.dialect == "anthropic" else "call_"
    for index, call in enumerate(answer.tool_calls):
        call_id = call.id or ask.id(prefix, "call", index)
        parts.append(ToolCall(id=call_id, name=call.name, input=call.input))
    return parts


def pieces_of(text: str, size: int) -> list[str]:
    """Cut *text* into deltas of *size* characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def arguments_of(call: ToolCall) -> str:
    """The input of *call* as the model wrote it."""
    return to_json(call.input).decode()


def usage_of(answer: ModelAnswer, ask: Ask) -> Counts:
    """The usage that *answer* states, filled up with an estimate: a token is four characters."""
    said = answer.usage or Usage()
    size = len(answer.text) + len(answer.reasoning)
    size += sum(len(call.name) + len(arguments_of(call)) for call in answer.tool_calls)
    return Counts(
        input=ask.prompt_tokens if said.input is None else said.input,
        output=max(1, size // 4) if said.output is None else said.output,
        cache_read=said.cache_read or 0,
        cache_write=said.cache_write or 0,
    )


def stop_of(answer: ModelAnswer, done: str, calls: str) -> str:
    """The provider's word for why the model stopped: *done*, or *calls* when it calls tools."""
    return answer.stop or (calls if answer.tool_calls else done)
