"""A strict stub over real sockets: it accepts what it issued, and a refusal uses up no answer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

pytestmark = pytest.mark.asyncio

FABLE = "anthropic/claude-fable-5-1"
CLAUDE = "openrouter/anthropic/claude-sonnet-5"
O3 = "openai/o3"
THIRD = "gemini/gemini-3-pro"
STEP = {
    "reasoning": "I look.",
    "text": "Ok",
    "tool_calls": [{"name": "ls", "input": {"path": "."}}, {"name": "cat"}],
}
DONE = {"reasoning": "I know.", "text": "One file."}
SCHEMA = {"type": "object"}
GENERATE = "/gemini/v1beta/models/gemini-3-pro:generateContent"


def strict() -> Stub:
    answers = {route: [STEP, STEP, DONE] for route in (FABLE, CLAUDE, O3, THIRD)}
    return Stub(Scenario.parse({"answers": answers}), strict=True)


async def post(stub: Stub, path: str, body: dict[str, Any]) -> Any:
    async with httpx.AsyncClient(base_url=stub.url, timeout=60, trust_env=False) as http:
        response = await http.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def test_anthropic_takes_back_what_it_issued() -> None:
    async with strict() as stub:
        body: dict[str, Any] = {
            "model": "claude-fable-5-1",
            "max_tokens": 4096,
            "messages": [{"role": "user", "content": "Look around."}],
            "tools": [{"name": name, "input_schema": SCHEMA} for name in ("ls", "cat")],
        }
        for _ in range(3):
            answer = await post(stub, "/anthropic/v1/messages", body)
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": call["id"], "content": "a.py"}
                for call in calls
            ]
            text = {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}
            body["messages"] += [
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": [*results, text]},
            ]
            text.pop("cache_control")

        assert [each.answered for each in stub.requests] == ["tool_calls", "tool_calls", "text"]


async def test_openrouter_takes_back_what_it_issued() -> None:
    async with strict() as stub:
        function = {"name": "ls", "parameters": SCHEMA}
        body: dict[str, Any] = {
            "model": "anthropic/claude-sonnet-5",
            "messages": [{"role": "user", "content": "Look around."}],
            "tools": [{"type": "function", "function": function}],
        }
        for _ in range(3):
            answer = await post(stub, "/openrouter/api/v1/chat/completions", body)
            message = answer["choices"][0]["message"]
            body["messages"] += [
                message,
                *(
                    {"role": "tool", "tool_call_id": call["id"], "content": "a.py"}
                    for call in message.get("tool_calls", [])
                ),
            ]

        assert [each.answered for each in stub.requests] == ["tool_calls", "tool_calls", "text"]


async def test_responses_take_back_what_they_issued() -> None:
    async with strict() as stub:
        body: dict[str, Any] = {
            "model": "o3",
            "store": False,
            "input": [{"role": "user", "content": "Look around."}],
            "tools": [{"type": "function", "name": "ls", "parameters": SCHEMA}],
        }
        for _ in range(3):
            answer = await post(stub, "/openai/v1/responses", body)
            calls = [item for item in answer["output"] if item["type"] == "function_call"]
            body["input"] += [
                *answer["output"],
                *(
                    {"type": "function_call_output", "call_id": call["call_id"], "output": "a.py"}
                    for call in calls
                ),
            ]

        assert [each.answered for each in stub.requests] == ["tool_calls", "tool_calls", "text"]


async def test_responses_miss_the_reasoning_that_a_call_came_with() -> None:
    async with strict() as stub:
        body: dict[str, Any] = {"model": "o3", "input": "Look around.", "store": False}
        answer = await post(stub, "/openai/v1/responses", body)
        reasoning, _, *calls = answer["output"]
        outputs = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": "a.py"}
            for call in calls
        ]
        body["input"] = [{"role": "user", "content": "Look around."}, *calls, *outputs]

        with pytest.raises(
            AssertionError, match=f"without its required 'reasoning' item: '{reasoning['id']}'"
        ):
            await post(stub, "/openai/v1/responses", body)


async def test_gemini_takes_back_what_it_issued() -> None:
    async with strict() as stub:
        body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Look around."}]}]}
        for _ in range(3):
            answer = await post(stub, GENERATE, body)
            content = answer["candidates"][0]["content"]
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            responses = [
                {"functionResponse": {"id": call["id"], "name": call["name"], "response": {}}}
                for call in calls
            ]
            said: list[Any] = [*responses] or [{"text": "Go on."}]
            body["contents"] += [content, {"role": "user", "parts": said}]
        await post(stub, GENERATE, body)

        assert [each.answered for each in stub.requests] == [
            "tool_calls",
            "tool_calls",
            "text",
            "text",
        ]


async def test_a_refused_request_takes_no_answer() -> None:
    async with strict() as stub:
        good = {
            "model": "claude-fable-5-1",
            "max_tokens": 4096,
            "messages": [{"role": "user", "content": "Look around."}],
        }
        bad = {**good, "temperature": 0.5}
        async with httpx.AsyncClient(base_url=stub.url, timeout=60, trust_env=False) as http:
            refused = await http.post("/anthropic/v1/messages", json=bad)
            answer = await http.post("/anthropic/v1/messages", json=good)
            came = (await http.get("/_stub/requests")).json()

        error = json.loads(refused.content)
        assert refused.status_code == 400
        assert error["error"]["message"] == "`temperature` is deprecated for this model."
        assert refused.headers["request-id"] == error["request_id"]
        assert answer.json()["stop_reason"] == "tool_use"
        assert [each["answered"] for each in came] == ["400 strict", "tool_calls"]


async def test_a_stub_that_is_not_strict_takes_it() -> None:
    body = {"model": "claude-fable-5-1", "temperature": 0.5, "messages": []}
    async with Stub() as lenient:
        answer = await post(lenient, "/anthropic/v1/messages", body)

    assert answer["type"] == "message"


async def test_two_stubs_issue_different_ids_to_one_conversation() -> None:
    body: dict[str, Any] = {"model": "o3", "input": [{"role": "user", "content": "Hi"}]}
    ids = set()
    for _ in range(2):
        async with Stub() as each:
            answer = await post(each, "/openai/v1/responses", body)
        body["input"] += [*answer["output"], {"role": "user", "content": "Go on."}]
        ids.add(answer["output"][0]["id"])

    assert len(ids) == 2
