"""What a client of the stub sees, over real sockets; and what the stub saw of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.conversation import Reasoning, Text, ToolCall
from sidestep.provider.error import ConfigError, ProviderError
from sidestep.provider.failure import FailureKind
from sidestep.provider.route import Route
from sidestep.provider.stub.answer import Cut, ModelAnswer
from sidestep.provider.stub.capture import load_capture
from sidestep.provider.stub.endpoint import KNOWN
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.script import script_of
from sidestep.provider.stub.server import Stub
from sidestep.provider.stub.vendor_error import to_json
from sidestep.provider.stub.wire.base import StubRequest

from .stub_client import (
    ANTHROPIC,
    CALL,
    CHAT,
    DIALECTS,
    GEMINI,
    OPENROUTER,
    PATHS,
    RESPONSES,
    ask,
    client,
    decoded,
    events,
    outputs,
    path_to,
    playing,
    read_until_it_breaks,
    rendered,
    request,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

WIRES = pytest.mark.parametrize("route", DIALECTS)


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
@pytest.mark.parametrize("provider", KNOWN)
async def test_an_answer_is_read_back_as_it_was_meant(provider: str) -> None:
    route = f"{provider}/m"
    text, thought = "Gr\u00fc\u00dfe, \u2028 \U0001f600" * 2, "I think so. " * 3
    answer = {"reasoning": thought, "text": text, "tool_calls": [CALL], "chunk": 5}
    async with Stub(Scenario.parse({"answers": {route: answer}})) as stub:
        response = await ask(stub, route)

    read = decoded(response.content, route)
    reasoning, said, call = read.parts
    assert isinstance(reasoning, Reasoning)
    assert isinstance(said, Text)
    assert isinstance(call, ToolCall)
    assert (reasoning.text, reasoning.complete, said.text) == (thought, True, text)
    assert (call.id, call.name, call.input) == ("call_1", CALL["name"], CALL["input"])
    assert read.model == "m"


@pytest.mark.parametrize(
    ("route", "form"),
    [
        pytest.param(ANTHROPIC, "toolu_[0-9a-f]{24}", id="anthropic"),
        pytest.param(CHAT, "call_[0-9a-f]{24}", id="chat"),
        pytest.param(RESPONSES, "call_[0-9a-f]{24}", id="responses"),
        pytest.param("mistral/x", "[0-9a-f]{9}", id="mistral"),
    ],
)
def test_a_call_without_an_id_gets_one_in_the_form_of_its_provider(route: str, form: str) -> None:
    answer = {"tool_calls": [{"name": "pwd"}, {"name": "ls"}]}

    first, second = decoded(b"".join(rendered(answer, route)), route).parts

    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert re.fullmatch(form, first.id)
    assert re.fullmatch(form, second.id)
    assert first.id != second.id


@pytest.mark.asyncio
async def test_mistral_puts_thinking_into_the_content_of_a_whole_answer() -> None:
    answer = {"reasoning": "Hm", "text": "Hello"}
    async with Stub(Scenario.parse({"answers": {"mistral/m": answer}})) as stub:
        response = await ask(stub, "mistral/m", stream=False)

    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}], "closed": True}
    (choice,) = response.json()["choices"]
    assert choice["message"]["content"] == [thought, {"type": "text", "text": "Hello"}]


def test_the_stub_signs_reasoning_for_one_route_and_request_only() -> None:
    answer = ModelAnswer(reasoning="Hm")
    requests = [
        StubRequest(route=Route(ANTHROPIC), dialect="anthropic", number=number)
        for number in (1, 1, 2)
    ]

    first, again, other = (script_of(answer, each).pieces for each in requests)

    assert first == again
    assert b"signature_delta" in b"".join(first)
    assert first != other


@given(
    text=st.text(max_size=40),
    reasoning=st.text(max_size=20),
    chunk=st.integers(1, 9),
    after=st.none() | st.integers(0, 20),
)
def test_a_fault_comes_after_the_same_output_in_every_wire(
    text: str, reasoning: str, chunk: int, after: int | None
) -> None:
    answer = ModelAnswer(text=text, reasoning=reasoning, chunk=chunk, fault=Cut(), after=after)

    came = [
        b"".join(script_of(answer, StubRequest(route=Route(route), dialect=dialect)).pieces)
        for route, dialect in DIALECTS.items()
    ]

    assert all(outputs(each) == outputs(came[0]) for each in came)
    assert len(outputs(came[0])) == min(
        len(outputs(came[0])) if after is None else after,
        -(-len(text) // chunk) - (-len(reasoning) // chunk),
    )
    if after == 0:
        assert came == [b""] * len(DIALECTS)


@pytest.mark.asyncio
@WIRES
async def test_a_client_reads_the_whole_answer(route: str) -> None:
    text = "Gr\u00fc\u00dfe, \u2028 \U0001f600" * 9
    async with playing(text=text, chunk=3, comments=2) as stub:
        response = await ask(stub, route)

    assert response.headers["content-type"].startswith("text/event-stream")
    assert "".join(outputs(response.content)) == text
    assert stub.requests[0].answered == "text"
    assert not stub.requests[0].closed_by_client
    first = response.content.split(b"data: {")[0]
    assert {ANTHROPIC: b"ping", GEMINI: b"\r\n\r\n"}.get(route, b": ") in first


@pytest.mark.asyncio
@WIRES
async def test_an_error_comes_in_the_stream_after_some_output(route: str) -> None:
    async with playing(text="one two three", chunk=4, error=529, after=2) as stub:
        response = await ask(stub, route)

    assert response.status_code == 200
    assert outputs(response.content) == ["one ", "two "]
    with pytest.raises(ProviderError) as caught:
        decoded(response.content, route)
    assert caught.value.failure.kind in {FailureKind.OVERLOADED, FailureKind.SERVER_ERROR}
    assert stub.requests[0].answered == "error after 2"


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


@pytest.mark.asyncio
async def test_an_error_can_be_the_first_event() -> None:
    """Source: fixtures/captures/anthropic_stream_overloaded_first.json."""
    async with playing(error="overloaded_error", after=0) as stub:
        response = await ask(stub, ANTHROPIC)

    (event,) = events(response.content)
    assert event["error"] == {"type": "overloaded_error", "message": "Overloaded"}


@pytest.mark.asyncio
@WIRES
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param("cut", None, id="cut"),
        pytest.param("abort", httpx.RemoteProtocolError, id="abort"),
        pytest.param("reset", httpx.ReadError, id="reset"),
    ],
)
async def test_a_stream_breaks_off(
    route: str, fault: str, error: type[httpx.TransportError] | None
) -> None:
    async with playing(text="one two three", chunk=4, after=2, **{fault: True}) as stub:
        came, broke = await read_until_it_breaks(stub, route)

    assert outputs(came) == ["one ", "two "]
    assert type(broke) is (type(None) if error is None else error)
    assert stub.requests[0].answered == f"{fault} after 2"
    assert not stub.requests[0].closed_by_client


@pytest.mark.asyncio
@WIRES
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param("cut", httpx.RemoteProtocolError, id="cut"),
        pytest.param("abort", httpx.RemoteProtocolError, id="abort"),
        pytest.param("reset", httpx.ReadError, id="reset"),
    ],
)
async def test_a_whole_answer_breaks_off_in_its_body(
    route: str, fault: str, error: type[httpx.TransportError]
) -> None:
    async with playing(text="one two three", **{fault: True}) as stub:
        came, broke = await read_until_it_breaks(stub, route, stream=False)

    assert came.startswith(b"{")
    assert type(broke) is error


@pytest.mark.asyncio
@WIRES
async def test_an_error_without_a_stream_is_a_status(route: str) -> None:
    async with playing(text="one", error=503) as stub:
        response = await ask(stub, route, stream=False)

    assert response.status_code == 503
    assert response.json()["error"]["message"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param({"type": "overloaded_error"}, 529, id="type of anthropic"),
        pytest.param({"type": "timeout_error"}, 504, id="type of two statuses"),
        pytest.param({"code": 502, "message": "gone"}, 502, id="code of openrouter"),
        pytest.param({"metadata": {"error_type": "payment_required"}}, 402, id="error_type"),
        pytest.param({"type": "requests", "code": "rate_limit_exceeded"}, 429, id="code"),
        pytest.param({"code": "insufficient_quota"}, 429, id="code that shares its status"),
        pytest.param({"status": "RESOURCE_EXHAUSTED"}, 429, id="status of gemini"),
        pytest.param({"status": "UNAVAILABLE"}, 503, id="another of gemini"),
        pytest.param({"code": 7, "type": "made_up"}, 500, id="nothing known"),
        pytest.param({}, 500, id="nothing at all"),
    ],
)
async def test_an_error_object_stands_for_a_status(error: dict[str, object], status: int) -> None:
    async with playing(error=error) as stub:
        response = await ask(stub, CHAT, stream=False)

    assert (response.status_code, response.json()) == (status, {"error": error})


@pytest.mark.asyncio
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_a_stall_lasts_until_the_client_leaves(stream: bool) -> None:
    async with playing(text="one", stall=True) as stub:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_until_it_breaks, stub, OPENROUTER)
                received = await stub.wait_for(1)
                assert not received.over.is_set()
                tasks.cancel_scope.cancel()
            await received.left.wait()

    assert received.closed_by_client
    assert received.answered == "stall"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("route", "comment"),
    [
        pytest.param(ANTHROPIC, "event: ping", id="anthropic"),
        pytest.param(OPENROUTER, ": OPENROUTER PROCESSING", id="openrouter"),
        pytest.param(CHAT, ": keep-alive", id="the others"),
        pytest.param(RESPONSES, ": keep-alive", id="responses"),
        pytest.param(GEMINI, "", id="gemini"),
    ],
)
async def test_a_stalled_stream_is_kept_alive(route: str, comment: str) -> None:
    async with playing(stall=True, after=0, keepalive=0.001) as stub, client(stub) as http:
        with anyio.fail_after(60):
            response = await http.send(request(http, route), stream=True)
            lines = response.aiter_lines()
            seen = 0
            while seen < 3:
                seen += await anext(lines) == comment
            await response.aclose()
            await stub.requests[0].left.wait()


@pytest.mark.asyncio
@pytest.mark.parametrize("route", [ANTHROPIC, OPENROUTER, CHAT])
async def test_a_request_for_no_stream_gets_one_object(route: str) -> None:
    answer = {"reasoning": "Hm", "text": "Hello", "tool_calls": [CALL]}
    async with playing(**answer) as stub:
        response = await ask(stub, route, stream=False)

    body = response.json()
    if route == ANTHROPIC:
        kinds = [block["type"] for block in body["content"]]
        assert kinds == ["thinking", "text", "tool_use"]
        assert (body["stop_reason"], body["content"][1]["text"]) == ("tool_use", "Hello")
    else:
        (choice,) = body["choices"]
        assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", "Hello")
        function = choice["message"]["tool_calls"][0]["function"]
        assert json.loads(function["arguments"]) == CALL["input"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("route", "status", "error"),
    [
        pytest.param(ANTHROPIC, 529, {"type": "overloaded_error"}, id="anthropic"),
        pytest.param(ANTHROPIC, 404, {"message": "model: claude"}, id="a model is named"),
        pytest.param(ANTHROPIC, 599, {"type": "api_error"}, id="a status of no name"),
        pytest.param(OPENROUTER, 503, {"code": 503}, id="openrouter"),
        pytest.param(OPENROUTER, 418, {"code": 418}, id="another of no name"),
        pytest.param(CHAT, 429, {"code": "rate_limit_exceeded", "param": None}, id="chat"),
        pytest.param(RESPONSES, 503, {"code": "server_is_overloaded"}, id="responses"),
        pytest.param(GEMINI, 503, {"code": 503, "status": "UNAVAILABLE"}, id="gemini"),
        pytest.param(GEMINI, 418, {"code": 418, "status": "INVALID_ARGUMENT"}, id="gemini's own"),
    ],
)
async def test_a_status_comes_in_the_words_of_its_provider(
    route: str, status: int, error: dict[str, object]
) -> None:
    async with playing(status=status, headers={"retry-after": "7"}) as stub:
        response = await ask(stub, route)

    assert (response.status_code, response.headers["retry-after"]) == (status, "7")
    assert response.json()["error"].items() >= error.items()
    assert stub.requests[0].answered == str(status)


@pytest.mark.asyncio
@pytest.mark.parametrize("route", [CHAT, RESPONSES])
async def test_an_edge_speaks_html_in_place_of_openai(route: str) -> None:
    async with playing(status=502) as stub:
        response = await ask(stub, route)

    assert response.headers["content-type"] == "text/html"
    assert response.text.startswith("<html>")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("body", "sent", "kind"),
    [
        pytest.param({"error": None}, b'{"error":null}', "application/json", id="object"),
        pytest.param("no JSON", b"no JSON", "text/plain", id="text"),
        pytest.param("<p>", b"<p>", "text/html", id="HTML"),
        pytest.param("", b"", "text/plain", id="empty"),
    ],
)
async def test_a_body_of_ones_own_is_sent_as_it_is(body: object, sent: bytes, kind: str) -> None:
    async with playing(status=500, body=body) as stub:
        response = await ask(stub, CHAT)

    assert (response.content, response.headers["content-type"]) == (sent, kind)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "name",
    [
        "openrouter_stream_error",
        "anthropic_429_rate_limit",
        "framing_split_utf8",
        "cerebras_413_empty_body",
        "stream_empty_200",
    ],
)
async def test_a_capture_is_replayed_byte_for_byte(name: str) -> None:
    capture = load_capture(name)
    async with playing(capture=name) as stub:
        response = await ask(stub, OPENROUTER)

    assert response.status_code == capture.status
    assert response.headers.items() >= dict(capture.headers).items()
    assert response.content == b"".join(capture.pieces)


@pytest.mark.asyncio
async def test_concurrent_requests_take_successive_answers() -> None:
    answers = [{"status": 500 + number} for number in range(9)]
    seen = []

    async def once(stub: Stub) -> None:
        seen.append((await ask(stub, ANTHROPIC)).status_code)

    scenario = Scenario.parse({"answers": {ANTHROPIC: answers}})
    async with Stub(scenario) as stub, anyio.create_task_group() as tasks:
        for _ in answers:
            tasks.start_soon(once, stub)

    assert sorted(seen) == [500 + number for number in range(9)]


@pytest.mark.asyncio
async def test_a_route_that_is_not_in_the_scenario_is_not_found() -> None:
    async with Stub(Scenario.parse({"answers": {ANTHROPIC: {"text": "hi"}}})) as stub:
        response = await ask(stub, OPENROUTER)

    assert response.status_code == 404
    assert f"no answer for '{OPENROUTER}'" in response.json()["error"]["message"]


@pytest.mark.asyncio
async def test_without_a_scenario_every_route_answers_with_its_name() -> None:
    async with Stub() as stub:
        response = await ask(stub, "openai/gpt-x")

    assert "openai/gpt-x" in "".join(outputs(response.content))


@pytest.mark.asyncio
async def test_a_provider_refuses_while_another_answers() -> None:
    answers = {ANTHROPIC: {"refuse": True}, CHAT: {"text": "hi"}}
    async with Stub(Scenario.parse({"answers": answers})) as stub:
        where = stub.providers()
        async with httpx.AsyncClient(trust_env=False) as http:
            with pytest.raises(httpx.ConnectError):
                await http.post(f"{where['anthropic']['baseUrl']}/v1/messages")
        at_its_path = await ask(stub, ANTHROPIC)
        response = await ask(stub, CHAT)

    assert "refuses connections to 'anthropic'" in at_its_path.json()["error"]["message"]
    assert response.status_code == 200
    assert where["groq"] == {
        "wire": "openai-chat",
        "baseUrl": f"{stub.url}/groq/v1",
        "apiKeyEnv": None,
    }


@pytest.mark.asyncio
async def test_the_stub_says_where_its_providers_are() -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.get("/_stub/providers")

    said = response.json()
    assert said == stub.providers()
    assert said["anthropic"]["baseUrl"] == f"{stub.url}/anthropic"
    assert said["openrouter"]["baseUrl"] == f"{stub.url}/openrouter/api/v1"


@pytest.mark.asyncio
async def test_the_stub_lists_every_provider_that_we_know_in_its_own_wire() -> None:
    async with Stub() as stub:
        said = stub.providers()

    assert {name: wire["wire"] for name, wire in said.items()} == {
        name: provider.wire for name, provider in catalog().items()
    }
    assert said["gemini"]["baseUrl"] == f"{stub.url}/gemini/v1beta"
    assert said["openai"]["baseUrl"] == f"{stub.url}/openai/v1"
    assert said["openrouter"]["baseUrl"] == f"{stub.url}/openrouter/api/v1"
    assert said["zai-anthropic"]["baseUrl"] == f"{stub.url}/zai-anthropic"


@pytest.mark.asyncio
async def test_the_stub_lists_what_came_without_its_secrets() -> None:
    times = iter([100.0, 102.5])
    scenario = Scenario.parse({"answers": {ANTHROPIC: [{"status": 503}, {"text": "hi"}]}})
    async with Stub(scenario, timer=lambda: next(times)) as stub, client(stub) as http:
        sent = request(http, ANTHROPIC)
        sent.headers.update({"X-Api-Key": "sk-secret", "Authorization": "Bearer secret"})
        await http.send(sent)
        listed = await http.get("/_stub/requests")

    assert "secret" not in listed.text
    (came,) = listed.json()
    headers = came.pop("headers")
    assert (headers["x-api-key"], headers["authorization"]) == ("***", "***")
    assert came == {
        "route": ANTHROPIC,
        "method": "POST",
        "path": "/anthropic/v1/messages",
        "at": 2.5,
        "answered": "503",
        "closed_by_client": False,
        "body": {"model": "claude", "stream": True, "messages": []},
    }


@pytest.mark.asyncio
async def test_a_reset_starts_the_answers_afresh() -> None:
    scenario = Scenario.parse({"answers": {ANTHROPIC: [{"status": 503}, {"text": "hi"}]}})
    async with Stub(scenario) as stub, client(stub) as http:
        before = [(await ask(stub, ANTHROPIC)).status_code for _ in range(2)]
        await http.post("/_stub/reset")
        after = await ask(stub, ANTHROPIC)

    assert [*before, after.status_code] == [503, 200, 503]
    assert len(stub.requests) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        pytest.param("GET", "/", 404, "the stub serves POST /PROVIDER/v1/messages", id="root"),
        pytest.param("POST", "/v1/messages", 404, "nothing is served", id="no provider"),
        pytest.param("POST", "/responses", 404, "nothing is served", id="no provider either"),
        pytest.param("POST", "/openai/v1/embeddings", 404, "nothing is served", id="other API"),
        pytest.param("POST", "/gemini/v1beta/models/m", 404, "nothing is served", id="no method"),
        pytest.param("GET", "/gemini/v1beta/models/m:generateContent", 405, "POST", id="GET"),
        pytest.param("GET", "/openai/chat/completions", 405, "takes POST", id="wrong method"),
        pytest.param("HEAD", "/", 404, None, id="no body wanted"),
    ],
)
async def test_what_is_not_served_is_said_so(
    method: str, path: str, status: int, says: str | None
) -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.request(method, path)
        again = await http.get("/_stub/providers")

    assert response.status_code == status
    assert says is None or says in response.json()["error"]["message"]
    assert again.status_code == 200


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(b"", "not a JSON object", id="empty"),
        pytest.param(b"{", "not a JSON object", id="not JSON"),
        pytest.param(b"\xff\x00", "not a JSON object", id="not text"),
        pytest.param(b"[" * 100_000, "not a JSON object", id="deeper than we read"),
        pytest.param(b"[]", "not a JSON object", id="not an object"),
        pytest.param(b"{}", "model: Field required", id="no model"),
        pytest.param(b'{"model": 1}', "model: Field required", id="a model that is no text"),
        pytest.param(b'{"model": "a b"}', "a route is written", id="a model with a space"),
    ],
)
@pytest.mark.parametrize("route", [ANTHROPIC, OPENROUTER, CHAT, RESPONSES])
async def test_a_bad_request_is_told_so_by_its_provider(route: str, body: bytes, says: str) -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.post(path_to(route), content=body)

    assert response.status_code == 400
    assert says in response.json()["error"]["message"]
    assert stub.requests[0].route is None


async def exchange(stub: Stub, sent: bytes) -> bytes:
    """Send bytes on a connection of their own, and read until it is closed."""
    came = b""
    with anyio.fail_after(60):
        async with await anyio.connect_tcp("127.0.0.1", stub.port) as stream:
            await stream.send(sent)
            async for piece in stream:
                came += piece
    return came


def http_request(body: Mapping[str, object], *headers: str, version: str = "1.1") -> bytes:
    raw = to_json(body)
    head = [
        f"POST /anthropic/v1/messages HTTP/{version}",
        "host: stub",
        f"content-length: {len(raw)}",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + raw


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", id="TLS"),
        pytest.param(b"hello\r\n\r\n", id="no HTTP"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: a\r\nb: " + b"c" * 200_000, id="oversized head"),
        pytest.param(
            b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", id="chunks"
        ),
        pytest.param(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n", id="length"),
    ],
)
async def test_broken_http_is_answered_and_the_connection_closed(sent: bytes) -> None:
    async with Stub() as stub:
        came = await exchange(stub, sent)
        healthy = await ask(stub, ANTHROPIC)

    assert came.startswith(b"HTTP/1.1 400 ")
    assert healthy.status_code == 200


@pytest.mark.asyncio
async def test_a_client_may_leave_before_it_has_said_anything() -> None:
    async with Stub() as stub:
        for sent in (b"", b"GET", b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc"):
            async with await anyio.connect_tcp("127.0.0.1", stub.port) as stream:
                await stream.send(sent)
        healthy = await ask(stub, ANTHROPIC)

    assert healthy.status_code == 200


@pytest.mark.asyncio
async def test_a_body_above_the_limit_of_the_provider_is_too_large() -> None:
    """Source: platform.claude.com/docs/en/api/errors."""
    async with Stub() as stub, client(stub) as http:
        content = b" " * (33 * 1024 * 1024)
        response = await http.post(PATHS["anthropic"], content=content, timeout=60)

    assert response.status_code == 413
    assert response.json()["error"]["type"] == "request_too_large"


@pytest.mark.asyncio
async def test_requests_on_one_connection_are_answered_in_order() -> None:
    first, last = http_request({"model": "a"}), http_request({"model": "b"}, "connection: close")
    async with Stub() as stub:
        came = await exchange(stub, first + last)

    assert came.count(b"HTTP/1.1 200 ") == 2
    assert came.index(b"anthropic/a") < came.index(b"anthropic/b")


@pytest.mark.asyncio
async def test_a_client_is_told_to_go_on_with_its_body() -> None:
    sent = http_request({"model": "a"}, "expect: 100-continue", "connection: close")
    head, _, body = sent.partition(b"\r\n\r\n")
    async with Stub() as stub:
        with anyio.fail_after(60):
            async with await anyio.connect_tcp("127.0.0.1", stub.port) as stream:
                await stream.send(head + b"\r\n\r\n")
                assert (await stream.receive()).startswith(b"HTTP/1.1 100 ")
                await stream.send(body)
                assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.asyncio
async def test_an_old_client_gets_a_stream_without_chunks() -> None:
    async with Stub() as stub:
        came = await exchange(stub, http_request({"model": "a", "stream": True}, version="1.0"))

    head, _, body = came.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert events(body)[-1] == {"type": "message_stop"}


@pytest.mark.asyncio
async def test_closing_the_stub_ends_its_connections_at_once() -> None:
    broke: list[httpx.TransportError | None] = []

    async def read(stub: Stub) -> None:
        broke.append((await read_until_it_breaks(stub, OPENROUTER))[1])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, playing(text="a", stall=True) as stub:
            tasks.start_soon(read, stub)
            received = await stub.wait_for(1)

    assert isinstance(broke[0], httpx.TransportError)
    assert received.over.is_set()
    assert not received.closed_by_client


@pytest.mark.asyncio
async def test_what_goes_wrong_beside_the_stub_is_raised_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with Stub():
            raise KeyError("mine")


@pytest.mark.asyncio
async def test_a_port_that_is_taken_is_named() -> None:
    async with Stub() as stub:
        with pytest.raises(ConfigError, match=f"port {stub.port}.*or 0 for any that is free"):
            async with Stub(port=stub.port):
                pass


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_the_stub_runs_on_trio() -> None:
    async with playing(text="one two three", chunk=4, reset=True, after=2) as stub:
        came, broke = await read_until_it_breaks(stub, ANTHROPIC)

    assert outputs(came) == ["one ", "two "]
    assert isinstance(broke, httpx.ReadError)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_the_stub_sees_a_client_leave_on_trio() -> None:
    async with playing(stall=True, text="one") as stub:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_until_it_breaks, stub, CHAT)
                received = await stub.wait_for(1)
                tasks.cancel_scope.cancel()
            await received.left.wait()

    assert received.closed_by_client
