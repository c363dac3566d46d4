"""Plan the response to one request: every byte, before any is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, assert_never

from .answer import (
    Abort,
    CaptureAnswer,
    ConnectionReset,
    Cut,
    ModelAnswer,
    RefusedConnection,
    Stall,
    StatusAnswer,
    StreamError,
)
from .vendor_error import EDGE, error_envelope, error_page, error_words, status_of, to_json
from .wire import anthropic as stub_anthropic
from .wire import gemini as stub_gemini
from .wire import openai_chat as stub_chat
from .wire import openai_responses as stub_responses
from .wire.base import event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..wire_name import Wire
    from .answer import Answer, Fault
    from .strict.complaint import Complaint
    from .vendor_error import Dialect
    from .wire.base import Frame, StubRequest, StubWire

JSON = ("content-type", "application/json")
WIRES: Mapping[Dialect, StubWire] = {
    "anthropic": stub_anthropic,
    "openrouter": stub_chat,
    "openai-chat": stub_chat,
    "openai-responses": stub_responses,
    "gemini": stub_gemini,
}
COMMENTS: Mapping[Dialect, bytes] = {
    "anthropic": event("ping").data,
    "openrouter": b": OPENROUTER PROCESSING\n\n",
    "openai-chat": b": keep-alive\n\n",
    "openai-responses": b": keep-alive\n\n",
    "gemini": b"\r\n",  # google-genai 2.34 takes a comment for JSON that is broken
}
"""What keeps an idle stream alive: a comment, or what the provider sends instead of one."""
REQUEST_ID: Mapping[Dialect, str] = {
    "anthropic": "request-id",
    "openrouter": "x-request-id",
    "openai-chat": "x-request-id",
    "openai-responses": "x-request-id",
}
"""The header with the id of a failed request; Gemini has none."""
SSE = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


class End(Enum):
    """How an answer ends."""

    DONE = "the body is complete"
    ABORT = "the connection is closed, whether or not the body is complete"
    RESET = "the connection is reset"
    STALL = "nothing more comes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One response.

    Args:
        word: A name for the log, in a word or two.
        pieces: The body; each piece is written in one flush.
        length: The ``content-length``. None: the body is sent in chunks. If a response with a
            length stalls, not even its head is sent.
        delay: Seconds before the response begins.
        pace: Seconds between two pieces.
        keepalive: Seconds between two comments while the response stalls. None: no comments.
        comment: The bytes of one comment.
    """

    word: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[bytes, ...] = ()
    length: int | None = None
    end: End = End.DONE
    delay: float = 0.0
    pace: float = 0.0
    keepalive: float | None = None
    comment: bytes = b""


def script_of(answer: Answer, request: StubRequest) -> Script:
    """Return the response that gives *answer* to *request*."""
    match answer:
        case ModelAnswer():
            return _streamed(answer, request) if request.is_stream else _whole(answer, request)
        case StatusAnswer():
            return _status(answer, request)
        case CaptureAnswer():
            return _capture(answer)
        case RefusedConnection():  # the request came to the stub's own port, which does not refuse
            message = f"the scenario refuses connections to {request.route.provider!r}"
            return error_script(
                request.dialect, 503, request_id=request.id("req_"), message=message
            )
        case _:
            assert_never(answer)


def error_script(
    dialect: Dialect, status: int, *, request_id: str, model: str = "", message: str | None = None
) -> Script:
    """Return a response with *status* and the provider's own error, or with *message* in it."""
    if dialect in {"openai-chat", "openai-responses"} and status in EDGE and message is None:
        page = error_page(status).encode()
        return _body(str(status), status, page, (("content-type", "text/html"),))
    error = error_words(dialect, status, model=model, message=message)
    return error_object_script(dialect, status, error, request_id=request_id)


def json_script(word: str, value: object, *, status: int = 200) -> Script:
    """Return a response with *value* as JSON."""
    return _body(word, status, to_json(value), (JSON,))


def _body(word: str, status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> Script:
    return Script(word=word, status=status, headers=headers, pieces=(body,), length=len(body))


def error_object_script(
    dialect: Dialect, status: int, error: Mapping[str, object], *, request_id: str
) -> Script:
    """Return a response with *status* and *error*, in the provider's envelope."""
    body = error_envelope(dialect, error, request_id=request_id)
    return _identified(json_script(str(status), body, status=status), dialect, request_id)


def complaint_script(
    found: Complaint, request: StubRequest, wire: Wire, *, request_id: str
) -> Script:
    """Return the response that refuses *request* because of *found*, as the vendor spells it."""
    body = found.body(vendor=request.vendor, wire=wire, request_id=request_id)
    script = json_script(f"{found.status} strict", body, status=found.status)
    return _identified(script, request.dialect, request_id)


def _identified(script: Script, dialect: Dialect, request_id: str) -> Script:
    """Add the header with the request's id, if the provider has one."""
    if dialect not in REQUEST_ID:
        return script
    return replace(script, headers=(*script.headers, (REQUEST_ID[dialect], request_id)))


def _status(answer: StatusAnswer, request: StubRequest) -> Script:
    match answer.body:
        case None:
            script = error_script(
                request.dialect,
                answer.status,
                request_id=request.id("req_"),
                model=request.route.model,
            )
        case str(text):
            kind = "text/html" if text.lstrip().startswith("<") else "text/plain"
            body = text.encode(errors="backslashreplace")
            script = _body("", answer.status, body, (("content-type", kind),))
        case body:
            script = json_script("", body, status=answer.status)
    headers = tuple({**dict(script.headers), **answer.headers}.items())
    return replace(script, word=str(answer.status), headers=headers, delay=answer.delay)


def _capture(answer: CaptureAnswer) -> Script:
    capture = answer.capture
    return Script(
        word=f"capture {capture.name}",
        status=capture.status,
        headers=capture.headers,
        pieces=capture.pieces,
        length=None if capture.is_stream else sum(map(len, capture.pieces)),
        end=End.RESET if capture.is_reset else End.DONE,
        delay=answer.delay,
    )


def _streamed(answer: ModelAnswer, request: StubRequest) -> Script:
    wire, comment = WIRES[request.dialect], COMMENTS[request.dialect]
    streamed = wire.stream(answer, request)
    if answer.fault is None:
        frames = (*streamed.frames, *streamed.finish)
    else:
        frames = _until(streamed.frames, answer.after)
    if isinstance(answer.fault, StreamError):
        frames += wire.error_frames(_error_object(answer.fault, request), request, len(frames))
    return Script(
        word=_word(answer),
        headers=SSE,
        pieces=(*(comment,) * answer.comments, *(frame.data for frame in frames)),
        end=_end(answer.fault),
        delay=answer.delay,
        pace=answer.pace,
        keepalive=answer.fault.keepalive if isinstance(answer.fault, Stall) else None,
        comment=comment,
    )


def _whole(answer: ModelAnswer, request: StubRequest) -> Script:
    """Return an answer without a stream. A fault shows in the body or in the status."""
    if isinstance(answer.fault, StreamError):
        error = _error_object(answer.fault, request)
        script = error_object_script(
            request.dialect, status_of(answer.fault.error), error, request_id=request.id("req_")
        )
        return replace(script, word=_word(answer), delay=answer.delay)
    body = to_json(WIRES[request.dialect].whole(answer, request))
    script = replace(_body(_word(answer), 200, body, (JSON,)), delay=answer.delay)
    if answer.fault is None:
        return script
    end = End.ABORT if isinstance(answer.fault, Cut) else _end(answer.fault)
    sent = b"" if answer.after == 0 else body[: len(body) // 2]
    return replace(script, pieces=(sent,), end=end)


def _until(frames: tuple[Frame, ...], after: int | None) -> tuple[Frame, ...]:
    """Return the *frames* up to output number *after*; all for None, or if there are fewer."""
    if after is None:
        return frames
    outputs = [place for place, frame in enumerate(frames, start=1) if frame.is_output]
    if after > len(outputs):
        return frames
    return frames[: outputs[after - 1]] if after else ()


def _end(fault: Fault | None) -> End:
    match fault:
        case None | StreamError() | Cut():
            return End.DONE
        case Abort():
            return End.ABORT
        case ConnectionReset():
            return End.RESET
        case Stall():
            return End.STALL
        case _:
            assert_never(fault)


def _error_object(fault: StreamError, request: StubRequest) -> Mapping[str, object]:
    if isinstance(fault.error, int):
        return error_words(request.dialect, fault.error, model=request.route.model)
    return fault.error


def _word(answer: ModelAnswer) -> str:
    """Return a name for the log, as ``text`` or ``error after 3``."""
    match answer.fault:
        case None:
            if answer.tool_calls:
                return "tool_calls"
            return "text" if answer.text else "reasoning" if answer.reasoning else "nothing"
        case fault:
            name = _FAULT_WORDS[type(fault)]
    return name if answer.after is None else f"{name} after {answer.after}"


_FAULT_WORDS: Mapping[type[Fault], str] = {
    StreamError: "error",
    Cut: "cut",
    Abort: "abort",
    ConnectionReset: "reset",
    Stall: "stall",
}
