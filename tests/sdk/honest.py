"""Answers that users of the official SDKs can ask for, and our own requests do not.

They are made from the SDKs' types, whole and streamed. Nobody may take one for a failure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.wire_name import Wire

from .call import package
from .example import example, members

Value = dict[str, Any]
PROVIDERS: Mapping[Wire, str] = {
    "anthropic": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai",
    "gemini": "gemini",
}
PATHS: Mapping[Wire, str] = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/m:generateContent",
}
STREAM_PATHS = {**PATHS, "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse"}
LIMIT = {"reason": "max_output_tokens"}
USAGE = {"input_tokens": 1, "output_tokens": 1}


@dataclass(frozen=True)
class Honest:
    """One answer.

    Args:
        whole: Its body if it was not streamed; None: it comes only as a stream.
        events: Its events; none: it comes only whole.
        asked: What the request has beside the model.
    """

    name: str
    wire: Wire
    whole: Value | None
    events: Sequence[Value] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def provider(self) -> Provider:
        return catalog()[PROVIDERS[self.wire]]

    @property
    def blocks(self) -> list[bytes]:
        """The stream, an event a block."""
        return blocks(self.wire, self.events)

    @property
    def body(self) -> bytes:
        return json.dumps(self.whole).encode()


def blocks(wire: Wire, events: Iterable[Value]) -> list[bytes]:
    def block(event: Value) -> bytes:
        name = f"event: {event['type']}\n" if wire in ("anthropic", "openai-responses") else ""
        return f"{name}data: {json.dumps(event)}\n\n".encode()

    return [*map(block, events), *([b"data: [DONE]\n\n"] if wire == "openai-chat" else [])]


def claude(name: str, *content: Value, stop: str = "end_turn", **asked: Any) -> Honest:
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": USAGE,
    }
    opened: Value = {**whole, "content": [], "stop_reason": None}
    events: list[Value] = [{"type": "message_start", "message": opened}]
    for index, block in enumerate(content):
        events += _claude_block(index, block)
    events += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": USAGE,
        },
        {"type": "message_stop"},
    ]
    return Honest(f"anthropic: {name}", "anthropic", whole, events, asked)


def _claude_block(index: int, block: Value) -> Iterable[Value]:
    start, at = dict(block), {"index": index}
    deltas: list[Value] = []
    if "text" in block:
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": block["text"]}]
    elif "input" in block:
        start["input"] = {}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    elif block["type"] == "compaction":
        start["content"] = None
        deltas = [{"type": "compaction_delta", "content": block.get("content")}]
    yield {"type": "content_block_start", **at, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", **at, "delta": delta}
    yield {"type": "content_block_stop", **at}


def responses(name: str, *output: Value, status: str = "completed", **asked: Any) -> Honest:
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "error": None,
        "output": output,
        "status": status,
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "incomplete_details": LIMIT if status == "incomplete" else None,
    }
    opened = {**whole, "output": [], "status": "in_progress"}
    events: list[Value] = [{"type": "response.created", "response": opened}]
    for index, item in enumerate(output):
        at = {"output_index": index, "item": item}
        events += [{"type": f"response.output_item.{kind}", **at} for kind in ("added", "done")]
    events.append({"type": f"response.{status}", "response": whole})
    return Honest(f"openai-responses: {name}", "openai-responses", whole, events, asked)


def chat(name: str, *messages: Value, finish: str = "stop", **asked: Any) -> Honest:
    """Make an answer of as many choices as *messages*."""
    top = {"id": "chatcmpl-1", "created": 1, "model": "m"}
    choices: list[Value] = [
        {"index": index, "finish_reason": finish, "message": {"role": "assistant", **message}}
        for index, message in enumerate(messages)
    ]
    whole = {**top, "object": "chat.completion", "choices": choices}
    chunk = {**top, "object": "chat.completion.chunk"}
    events: list[Value] = []
    for choice in choices:
        for delta in _chat_deltas(choice["message"]):
            part = {"index": choice["index"], "delta": delta, "finish_reason": None}
            events.append({**chunk, "choices": [part]})
    for choice in choices:
        part = {"index": choice["index"], "delta": {}, "finish_reason": finish}
        events.append({**chunk, "choices": [part]})
    return Honest(f"openai-chat: {name}", "openai-chat", whole, events, asked)


def _chat_deltas(message: Value) -> Iterable[Value]:
    """Yield the message in pieces: a call's start, and then the rest of it without its id."""
    yield {name: value for name, value in message.items() if name != "tool_calls"}
    for index, call in enumerate(message.get("tool_calls", ())):
        kind = call["type"]
        field_ = "arguments" if kind == "function" else "input"
        first = {**call, "index": index, kind: {**call[kind], field_: call[kind][field_][:3]}}
        yield {"tool_calls": [first]}
        yield {"tool_calls": [{"index": index, kind: {field_: call[kind][field_][3:]}}]}


def gemini(name: str, *candidates: Sequence[Value], finish: str = "STOP", **asked: Any) -> Honest:
    listed = [
        {"index": index, "finishReason": finish, "content": {"role": "model", "parts": parts}}
        for index, parts in enumerate(candidates)
    ]
    whole = {"candidates": listed, "modelVersion": "m", "responseId": "r"}
    return Honest(f"gemini: {name}", "gemini", whole, [whole], asked)


OLD = "function_call"
FUNCTION = {"name": "ls", "arguments": '{"path": "."}'}
CALL = {"id": "call_1", "type": "function", "function": FUNCTION}
CUSTOM = {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
AUDIO = {"id": "audio_1", "data": "eA==", "transcript": "Hello", "expires_at": 9}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}}


def _chats() -> list[Honest]:
    return [
        chat("several choices", {"content": "Hello"}, {"content": "Good day"}, n=2),
        chat(
            "several choices with calls",
            *({"content": None, "tool_calls": [{**CALL, "id": each}]} for each in ("a", "b")),
            finish="tool_calls",
        ),
        chat(
            "several choices, the first a call",
            *({"content": None, "tool_calls": [CALL]}, {"content": "Hello"}),
        ),
        chat("several choices, the first empty", {"content": ""}, {"content": "Hello"}),
        chat(
            "a function of old",
            {"content": None, "function_call": FUNCTION},
            finish="function_call",
        ),
        chat("a custom tool", {"content": None, "tool_calls": [CUSTOM]}, finish="tool_calls"),
        chat("a custom tool beside a function", {"content": None, "tool_calls": [CUSTOM, CALL]}),
        chat("audio", {"content": None, "audio": AUDIO}),
        chat("images", {"content": "", "images": [PICTURE]}),
        chat("a list with an image", {"content": [PICTURE]}),
        chat("text that reached its limit", {"content": "Hel"}, finish="length"),
        chat(
            "a call that reached its limit",
            {"content": None, "tool_calls": [CALL]},
            finish="length",
        ),
        chat("nothing, as it reached its limit", {"content": ""}, finish="length"),
    ]


def _claudes() -> list[Honest]:
    types, beta = package("anthropic.types"), package("anthropic.types.beta")
    kinds = {each.__name__: each for each in members(beta.BetaContentBlock)}
    kinds |= {each.__name__: each for each in members(types.ContentBlock)}
    made = {name: example(kind) for name, kind in kinds.items() if "Thinking" not in name}
    assert len(made) > 20
    tool = made["ToolUseBlock"]
    return [
        *(claude(f"{name} alone", block) for name, block in made.items()),
        claude("a pause", made["ServerToolUseBlock"], stop="pause_turn"),
        claude("a pause before anything", stop="pause_turn"),
        claude("compaction", made["BetaCompactionBlock"], stop="compaction"),
        claude("an empty stop_sequence", stop="stop_sequence"),
        claude("nothing, as it reached its limit", stop="max_tokens"),
        claude("a tool without arguments", {**tool, "input": {}}, stop="tool_use"),
        claude("a tool's call after a server's", made["ServerToolUseBlock"], tool, stop="tool_use"),
    ]


def _responses() -> list[Honest]:
    types = package("openai.types.responses")
    kinds = {each.__name__: each for each in members(types.ResponseOutputItem)}
    made = {name: example(kind) for name, kind in kinds.items() if "Reasoning" not in name}
    made["ResponseFunctionToolCall"]["arguments"] = '{"path": "."}'
    assert len(made) > 20
    waiting = [
        Honest(f"openai-responses: {status}", "openai-responses", {**whole, "status": status})
        for whole in (responses("", status="in_progress", background=True).whole or {},)
        for status in ("queued", "in_progress")
    ]
    done = responses("in the background", made["ResponseOutputMessage"], background=True)
    first, *rest = done.events
    queued = {"type": "response.queued", "response": {**first["response"], "status": "queued"}}
    return [
        *(responses(f"{name} alone", item) for name, item in made.items()),
        *waiting,
        Honest(done.name, done.wire, done.whole, [first, queued, *rest], done.asked),
        responses("nothing, as it reached its limit", status="incomplete"),
    ]


DATA = {
    "inlineData": {"mimeType": "image/png", "data": "eA=="},
    "fileData": {"mimeType": "image/png", "fileUri": "gs://x"},
    "executableCode": {"language": "PYTHON", "code": "1"},
    "codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"},
    "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t", "args": {}},
    "toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t", "response": {}},
    "functionCall": {"name": "ls", "args": {}},
}


def _geminis() -> list[Honest]:
    signed = {"inlineData": DATA["inlineData"], "thoughtSignature": "eA=="}
    return [
        *(gemini(f"{name} alone", [{name: value}]) for name, value in DATA.items()),
        gemini("a signed image", [signed]),
        gemini("thinking and an image", [{"text": "Hm", "thought": True}, signed]),
        gemini("several candidates", [{"text": "Hello"}], [{"text": "Good day"}]),
        gemini("several candidates, the first empty", [], [{"text": "Good day"}]),
        gemini("nothing, as it reached its limit", [], finish="MAX_TOKENS"),
    ]


@cache
def honest() -> Sequence[Honest]:
    return [*_chats(), *_claudes(), *_responses(), *_geminis()]


CHECKS: Mapping[Wire, tuple[str, str]] = {
    "anthropic": ("anthropic.types.beta", "BetaMessage"),
    "openai-chat": ("openai.types.chat", "ChatCompletion"),
    "openai-responses": ("openai.types.responses", "Response"),
    "gemini": ("google.genai.types", "GenerateContentResponse"),
}
"""The official type of a whole answer."""
