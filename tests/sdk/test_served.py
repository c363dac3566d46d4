"""What the official SDKs send is read whole, and what our writers write the SDKs read."""

from __future__ import annotations

import pytest

from sidestep.provider.conversation import (
    ModelPart,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
    Usage,
)
from sidestep.provider.failure import Failure, FailureKind
from sidestep.provider.wire.answer import Answer
from sidestep.provider.wire.registry import writer_of
from sidestep.provider.wire_name import WIRES, Wire

from .call import package
from .served_call import CALLED, CALLS, INPUT, SCHEMA, Seen, Served, without_thinking

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what an SDK warns of is its own; raised, it would fail
]

PARTS: list[ModelPart] = [
    Reasoning("I should look."),
    Text("Looking at both: "),
    Text('é 😀\u2028\n"quoted"'),
    ToolCall("toolu_1|fc_1", "read", INPUT),
    ToolCall("call_2", "now", {}),
]
STOPS: dict[Wire, str] = {
    "anthropic": "tool_use",
    "openai-chat": "tool_calls",
    "openai-responses": "completed",
    "gemini": "STOP",
}
ENDS: dict[Wire, str] = {
    "anthropic": "end_turn",
    "openai-chat": "stop",
    "openai-responses": "completed",
    "gemini": "STOP",
}


@pytest.mark.parametrize("is_streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("wire", WIRES)
async def test_an_sdk_reads_what_we_write(wire: Wire, is_streamed: bool) -> None:
    answer = Answer(parts=PARTS, wire="openai-chat", usage=Usage(20, 7))

    async with (served := Served(wire, answer)).client() as http:
        seen = await CALLS[wire](http, is_streamed)

    calls = [(part.id, part.name, part.input) for part in PARTS if isinstance(part, ToolCall)]
    text = "".join(part.text for part in PARTS if isinstance(part, Text))
    assert seen.text.replace("\n", "") == text.replace("\n", "")
    assert seen.calls == calls
    assert seen.stop == STOPS[wire]
    assert seen.tokens == (20, 7)
    if (wire, is_streamed) != ("openai-chat", True):  # the SDK keeps no field that it does not know
        assert seen.thinking == "I should look."
    assert served.requests[0].is_streamed is is_streamed


@pytest.mark.parametrize("is_streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("wire", WIRES)
async def test_what_an_sdk_sends_is_read_whole(wire: Wire, is_streamed: bool) -> None:
    served = Served(wire, Answer(parts=[Text("Hello")], wire=wire, usage=Usage(1, 1)))

    async with served.client() as http:
        seen = await CALLS[wire](http, is_streamed)

    (request,) = served.requests
    conversation = request.conversation
    assert without_thinking(conversation.messages) == CALLED
    assert conversation.tools == (ToolSpec("read", "Read.", SCHEMA),)
    assert conversation.settings == Settings(
        max_output_tokens=4000, reasoning="low", tool_choice="auto"
    )
    assert request.model == "m"
    assert (request.unreadable, request.left_out) == ((), ())
    assert seen == Seen("Hello", stop=ENDS[wire], tokens=(1, 1))


@pytest.mark.parametrize("wire", WIRES)
async def test_an_sdk_raises_what_we_refuse(wire: Wire) -> None:
    failure = Failure(kind=FailureKind.OVERLOADED, message="All 2 routes failed", status=529)
    refusal = writer_of(wire).refusal(failure)
    library = package("httpx2")
    response = library.Response(refusal.status, content=refusal.body, headers=refusal.headers)
    transport = library.MockTransport(lambda _: response)

    async with library.AsyncClient(transport=transport) as http:
        with pytest.raises(Exception, match="All 2 routes failed") as raised:
            await CALLS[wire](http, True)

    error = raised.value
    assert getattr(error, "status_code", getattr(error, "code", None)) == 529


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "gemini"])
async def test_an_sdk_raises_what_fails_in_a_stream(wire: Wire) -> None:
    failure = Failure(kind=FailureKind.OVERLOADED, message="All 2 routes failed")
    writer = writer_of(wire)(model="m")
    library = package("httpx2")
    response = library.Response(
        200,
        content=writer.ping() + writer.start() + writer.error(failure),
        headers={"content-type": "text/event-stream"},
    )

    async with library.AsyncClient(transport=library.MockTransport(lambda _: response)) as http:
        with pytest.raises(Exception, match="All 2 routes failed"):
            await CALLS[wire](http, True)


async def test_the_sdk_of_openai_reads_a_failed_response() -> None:
    failure = Failure(kind=FailureKind.OVERLOADED, message="All 2 routes failed")
    writer = writer_of("openai-responses")(model="m")
    content = writer.start() + writer.error(failure)
    library = package("httpx2")
    response = library.Response(200, content=content, headers={"content-type": "text/event-stream"})
    transport = library.MockTransport(lambda _: response)

    async with library.AsyncClient(transport=transport) as http:
        client = package("openai").AsyncOpenAI(
            api_key="k", base_url="http://h/v1", max_retries=0, http_client=http
        )
        stream = await client.responses.create(model="m", input="Hello", stream=True)
        events = [event async for event in stream]

    assert [event.type for event in events] == [
        *("response.created", "response.in_progress", "response.failed")
    ]
    assert events[-1].response.error.code == "server_is_overloaded"
