"""When an answer goes out: nothing before it is whole, or from its first output on."""

from __future__ import annotations

import socket

import anyio
import httpx
import pytest

from sidestep.provider.server.tcp_socket import Socket

from .served import CLAUDE, SIBLING, serving

pytestmark = pytest.mark.asyncio

HALF = {"text": "Half an answer, and no more.", "chunk": 4, "after": 3, "error": 529}
STALLS = {"text": "Silence.", "after": 1, "stall": True}
HELLO = {"text": "Hello from the sibling."}
PING = b'event: ping\ndata: {"type":"ping"}\n\n'


async def read_until(response: httpx.Response, wanted: bytes, *, then: bytes = b"") -> bytes:
    """Return what came until *wanted*, with *then* somewhere behind it."""
    came = b""
    with anyio.fail_after(60):
        async for block in response.aiter_raw():
            came += block
            if wanted in came and then in came.partition(wanted)[2]:
                break
    return came


async def test_nothing_of_a_failed_attempt_goes_out() -> None:
    async with serving({CLAUDE: HALF, SIBLING: HELLO}, siblings={CLAUDE: SIBLING}) as served:
        answer = await served.ask(CLAUDE)

        assert answer.status_code == 200
        assert "Half" not in answer.text
        assert answer.text.count("message_start") == 2  # the event's name, and its type
        assert answer.text.endswith('data: {"type":"message_stop"}\n\n')


async def test_a_stream_gets_its_status_line_and_pings_while_nothing_is_whole() -> None:
    async with serving({CLAUDE: STALLS}, status_after=0.0, ping_every=0.0) as served:
        request = served.request(CLAUDE)
        response = await served.http.send(request, stream=True)
        came = await read_until(response, PING * 3)
        await response.aclose()

        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert came.replace(PING, b"") == b""


async def test_after_pings_comes_the_whole_answer() -> None:
    slow = {"text": "Hello.", "delay": 0.05}
    async with serving({CLAUDE: slow}, status_after=0.0, ping_every=60.0) as served:
        answer = await served.ask(CLAUDE)

        assert answer.content.startswith(PING)
        assert answer.content.count(PING) == 2  # ours, and the provider's own
        assert answer.text.count("event: message_start") == 1
        assert "Hello." in answer.text


async def test_a_failure_after_pings_is_the_wires_own_error() -> None:
    slow = {"text": "Hello.", "delay": 0.05, "after": 0, "error": 529}
    async with serving({CLAUDE: slow}, status_after=0.0, ping_every=60.0) as served:
        answer = await served.ask(CLAUDE)
        last = answer.text.split("\n\n")[-2]

        assert answer.status_code == 200
        assert last.startswith('event: error\ndata: {"type":"error","error":{"type":"overloaded')


async def test_what_is_not_streamed_gets_nothing_before_its_end() -> None:
    slow = {"text": "Hello.", "delay": 0.05}
    async with serving({CLAUDE: slow}, status_after=0.0, ping_every=0.0) as served:
        answer = await served.ask(CLAUDE, stream=False)

        assert answer.json()["content"][0]["text"] == "Hello."
        assert "transfer-encoding" not in answer.headers


async def test_with_first_the_output_goes_out_as_it_comes() -> None:
    slow = {"text": "Hello, and then silence.", "chunk": 6, "after": 2, "stall": True}
    async with serving({CLAUDE: slow}, hold="first") as served:
        response = await served.http.send(served.request(CLAUDE), stream=True)
        came = await read_until(response, b"Hello,")
        await response.aclose()

        assert b"Hello," in came


async def test_with_first_a_failure_before_any_output_moves_to_the_sibling() -> None:
    early = {"text": "Never.", "after": 0, "error": 529}
    answers = {CLAUDE: early, SIBLING: HELLO}
    async with serving(answers, siblings={CLAUDE: SIBLING}, hold="first") as served:
        answer = await served.ask(CLAUDE)

        assert answer.headers["x-sidestep-route"] == SIBLING
        assert "Never" not in answer.text
        assert '"text":"Hello' in answer.text


async def test_with_first_a_later_failure_ends_the_stream_and_a_repeat_starts_elsewhere() -> None:
    answers = {CLAUDE: HALF, SIBLING: HELLO}
    async with serving(answers, siblings={CLAUDE: SIBLING}, hold="first") as served:
        answer = await served.ask(CLAUDE)
        again = await served.ask(CLAUDE)

        assert "Half" in answer.text
        assert "Hello" not in answer.text
        assert answer.text.rstrip().split("\n\n")[-1].startswith("event: error\n")
        assert again.headers["x-sidestep-route"] == SIBLING


@pytest.mark.parametrize(
    "error", [{"type": "rate_limit_error"}, {"type": "api_error"}, 429, 500, 503, 529]
)
@pytest.mark.parametrize(
    ("route", "words"),
    [
        pytest.param(CLAUDE, '"type":"overloaded_error"', id="anthropic"),
        pytest.param("groq/llama", '"type":"overloaded_error"', id="openai-chat"),
        pytest.param("openai/gpt-5.6", '"code":"server_error"', id="openai-responses"),
        pytest.param("gemini/gemini-3-pro", '"status":"UNAVAILABLE"', id="gemini"),
    ],
)
async def test_with_first_a_client_is_told_to_repeat_at_once_if_a_sibling_is_ready(
    route: str, words: str, error: object
) -> None:
    half = {**HALF, "error": error}
    answers = {route: half, SIBLING: HELLO}
    async with serving(answers, siblings={route: SIBLING}, hold="first") as served:
        last = (await served.ask(route)).text.rstrip().split("\n\n")[-1]
        again = await served.ask(route)

    assert words in last
    assert "overloaded: send the request again" in last
    assert "try again in" not in last
    assert again.headers["x-sidestep-route"] == SIBLING


@pytest.mark.parametrize("error", [400, 401, 403, 404])
async def test_with_first_a_client_is_not_told_to_repeat_what_only_it_can_handle(
    error: int,
) -> None:
    half = {**HALF, "error": error}
    async with serving({CLAUDE: half}, siblings={CLAUDE: SIBLING}, hold="first") as served:
        answer = await served.ask(CLAUDE)

    assert "overloaded" not in answer.text
    assert served.middleware.degraded.snapshot() == {}


async def test_with_first_a_client_is_told_to_wait_if_no_route_is_ready() -> None:
    half = {**HALF, "error": 429}
    async with serving({"openai/gpt-5.6": half}, hold="first") as served:
        answer = await served.ask("openai/gpt-5.6")

    assert '"code":"rate_limit_exceeded"' in answer.text
    assert "try again in 60s" in answer.text


@pytest.mark.parametrize(
    ("route", "ping"),
    [
        pytest.param("openai/gpt-5.6", b": keep-alive\n\n", id="openai-responses"),
        pytest.param("groq/llama", b": keep-alive\n\n", id="openai-chat"),
        pytest.param("gemini/gemini-3-pro", b"\r\n", id="gemini"),
        pytest.param(CLAUDE, PING, id="anthropic"),
    ],
)
async def test_with_first_pings_go_out_while_a_sibling_writes_what_the_client_is_not_sent(
    route: str, ping: bytes
) -> None:
    """A long call is sent when it is whole, and reasoning never."""
    slow = {"text": "I write it.", "after": 1, "stall": True}
    answers = {route: {"status": 503}, SIBLING: slow}
    async with serving(
        answers, siblings={route: SIBLING}, hold="first", status_after=0.0, ping_every=0.0
    ) as served:
        response = await served.http.send(served.request(route), stream=True)
        came = await read_until(response, b"I write it.", then=ping * 3)
        await response.aclose()

    assert came.count(b"I write it.") == 1


@pytest.mark.parametrize("hold", ["whole", "first"])
async def test_a_client_that_leaves_cancels_its_attempt_and_degrades_nothing(hold: str) -> None:
    async with serving({CLAUDE: STALLS}, siblings={CLAUDE: SIBLING}, hold=hold) as served:
        with anyio.move_on_after(60) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(served.ask, CLAUDE)
                request = await served.stub.wait_for(1)
                tasks.cancel_scope.cancel()
            await request.left.wait()

        assert not scope.cancelled_caught
        assert served.middleware.degraded.snapshot() == {}
        assert len(served.stub.requests) == 1


@pytest.mark.parametrize("how", [socket.SHUT_WR, socket.SHUT_RDWR], ids=["one side", "both"])
async def test_a_client_that_closes_its_side_counts_as_one_that_left(how: int) -> None:
    async with serving({CLAUDE: STALLS}) as served:
        sent = served.request(CLAUDE)
        head = f"POST {sent.url.path} HTTP/1.0\r\nhost: 127.0.0.1:{served.serve.port}\r\n"
        with socket.create_connection(("127.0.0.1", served.serve.port)) as client:
            client.sendall(f"{head}content-length: {len(sent.content)}\r\n\r\n".encode())
            client.sendall(sent.content)
            with anyio.fail_after(60):
                request = await served.stub.wait_for(1)
                client.shutdown(how)
                await request.left.wait()

        assert served.middleware.degraded.snapshot() == {}


async def test_draining_ends_the_answers_that_run_and_takes_no_more() -> None:
    slow = {"text": "The whole answer.", "chunk": 4, "pace": 0.01}
    async with serving({CLAUDE: slow}) as served:
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await served.ask(CLAUDE))

        with anyio.fail_after(60):
            idle = await anyio.connect_tcp("127.0.0.1", served.serve.port)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await served.stub.wait_for(1)
                await served.serve.drain()
            with pytest.raises(anyio.EndOfStream):
                await idle.receive()
            await idle.aclose()
            with pytest.raises(OSError, match=r".*"):
                await anyio.connect_tcp("127.0.0.1", served.serve.port)

        assert [each.status_code for each in answers] == [200]
        assert answers[0].text.rstrip().endswith('"message_stop"}')


async def test_leaving_closes_every_connection_at_once() -> None:
    async with serving({CLAUDE: STALLS}) as served, anyio.create_task_group() as tasks:
        errors: list[Exception] = []

        async def ask() -> None:
            try:
                await served.ask(CLAUDE)
            except httpx.TransportError as error:
                errors.append(error)

        tasks.start_soon(ask)
        request = await served.stub.wait_for(1)
        await served.serve.aclose()
        with anyio.fail_after(60):
            await request.over.wait()
            while not errors:
                await anyio.lowlevel.checkpoint()


async def test_64_streams_at_once_are_all_answered() -> None:
    slow = {"text": "An answer in many pieces.", "chunk": 2, "pace": 0.005}
    answers = {CLAUDE: [{"status": 503}, slow], SIBLING: slow}
    async with serving(answers, siblings={CLAUDE: SIBLING}) as served:
        came: list[httpx.Response] = []

        async def ask() -> None:
            came.append(await served.ask(CLAUDE))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(64):
                    tasks.start_soon(ask)

        assert [each.status_code for each in came] == [200] * 64
        assert all(each.text.rstrip().endswith('"message_stop"}') for each in came)


@pytest.mark.parametrize("hold", ["whole", "first"])
async def test_a_client_that_leaves_while_it_is_sent_to_is_no_failure_of_the_route(
    hold: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sent = Socket.send_now
    answer = {"text": "An answer in pieces.", "chunk": 4, "pace": 0.01}
    answers = {CLAUDE: answer, SIBLING: HELLO}
    async with serving(answers, siblings={CLAUDE: SIBLING}, hold=hold) as served:

        def send(self: Socket, data: bytes | bytearray) -> int:
            if b"x-sidestep-route" in data:
                raise BrokenPipeError
            return sent(self, data)

        monkeypatch.setattr(Socket, "send_now", send)
        with pytest.raises(httpx.RemoteProtocolError):
            await served.ask(CLAUDE)
        monkeypatch.undo()

        assert served.middleware.degraded.snapshot() == {}
        assert [each.route for each in served.stub.requests] == [CLAUDE]
        assert "failed" not in caplog.text
