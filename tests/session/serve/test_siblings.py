"""A sibling gets the conversation, and answers in the client's wire; then the primary is back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from .served import CLAUDE, Served, serving

pytestmark = pytest.mark.asyncio

SIBLINGS = ["anthropic/claude-opus-5-5", "groq/llama", "openai/gpt-5.6", "gemini/gemini-3-pro"]
DOWN = {"status": 503}
CALL = {"id": "call_1", "name": "read_file", "input": {"path": "src/a.py"}}
TOOL = {
    "name": "read_file",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
THINKS = {"reasoning": "I should read it.", "tool_calls": [CALL]}


def result_of(call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": call["id"], "content": "print(1)"}
        ],
    }  # fmt: skip


async def ask(
    served: Served, messages: Sequence[object], *, stream: bool = False
) -> httpx.Response:
    body = {"messages": messages, "tools": [TOOL], "max_tokens": 2048}
    return await served.ask(CLAUDE, stream=stream, **body)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("sibling", SIBLINGS)
async def test_a_sibling_answers_in_the_clients_wire(sibling: str, stream: bool) -> None:
    answers = {CLAUDE: DOWN, sibling: {"text": "From the sibling."}}
    async with serving(answers, siblings={CLAUDE: sibling}, strict=True) as served:
        answer = await ask(served, [{"role": "user", "content": "Hi"}], stream=stream)

        assert answer.status_code == 200
        assert answer.headers["x-sidestep-route"] == sibling
        if stream:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert answer.text.startswith("event: message_start\n")
            assert "From the sibling." in answer.text
        else:
            assert answer.json()["content"] == [{"type": "text", "text": "From the sibling."}]
            assert answer.json()["model"] == "claude-sonnet-5"


@pytest.mark.parametrize(
    ("query", "kind", "is_array"),
    [
        pytest.param("", "application/json", True, id="an array"),
        pytest.param("?alt=sse", "text/event-stream; charset=utf-8", False, id="events"),
        pytest.param("?alt=json", "application/json", True, id="JSON by name"),
    ],
)
async def test_a_client_of_gemini_gets_the_form_of_stream_that_it_asks_for(
    query: str, kind: str, is_array: bool
) -> None:
    gemini, body = "gemini/gemini-3-pro", {"contents": [{"parts": [{"text": "Hi"}]}]}
    answers = {gemini: DOWN, CLAUDE: {"text": "From the sibling."}}
    async with serving(answers, siblings={gemini: CLAUDE}) as served:
        path = f"/gemini/v1beta/models/gemini-3-pro:streamGenerateContent{query}"
        headers = {"authorization": f"Bearer {served.serve.token}"}

        answer = await served.http.post(path, json=body, headers=headers)

    assert answer.headers["content-type"] == kind
    assert answer.text.startswith("[") is is_array
    chunks = json.loads(answer.text) if is_array else [json.loads(answer.text.split("data: ")[1])]
    assert chunks[0]["candidates"][0]["content"]["parts"] == [{"text": "From the sibling."}]


@pytest.mark.parametrize("sibling", SIBLINGS)
async def test_a_turn_with_a_call_goes_on_at_the_sibling_and_then_at_the_primary(
    sibling: str,
) -> None:
    """The strict stub refuses what the real APIs refuse, such as proofs that it did not issue."""
    answers = {
        CLAUDE: [DOWN, {"text": "Done."}, {"text": "And again."}],
        sibling: [THINKS, {**THINKS, "tool_calls": [{**CALL, "id": "call_2"}]}],
    }
    async with serving(answers, siblings={CLAUDE: sibling}, strict=True) as served:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Read a.py"}]
        routes = []
        for _ in range(3):
            answer = await ask(served, messages)
            routes.append(answer.headers.get("x-sidestep-route", answer.text))
            content = answer.json()["content"]
            messages.append({"role": "assistant", "content": content})
            calls = [block for block in content if block["type"] == "tool_use"]
            messages += [result_of(call) for call in calls]
            if len(routes) == 2:
                served.clock.now += 61
        messages.append({"role": "user", "content": "Thanks."})
        last = await ask(served, messages)

        assert routes == [sibling, sibling, CLAUDE]
        assert last.status_code == 200
        assert last.headers["x-sidestep-route"] == CLAUDE
        refused = [each.answered for each in served.stub.requests if "strict" in each.answered]
        assert refused == []


async def test_a_siblings_thinking_goes_back_to_it_though_the_client_never_had_it() -> None:
    sibling = "anthropic/claude-opus-5-5"
    answers = {CLAUDE: DOWN, sibling: [THINKS, {"text": "Done."}]}
    async with serving(answers, siblings={CLAUDE: sibling}, strict=True) as served:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Read a.py"}]
        first = (await ask(served, messages)).json()["content"]
        assert [block["type"] for block in first] == ["tool_use"]
        messages += [{"role": "assistant", "content": first}, result_of(first[0])]
        answer = await ask(served, messages)

        assert answer.status_code == 200
        body: Any = served.stub.requests[-1].body
        assert "I should read it." in json.dumps(body["messages"])


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, id="tool"),
        pytest.param(
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "document",
                                "source": {"type": "text", "data": "x", "media_type": "text/plain"},
                            }
                        ],
                    }
                ]
            },
            id="document",
        ),
        pytest.param({"container": "c"}, id="container"),
    ],
)
async def test_what_cannot_be_read_goes_only_as_own_bytes_and_why_is_told(
    changes: dict[str, Any],
) -> None:
    answers = {CLAUDE: [DOWN, {"text": "Hello."}], "groq/llama": {"text": "Never."}}
    async with serving(answers, siblings={CLAUDE: "groq/llama"}) as served:
        answer = await served.ask(CLAUDE, **changes)
        message = answer.json()["error"]["message"]

        assert answer.status_code == 503
        assert "groq/llama (cannot be asked for this: " in message
        assert [str(each.route) for each in served.stub.requests] == [CLAUDE]


async def test_a_body_that_no_conversation_is_may_still_go_to_its_own_provider() -> None:
    answers = {CLAUDE: {"text": "Hello."}, "groq/llama": {"text": "Never."}}
    async with serving(answers, siblings={CLAUDE: "groq/llama"}) as served:
        answer = await served.ask(CLAUDE, messages="strange", max_tokens="many")

        assert answer.status_code == 200
        assert "Hello." in answer.text


async def test_a_route_of_another_wire_can_be_asked_for_by_name() -> None:
    async with serving({"groq/llama": {"text": "Hello."}}) as served:
        body = {"model": "groq/llama", "max_tokens": 9, "messages": [
            {"role": "user", "content": "Hi"}]}  # fmt: skip
        answer = await served.http.post("/v1/messages", json=body)

        assert answer.json()["content"] == [{"type": "text", "text": "Hello."}]
        assert answer.json()["model"] == "groq/llama"
        assert served.stub.requests[0].path == "/groq/v1/chat/completions"


async def test_a_repair_changes_the_request_of_a_sibling_once() -> None:
    error = {
        "message": "Unsupported parameter: 'temperature' is not supported with this model.",
        "code": "unsupported_parameter",
        "param": "temperature",
        "type": "invalid_request_error",
    }
    refusal = {"status": 400, "body": {"error": error}}
    answers = {CLAUDE: DOWN, "groq/llama": [refusal, {"text": "Repaired."}]}
    async with serving(answers, siblings={CLAUDE: "groq/llama"}) as served:
        answer = await served.ask(CLAUDE, temperature=0.5)

        assert "Repaired." in answer.text
        assert len(served.stub.requests) == 3
