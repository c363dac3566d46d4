"""What the stub answers as Gemini, read as a client reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sidestep.provider.conversation import Part, Reasoning, Text, ToolCall, Usage
from sidestep.provider.error import ProviderError
from sidestep.provider.failure import FailureKind
from sidestep.provider.stub.capture import load_capture
from sidestep.provider.stub.server import Stub

from ..stub_client import GEMINI, ask, asked, client, decoded, events, playing, rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SIGNATURE = "EpwITESTsignatureAAAAAAAAAAA"
SIGNED = asked(GEMINI).signature(["call", "a", {"x": 1}])
CALLS = [{"id": "c1", "name": "a", "input": {"x": 1}}, {"id": "c2", "name": "b", "input": {"x": 2}}]


def played(answer: Mapping[str, object]) -> list[Any]:
    return events(b"".join(rendered(answer, GEMINI)))


def captured(name: str) -> bytes:
    return b"".join(load_capture(name).pieces)


def parts_in(chunks: Iterable[Any]) -> list[Any]:
    return [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        pytest.param(
            {"reasoning": "I think so.", "text": "Hello there", "signature": SIGNATURE},
            [Reasoning("I think so."), Text("Hello there"), Text("", signature=SIGNATURE)],
            id="text",
        ),
        pytest.param(
            {"text": "Hello there", "tool_calls": CALLS, "signature": SIGNATURE},
            [
                Text("Hello there"),
                ToolCall("c1", "a", {"x": 1}, signature=SIGNATURE),
                ToolCall("c2", "b", {"x": 2}),
            ],
            id="text and calls",
        ),
        pytest.param(
            {"tool_calls": CALLS[:1]},
            [
                ToolCall(
                    "c1", "a", {"x": 1}, signature=asked(GEMINI).signature(["call", "a", {"x": 1}])
                )
            ],
            id="a call without readable thinking",
        ),
        pytest.param(
            {"text": "Hi", "signature": ""}, [Text("Hi")], id="a model that does not sign"
        ),
    ],
)
async def test_a_stream_is_read_back_as_the_parts_that_were_meant(
    answer: dict[str, object], parts: list[Part]
) -> None:
    async with playing(**answer, chunk=4) as stub:
        response = await ask(stub, GEMINI)

    read = decoded(response.content, GEMINI)
    assert read.parts == parts
    assert (read.stop, read.model, read.request_id) == ("STOP", "gemini-x", asked(GEMINI).id(""))
    assert stub.requests[0].route == GEMINI


def test_parallel_calls_come_part_by_part_as_they_were_captured() -> None:
    """Source: fixtures/captures/gemini_stream_parallel_calls.json."""
    came = played({"reasoning": "Checking both.", "tool_calls": CALLS, "signature": SIGNATURE})

    recorded = events(captured("gemini_stream_parallel_calls"))
    assert parts_in(came) == parts_in(recorded)
    for chunk in came:
        assert chunk.keys() == recorded[0].keys()
    finishes = [chunk["candidates"][0].get("finishReason") for chunk in came]
    assert finishes == [None] * 3 + ["STOP"]


def test_thinking_without_an_answer_is_not_signed() -> None:
    """Source: fixtures/captures/gemini_stream_thought_only.json."""
    came = played({"reasoning": "thinking about it", "chunk": 99})

    assert parts_in(came) == parts_in(events(captured("gemini_stream_thought_only")))


def test_every_line_ends_with_crlf() -> None:
    body = b"".join(rendered({"text": "Hello there", "comments": 1}, GEMINI))

    assert body.count(b"\n") == body.count(b"\r\n")
    assert body.endswith(b"\r\n\r\n")


def test_every_chunk_counts_what_came_so_far() -> None:
    answer = {
        "reasoning": "a" * 40,
        "text": "b" * 40,
        "chunk": 10,
        "usage": {"input": 7, "output": 20, "cache_read": 3},
    }

    counts = [chunk["usageMetadata"] for chunk in played(answer)]

    assert {count["promptTokenCount"] for count in counts} == {10}
    assert {count["cachedContentTokenCount"] for count in counts} == {3}
    assert [count["totalTokenCount"] for count in counts] == [12, 15, 17, 20, 22, 25, 27, 30, 30]
    assert counts[-1]["thoughtsTokenCount"] == counts[-1]["candidatesTokenCount"] == 10
    usage = decoded(b"".join(rendered(answer, GEMINI)), GEMINI).usage
    assert usage == Usage(input=10, output=20, cache_read=3)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "is_stream", "route"),
    [
        pytest.param(
            "/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
            True,
            GEMINI,
            id="stream",
        ),
        pytest.param("/gemini/v1beta/models/gemini-x:generateContent", False, GEMINI, id="whole"),
        pytest.param(
            "/gemini/v1/models/gemini-x:generateContent", False, GEMINI, id="another version"
        ),
        pytest.param(
            "/gemini/v1beta/models/a%2Fb:generateContent", False, "gemini/a/b", id="encoded"
        ),
        pytest.param(
            "/vertex/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent",
            True,
            "vertex/m",
            id="another provider",
        ),
    ],
)
async def test_the_path_says_which_model_and_whether_a_stream(
    path: str, is_stream: bool, route: str
) -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.post(path, json={"contents": []})

    assert stub.requests[0].route == route
    kind = "text/event-stream" if is_stream else "application/json"
    assert response.headers["content-type"].startswith(kind)
    chunks = events(response.content) if is_stream else [response.json()]
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    assert f"in place of {route}." in "".join(part["text"] for part in parts_in(chunks))


@pytest.mark.asyncio
@pytest.mark.parametrize("body", [b"", b"[]", b"{"])
async def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    async with Stub() as stub, client(stub) as http:
        response = await http.post("/gemini/v1beta/models/m:generateContent", content=body)

    error = response.json()["error"]
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert "not a JSON object" in error["message"]


def test_an_error_breaks_into_the_stream_as_it_was_captured() -> None:
    """Source: fixtures/captures/gemini_stream_raw_json_error.json."""
    body = b"".join(rendered({"text": "Hel", "error": 503}, GEMINI))

    recorded = captured("gemini_stream_raw_json_error")
    assert body.partition(b"\r\n\r\n")[2] == recorded.partition(b"\r\n\r\n")[2]
    with pytest.raises(ProviderError) as caught:
        decoded(body, GEMINI)
    assert caught.value.failure.kind is FailureKind.OVERLOADED


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("status", "rpc"),
    [
        pytest.param(400, "INVALID_ARGUMENT", id="400"),
        pytest.param(402, "RESOURCE_EXHAUSTED", id="402"),
        pytest.param(404, "NOT_FOUND", id="404"),
        pytest.param(429, "RESOURCE_EXHAUSTED", id="429"),
        pytest.param(503, "UNAVAILABLE", id="503"),
        pytest.param(504, "DEADLINE_EXCEEDED", id="504"),
        pytest.param(529, "INTERNAL", id="a status that it does not have"),
    ],
)
async def test_a_status_comes_with_its_rpc_status_and_no_request_id(status: int, rpc: str) -> None:
    """Source: fixtures/captures/gemini_4*.json."""
    async with playing(status=status) as stub:
        response = await ask(stub, GEMINI)

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["status"]) == (status, status, rpc)
    assert not [name for name in response.headers if name.endswith("request-id")]
