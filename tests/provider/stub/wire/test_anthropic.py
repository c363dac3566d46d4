"""What the stub answers as Anthropic Messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..stub_client import (
    ANTHROPIC,
    CALL,
    events,
    rendered,
)

if TYPE_CHECKING:
    pass


def test_an_anthropic_answer_is_spelled_event_by_event() -> None:
    """Source: docs.claude.com/en/api/messages-streaming."""
    answer = {
        "reasoning": "I think",
        "signature": "sig",
        "text": "Hello",
        "tool_calls": [CALL],
        "usage": {"input": 7, "output": 9},
    }

    pieces = rendered(answer, ANTHROPIC)

    assert all(piece.count(b"\n\n") == 1 for piece in pieces)
    names = [piece.split(b"\n")[0].removeprefix(b"event: ").decode() for piece in pieces]
    came = events(b"".join(pieces))
    assert [event["type"] for event in came] == names
    assert came[0]["message"]["usage"]["output_tokens"] == 1
    assert came[0]["message"]["content"] == []
    usage = came[-2].pop("usage")
    assert (usage["input_tokens"], usage["output_tokens"]) == (7, 9)
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    tool = {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {}}
    assert came[1:] == [
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        _delta(0, type="thinking_delta", thinking="I think"),
        _delta(0, type="signature_delta", signature="sig"),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        _delta(1, type="text_delta", text="Hello"),
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": tool},
        _delta(2, type="input_json_delta", partial_json=""),
        _delta(2, type="input_json_delta", partial_json='{"path":"src/a.p'),
        _delta(2, type="input_json_delta", partial_json='y"}'),
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}},
        {"type": "message_stop"},
    ]


def _delta(index: int, **delta: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": index, "delta": delta}
