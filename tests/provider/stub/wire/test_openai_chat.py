"""What the stub answers as Chat Completions, in each dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sidestep.provider.conversation import ToolCall
from sidestep.provider.route import Route
from sidestep.provider.stub.answer import ModelAnswer
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.provider.stub.wire.base import StubRequest
from sidestep.provider.stub.wire.openai_chat import stream, whole

from ..stub_client import (
    CALL,
    OPENROUTER,
    ask,
    events,
    playing,
    rendered,
)

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize(
    ("route", "thinking"),
    [
        pytest.param(
            OPENROUTER,
            [
                {"content": "", "reasoning": "Hm", "reasoning_details": [{"text": "Hm"}]},
                {"content": "", "reasoning": None, "reasoning_details": [{"signature": "sig"}]},
            ],
            id="openrouter",
        ),
        *(
            pytest.param(f"{name}/x", [{"reasoning": "Hm"}], id=name)
            for name in ("groq", "cerebras")
        ),
        *(
            pytest.param(f"{name}/x", [{"content": None, "reasoning_content": "Hm"}], id=name)
            for name in ("deepseek", "zai", "moonshot", "minimax", "someone")
        ),
        pytest.param(
            "mistral/x",
            [
                {
                    "content": [
                        {
                            "type": "thinking",
                            "thinking": [{"type": "text", "text": "Hm"}],
                            "closed": True,
                        }
                    ]
                }
            ],
            id="mistral",
        ),
    ],
)
def test_a_chat_answer_is_spelled_chunk_by_chunk(
    route: str, thinking: list[dict[str, Any]]
) -> None:
    """Source: fixtures/captures/openrouter_stream_reasoning_signed_tool.json and
    mistral_stream_thinking_list.json, and each provider's API reference."""
    answer = {"reasoning": "Hm", "signature": "sig", "text": "Hello", "tool_calls": [CALL]}

    pieces = rendered(answer, route)

    assert all(piece.count(b"\n\n") == 1 for piece in pieces)
    *chunks, finish, usage, done = events(b"".join(pieces))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    for delta in deltas:
        for detail in delta.get("reasoning_details", []):
            assert detail.pop("type") == "reasoning.text"
            assert detail.pop("format") == "anthropic-claude-v1"
            assert detail.pop("index") == 0
    first = {"id": "call_1", "type": "function"}
    opened = {"index": 0, **first, "function": {"name": "read_file", "arguments": ""}}
    fragments = [
        {"index": 0, "function": {"arguments": piece}} for piece in ('{"path":"src/a.p', 'y"}')
    ]
    assert deltas == [
        {"role": "assistant", "content": ""},
        *thinking,
        {"content": "Hello"},
        *({"content": None, "tool_calls": [each]} for each in (opened, *fragments)),
    ]
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["usage"]["total_tokens"] > 0
    assert [choice["finish_reason"] for choice in usage["choices"]] in ([], [None])
    assert done == "[DONE]"


@pytest.mark.asyncio
async def test_mistral_puts_thinking_into_the_content_of_a_whole_answer() -> None:
    answer = {"reasoning": "Hm", "text": "Hello"}
    async with Stub(Scenario.parse({"answers": {"mistral/m": answer}})) as stub:
        response = await ask(stub, "mistral/m", stream=False)

    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}], "closed": True}
    (choice,) = response.json()["choices"]
    assert choice["message"]["content"] == [thought, {"type": "text", "text": "Hello"}]


@pytest.mark.asyncio
async def test_openrouter_ends_a_failed_stream_with_a_finish_and_done() -> None:
    """Source: fixtures/captures/openrouter_stream_error.json."""
    async with playing(text="Hel", error={"code": 502, "message": "gone"}) as stub:
        response = await ask(stub, OPENROUTER)

    failed, done = events(response.content)[-2:]
    assert failed["error"] == {"code": 502, "message": "gone"}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    assert failed["choices"] == [choice]
    assert done == "[DONE]"


THINKING = [
    pytest.param("deepseek/deepseek-v4-pro", {}, {"reasoning_content": ""}, id="DeepSeek"),
    pytest.param("moonshot/kimi-k3", {}, {"reasoning_content": ""}, id="Kimi"),
    pytest.param("deepseek/deepseek-chat", {}, {}, id="one that does not think"),
    pytest.param("deepseek/deepseek-v4-pro", {"thinking": {"type": "disabled"}}, {}, id="off"),
    pytest.param("zai/glm-4.6", {}, {}, id="one that does not want it back"),
]


@pytest.mark.parametrize(("route", "body", "more"), THINKING)
def test_who_wants_thinking_back_beside_calls_sends_it_even_if_it_is_empty(
    route: str, body: dict[str, object], more: dict[str, str]
) -> None:
    request = StubRequest(route=Route(route), dialect="openai-chat", body=body)
    answer = ModelAnswer(tool_calls=(ToolCall("call_1", "ls", {}),))

    message: Any = whole(answer, request)
    first = events(b"".join(frame.data for frame in stream(answer, request).frames))[0]

    said = message["choices"][0]["message"]
    assert {key: said[key] for key in said if key == "reasoning_content"} == more
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "", **more}


def test_openai_hides_what_it_thought() -> None:
    request = StubRequest(route=Route("openai-chat/gpt-5"), dialect="openai-chat")

    said: Any = whole(ModelAnswer(reasoning="Hm. " * 9, text="Hi"), request)

    assert said["choices"][0]["message"] == {
        "role": "assistant",
        "content": "Hi",
        "refusal": None,
        "annotations": [],
    }
    assert said["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
