"""A streamed answer in two wires, of as many deltas as wanted, as the providers spell it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

Wire: TypeAlias = Literal["openai-chat", "anthropic"]

TEXT = (
    "The parser drops its last token because the range ends one early, so mend line 42, and "
    "run every test again before you commit: `for at in range(len(tokens) - 1)` is it.\n\n"
)


def texts(deltas: int) -> list[str]:
    """Return the pieces of an answer."""
    words = [f" {word}" for word in TEXT.split(" ")]
    return random.Random(0).choices(words, k=deltas)


def events(wire: Wire, *, deltas: int) -> list[bytes]:
    """Return the answer's events as they go over the wire."""
    if wire == "anthropic":
        return [
            b"event: %s\ndata: %s\n\n" % (event["type"].encode(), _json(event))
            for event in _anthropic(deltas)
        ]
    return [*(b"data: %s\n\n" % _json(chunk) for chunk in _chat(deltas)), b"data: [DONE]\n\n"]


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _chat(deltas: int) -> Iterator[dict[str, Any]]:
    yield _chunk({"role": "assistant", "content": "", "refusal": None})
    for text in texts(deltas):
        yield _chunk({"content": text})
    yield _chunk({}, "stop")
    usage = {"prompt_tokens": 9, "completion_tokens": deltas, "total_tokens": 9 + deltas}
    yield {**_chunk({}), "choices": [], "usage": usage}


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-CgR3uYl7bWc0kXo2nQ5sZt9vE1aHd",
        "object": "chat.completion.chunk",
        "created": 1764460800,
        "model": "gpt-5.1-2025-11-13",
        "system_fingerprint": "fp_50cad350e4",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
    }


def _anthropic(deltas: int) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-5",
        "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1}}}  # fmt: skip
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for text in texts(deltas):
        delta = {"type": "text_delta", "text": text}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
           "usage": {"output_tokens": deltas}}  # fmt: skip
    yield {"type": "message_stop"}
