"""A client of each wire, and a sibling on each wire: a turn with a call, through an outage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Part, Text, ToolCall
from sidestep.provider.wire.reading import Reading

from .served import serving

pytestmark = pytest.mark.asyncio

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CALL = {"id": "call_abcdefgh1", "name": "read_file", "input": {"path": "a.py"}}
DOWN = {"status": 503}
SIBLINGS = ("anthropic/claude-opus-5-5", "groq/llama-3", "openai/gpt-5.6", "gemini/gemini-3-pro")


@dataclass(frozen=True)
class Dialogue:
    """How a client of one wire writes its turn.

    Args:
        route: What it asks for.
        first: The body of its first request.
        then: Returns the body after an answer, as the official SDK's user would write it.
    """

    route: str
    first: Mapping[str, Any]
    then: Callable[[Mapping[str, Any], Any], dict[str, Any]]


def anthropic_then(body: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "print(1)"} for call in calls
    ]
    said = {"role": "assistant", "content": answer["content"]}
    return {**body, "messages": [*body["messages"], said, {"role": "user", "content": results}]}


def chat_then(body: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    said = answer["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "print(1)"}
        for call in said["tool_calls"]
    ]
    return {**body, "messages": [*body["messages"], said, *results]}


def responses_then(body: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "print(1)"}
        for item in answer["output"]
        if item["type"] == "function_call"
    ]
    return {**body, "input": [*body["input"], *answer["output"], *results]}


def gemini_then(body: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    said = answer["candidates"][0]["content"]
    results = [
        {
            "functionResponse": {
                **{
                    key: part["functionCall"][key]
                    for key in ("id", "name")
                    if key in part["functionCall"]
                },
                "response": {"output": "print(1)"},
            }
        }
        for part in said["parts"]
        if "functionCall" in part
    ]
    after = [said, {"role": "user", "parts": results}]
    return {**body, "contents": [*body["contents"], *after]}


DIALOGUES = {
    "anthropic": Dialogue(
        "anthropic/claude-sonnet-5",
        {
            "max_tokens": 4096,
            "messages": [{"role": "user", "content": "Read a.py"}],
            "tools": [{"name": "read_file", "input_schema": SCHEMA}],
        },
        anthropic_then,
    ),
    "openai-chat": Dialogue(
        "groq/llama-4",
        {
            "messages": [{"role": "user", "content": "Read a.py"}],
            "tools": [
                {"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}
            ],
        },
        chat_then,
    ),
    "openai-responses": Dialogue(
        "openai/gpt-5.5",
        {
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "input": [{"type": "message", "role": "user", "content": "Read a.py"}],
            "tools": [
                {"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": False}
            ],
        },
        responses_then,
    ),
    "gemini": Dialogue(
        "gemini/gemini-3-pro-preview",
        {
            "contents": [{"role": "user", "parts": [{"text": "Read a.py"}]}],
            "tools": [
                {"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": SCHEMA}]}
            ],
        },
        gemini_then,
    ),
}


LISTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "anthropic": ("messages", {"role": "user", "content": "Go on."}),
    "openai-chat": ("messages", {"role": "user", "content": "Go on."}),
    "openai-responses": ("input", {"type": "message", "role": "user", "content": "Go on."}),
    "gemini": ("contents", {"role": "user", "parts": [{"text": "Go on."}]}),
}
"""Where the messages of each wire stand, and the user's next one."""


@pytest.mark.parametrize("sibling", SIBLINGS)
@pytest.mark.parametrize("wire", DIALOGUES)
async def test_a_turn_survives_an_outage_on_any_pair_of_wires(wire: str, sibling: str) -> None:
    """Two steps at the sibling, two at the primary in the same turn, and one in the next."""
    dialogue = DIALOGUES[wire]
    thinks = {"reasoning": "I should read it.", "tool_calls": [CALL]}
    again = {**thinks, "tool_calls": [{**CALL, "id": "call_abcdefgh2"}]}
    answers = {
        dialogue.route: [DOWN, {"reasoning": "So.", **again}, {"text": "Done."}],
        sibling: [thinks, {**thinks, "tool_calls": [{**CALL, "id": "call_abcdefgh3"}]}],
    }
    async with serving(answers, siblings={dialogue.route: sibling}, strict=True) as served:
        body, routes = dict(dialogue.first), []
        for number in range(4):
            answer = await served.ask(dialogue.route, stream=False, **body)
            assert answer.status_code == 200, answer.text
            routes.append(answer.headers["x-sidestep-route"])
            if number < 3:
                body = dialogue.then(body, answer.json())
            if number == 1:
                served.clock.now += 61

        place, asked = LISTS[wire]
        later = {**body, place: [*body[place], asked]}
        answer = await served.ask(dialogue.route, stream=False, **later)

        assert answer.headers["x-sidestep-route"] == dialogue.route
        assert routes == [sibling, sibling, dialogue.route, dialogue.route]
        assert "Done." in answer.text
        assert [each.answered for each in served.stub.requests if "strict" in each.answered] == []


CHATS = (
    *("groq/llama-4", "openrouter/z-ai/glm-5.2", "openrouter/anthropic/claude-sonnet-5"),
    *("deepseek/deepseek-v4-pro", "zai/glm-4.6", "moonshot/kimi-k3", "mistral/magistral-medium"),
    *("cerebras/gpt-oss-120b", "openai-chat/gpt-4.1", "minimax/MiniMax-M2", "xai/grok-4"),
)


@pytest.mark.parametrize("route", CHATS)
async def test_what_a_sibling_wrote_is_refused_by_no_vendor_of_chat_completions(route: str) -> None:
    """In the same turn, and as the client's own bytes in the next one."""
    dialogue = DIALOGUES["openai-chat"]
    sibling = "openai/gpt-5.6"
    answers = {
        route: [DOWN, {"text": "Back."}],
        sibling: {"reasoning": "I should read it.", "text": "Reading.", "tool_calls": [CALL]},
    }
    async with serving(answers, siblings={route: sibling}, strict=True) as served:
        provider, _, model = route.partition("/")
        path = f"/{provider}/v1/chat/completions"
        body = {"model": model, **dialogue.first}
        first = await served.http.post(path, json=body)
        served.clock.now += 61
        body = dialogue.then(body, first.json())
        second = await served.http.post(path, json=body)
        said = second.json()["choices"][0]["message"]
        body["messages"] += [said, {"role": "user", "content": "Go on."}]
        third = await served.http.post(path, json=body)

        routes = [each.headers.get("x-sidestep-route") for each in (first, second, third)]
        assert routes == [sibling, route, route]
        assert [each.answered for each in served.stub.requests if "strict" in each.answered] == []


@pytest.mark.parametrize("sibling", SIBLINGS)
@pytest.mark.parametrize("wire", DIALOGUES)
async def test_a_streamed_answer_of_a_sibling_is_read_by_our_own_decoder(
    wire: str, sibling: str
) -> None:
    dialogue = DIALOGUES[wire]
    answer = {"reasoning": "Hm.", "text": "Reading.", "tool_calls": [CALL]}
    answers = {dialogue.route: DOWN, sibling: answer}
    async with serving(answers, siblings={dialogue.route: sibling}) as served:
        came = await served.ask(dialogue.route, **dialogue.first)
        provider = Provider(dialogue.route.partition("/")[0], wire, "http://x", None)  # type: ignore[arg-type]
        reading = Reading(provider)
        reading.feed(came.content)
        reading.end()

        assert reading.failed is None
        assert outline(reading.decoder.parts) == ["Reading.", ("read_file", {"path": "a.py"})]


def outline(parts: list[Part]) -> list[object]:
    texts = [part.text for part in parts if isinstance(part, Text) and part.text]
    calls = [(part.name, part.input) for part in parts if isinstance(part, ToolCall)]
    return [*texts, *calls]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", DIALOGUES)
async def test_a_failure_is_told_in_the_clients_wire(wire: str, stream: bool) -> None:
    route = DIALOGUES[wire].route
    async with serving(
        {route: DOWN, "zai/glm": {"status": 429}}, siblings={route: "zai/glm"}
    ) as served:
        answer = await served.ask(route, stream=stream, **DIALOGUES[wire].first)
        error = answer.json()["error"] if answer.text.startswith("{") else answer.json()[0]["error"]

        assert answer.status_code == 429
        assert "2 attempts failed" in error["message"]
        assert answer.headers["retry-after"] == "60"


@pytest.mark.parametrize("wire", DIALOGUES)
async def test_a_failure_after_pings_ends_the_stream_as_the_wire_does(wire: str) -> None:
    route = DIALOGUES[wire].route
    slow = {"text": "Half.", "delay": 0.05, "after": 0, "error": 503}
    async with serving({route: slow}, status_after=0.0, ping_every=60.0) as served:
        answer = await served.ask(route, **DIALOGUES[wire].first)
        provider = Provider(route.partition("/")[0], wire, "http://x", None)  # type: ignore[arg-type]
        reading = Reading(provider)
        reading.feed(answer.content)
        reading.end()

        assert answer.status_code == 200
        assert reading.failed is not None
        assert "attempt" in reading.failed.message
