"""What the stub answers as OpenAI Responses, read as a client reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sidestep.provider.conversation import Reasoning, Text, ToolCall, Usage
from sidestep.provider.error import ProviderError
from sidestep.provider.failure import FailureKind
from sidestep.provider.json_value import listed
from sidestep.provider.route import Route
from sidestep.provider.stub.answer import ModelAnswer
from sidestep.provider.stub.capture import load_capture
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.script import script_of
from sidestep.provider.stub.wire.base import StubRequest
from sidestep.provider.stub.wire.openai_responses import ECHOED, TEXT, whole

from ..stub_client import RESPONSES, ask, asked, client, decoded, events, playing, rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNATURE = "gAAAAATESTfull"
CALLS = [
    {"id": "call_1", "name": "read_file", "input": {"path": "a.py"}},
    {"id": "call_2", "name": "pwd", "input": {}},
]
ANSWER = {"reasoning": "I think so.", "text": "Hello there", "tool_calls": CALLS, "chunk": 4}


def played(answer: Mapping[str, object]) -> list[Any]:
    return events(b"".join(rendered(answer, RESPONSES)))


def as_captured(name: str, **ids: str) -> list[Any]:
    """Return the events of a capture, with its ids replaced by those that the stub issues."""
    body = b"".join(load_capture(name).pieces).decode()
    for known, issued in {"resp_TEST": asked(RESPONSES).id("resp_"), **ids}.items():
        body = body.replace(known, issued)
    return events(body.replace('"store":false', '"store":true').encode())


@pytest.mark.asyncio
async def test_a_stream_is_read_back_as_the_parts_that_were_meant() -> None:
    async with playing(**ANSWER, usage={"input": 7, "output": 9, "cache_read": 3}) as stub:
        response = await ask(stub, RESPONSES)

    read, first = decoded(response.content, RESPONSES), asked(RESPONSES)
    ids = [first.item_id("fc", index, is_after=True) for index in (2, 3)]
    assert read.parts == [
        Reasoning(
            "I think so.",
            encrypted=first.signature(first.item_id("rs", 0)),
            item_id=first.item_id("rs", 0),
        ),
        Text("Hello there", item_id=first.item_id("msg", 1, is_after=True)),
        ToolCall("call_1", "read_file", {"path": "a.py"}, item_id=ids[0]),
        ToolCall("call_2", "pwd", {}, item_id=ids[1]),
    ]
    assert (read.stop, read.model, read.request_id) == ("completed", "gpt-x", first.id("resp_"))
    assert read.usage == Usage(input=10, output=9, cache_read=3, cache_write=0)


def without_echo(event: dict[str, Any]) -> dict[str, Any]:
    """Leave out what repeats the request; the captures were shortened by it."""
    if "response" not in event:
        return event
    kept = {
        key: value
        for key, value in event["response"].items()
        if key == "store" or key not in {*ECHOED, "completed_at"}
    }
    return {**event, "response": kept}


def test_a_response_repeats_what_was_asked_for() -> None:
    tool = {"type": "function", "name": "ls"}
    asked_for = {
        "model": "gpt-x",
        "input": "hi",
        "temperature": 0.5,
        "reasoning": {"effort": "low"},
        "tools": [tool, {"type": "web_search"}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "metadata": {"a": "b"},
        "store": False,
        "unknown": 1,
    }

    said = whole(ModelAnswer(text="Hi"), replace(asked(RESPONSES), body=asked_for))

    assert said["temperature"] == 0.5
    assert said["reasoning"] == {"effort": "low", "summary": None}
    assert said["tools"] == [
        {**tool, "description": None, "parameters": None, "strict": True},
        {"type": "web_search"},
    ]
    assert (said["tool_choice"], said["parallel_tool_calls"]) == ("required", False)
    assert (said["metadata"], said["store"]) == ({"a": "b"}, False)
    assert (said["top_p"], said["text"]) == (1.0, TEXT)
    assert "unknown" not in said


def test_a_call_after_thinking_comes_event_by_event_as_it_was_captured() -> None:
    """Source: fixtures/captures/responses_reasoning_function_call.json."""
    answer = {
        "signature": SIGNATURE,
        "tool_calls": CALLS[:1],
        "chunk": 8,
        "usage": {"input": 400, "cache_read": 600, "output": 80},
    }
    first = asked(RESPONSES)
    ids = {
        "rs_TEST1": first.item_id("rs", 0),
        "fc_TEST1": first.item_id("fc", 1, is_after=True),
        "call_TEST1": "call_1",
    }
    captured = as_captured("responses_reasoning_function_call", **ids)
    captured[2]["item"]["encrypted_content"] = SIGNATURE[: len(SIGNATURE) // 2]
    captured[-1]["response"]["usage"]["output_tokens_details"]["reasoning_tokens"] = 0

    assert [without_echo(each) for each in played(answer)] == captured


def test_every_event_is_named_after_its_type_and_numbered() -> None:
    pieces = rendered(ANSWER, RESPONSES)

    came = events(b"".join(pieces))
    names = [piece.split(b"\n")[0].removeprefix(b"event: ").decode() for piece in pieces]
    assert names == [event["type"] for event in came]
    assert [event["sequence_number"] for event in came] == list(range(len(came)))
    assert came[-1]["type"] == "response.completed"


OPEN = "deepseek/deepseek-v4-pro"
SHOWN = [{"type": "reasoning_text", "text": "Hm."}]
EMPTY = [{"type": "reasoning_text", "text": ""}]


def thought_on(route: str, reasoning: str, body: Mapping[str, object]) -> list[Any]:
    """Return the items of reasoning beside a call, in a response to *body* on *route*."""
    request = StubRequest(route=Route(route), dialect="openai-responses", body=body)
    calls = (ToolCall("call_1", "ls", {}),)
    output = whole(ModelAnswer(reasoning=reasoning, tool_calls=calls), request)
    return [each for each in listed(output["output"]) if each["type"] == "reasoning"]


THOUGHTS = [
    pytest.param(OPEN, "Hm.", {}, [SHOWN], id="DeepSeek"),
    pytest.param(OPEN, "", {}, [EMPTY], id="DeepSeek, which always thinks"),
    pytest.param(OPEN, "", {"reasoning": {"effort": "none"}}, [], id="DeepSeek, told not to"),
    pytest.param("deepseek/deepseek-chat", "", {}, [], id="a DeepSeek that does not think"),
    pytest.param("xai/grok-4", "Hm.", {}, [None], id="xAI"),
    pytest.param("xai/grok-4", "", {}, [], id="xAI, without thinking"),
]


@pytest.mark.parametrize(("route", "reasoning", "body", "shown"), THOUGHTS)
def test_deepseek_shows_its_reasoning_and_proves_nothing(
    route: str, reasoning: str, body: Mapping[str, object], shown: list[object]
) -> None:
    """Source: api-docs.deepseek.com/guides/responses_api, read on 2026-11-30."""
    thoughts = thought_on(route, reasoning, body)

    assert [each.get("content") for each in thoughts] == shown
    assert all(("content" in each) != ("encrypted_content" in each) for each in thoughts)


def test_the_reasoning_of_deepseek_is_read_back_from_its_events() -> None:
    played = Scenario.parse({"answers": {OPEN: {**ANSWER, "text": ""}}})
    answer = played.answer(Route(OPEN), 1)
    assert answer is not None
    first = StubRequest(route=Route(OPEN), dialect="openai-responses")

    read = decoded(b"".join(script_of(answer, first).pieces), RESPONSES)

    item_id = first.item_id("rs", 0)
    assert read.parts[0] == Reasoning("I think so.", item_id=item_id, field_name="content")


def test_thinking_and_text_come_in_parts_of_their_items() -> None:
    """Source: the types of the openai package 3.57."""
    *_, completed = came = played({"reasoning": "Hm", "text": "Hi"})

    kinds = [event["type"].removeprefix("response.") for event in came]
    assert kinds == [
        *("created", "in_progress"),
        *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"),
        *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        "completed",
    ]
    assert [event["output_index"] for event in came[2:-1]] == [0] * 6 + [1] * 6
    done = [event["item"] for event in came if event["type"] == "response.output_item.done"]
    assert completed["response"]["output"] == done
    assert [item["status"] for item in done] == ["completed", "completed"]


def test_the_encrypted_content_is_whole_only_at_the_end_of_its_item() -> None:
    came = played({"reasoning": "Hm", "signature": SIGNATURE, "text": "Hi"})

    told = [event["item"]["encrypted_content"] for event in came[2:8] if "item" in event]
    assert told == ["gAAAAAT", SIGNATURE]


@pytest.mark.asyncio
async def test_a_whole_answer_is_the_response_that_a_stream_ends_with() -> None:
    async with playing(**ANSWER) as stub, client(stub) as http:
        body = {"model": "gpt-x", "input": "hi", "store": False}
        response = await http.post("/openai/v1/responses", json=body)

    last = played(ANSWER)[-1]["response"]
    said = response.json()
    assert said.pop("store") is False
    assert last.pop("store") is True
    for each in (said, last):
        each["usage"].pop("input_tokens")
        each["usage"].pop("total_tokens")
    assert said == last
    assert stub.requests[0].route == RESPONSES


@pytest.mark.asyncio
async def test_another_reason_to_stop_makes_it_incomplete() -> None:
    """Source: fixtures/captures/responses_incomplete_max_tokens.json."""
    async with playing(text="Part", stop="max_output_tokens") as stub:
        response = await ask(stub, RESPONSES)

    last = events(response.content)[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["status"] == "incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert decoded(response.content, RESPONSES).stop == "max_output_tokens"


def test_an_error_in_the_stream_fails_the_response_as_it_was_captured() -> None:
    """Source: fixtures/captures/responses_failed_quota.json."""
    captured = as_captured("responses_failed_quota")
    error = captured[-1]["response"]["error"]

    assert [without_echo(each) for each in played({"error": error})] == captured


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        pytest.param(429, "rate_limit_exceeded", FailureKind.RATE_LIMIT, id="a status"),
        pytest.param(500, "server_error", FailureKind.SERVER_ERROR, id="a status without a code"),
        pytest.param("server_is_overloaded", "server_is_overloaded", FailureKind.OVERLOADED,
                     id="a code"),
        pytest.param({"code": "cyber_policy", "message": "no"}, "cyber_policy",
                     FailureKind.CONTENT_FILTER, id="an object"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("after", [0, 2])
def test_an_error_has_a_code_and_the_next_number(
    error: object, code: str, kind: FailureKind, after: int
) -> None:
    body = b"".join(rendered({"text": "one two three", "error": error, "after": after}, RESPONSES))

    *before, failed = events(body)
    assert failed["sequence_number"] == len(before)
    assert failed["response"]["error"]["code"] == code
    with pytest.raises(ProviderError) as caught:
        decoded(body, RESPONSES)
    assert caught.value.failure.kind is kind


@pytest.mark.asyncio
async def test_an_error_before_the_stream_names_its_request() -> None:
    """Source: fixtures/captures/openai_429_tpm.json."""
    async with playing(status=429) as stub:
        response = await ask(stub, RESPONSES)

    assert response.status_code == 429
    assert response.headers["x-request-id"].startswith("req_")
    assert response.json()["error"].keys() == {"message", "type", "param", "code"}
