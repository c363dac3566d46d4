"""What the client makes of requests and answers, whichever package it sends with."""

from __future__ import annotations

import base64
import gzip
import json
import traceback
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Client, ConfigError, FailureKind, ProviderError, Route, TextDelta
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.conversation import Conversation, Message, Reasoning, Text, ToolCall
from sidestep.provider.failure import Stage
from sidestep.provider.recording.recorded_answer import Recorded
from sidestep.provider.recording.recorded_answer import read as read_recorded
from sidestep.provider.wire.registry import decoder_of
from sidestep.provider.wire_name import WIRES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import ModuleType

    import httpx

    from sidestep.provider.client.reply import Reply
    from sidestep.provider.delta import Delta
    from sidestep.provider.failure import Failure
    from sidestep.provider.wire_name import Wire

pytestmark = pytest.mark.asyncio

KEY = "sk-very-secret-0123456789"
ENVIRON = {"KEY": KEY}
CHAT = Route("chat/m")
CLAUDE = Route("claude/m")
HELLO = Conversation([Message("user", [Text("Hello")])])

STREAM = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}
HEL = b'data: {"id":"gen-1","choices":[{"delta":{"content":"Hel"},"finish_reason":null}]}\n\n'
LO = b'data: {"choices":[{"delta":{"content":"lo"},"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":7}}\n\n'
ERROR = b'data: {"error":{"code":502,"message":"gone"}}\n\n'
DONE = b"data: [DONE]\n\n"
WHOLE = HEL + LO + FINISH + USAGE + DONE


GEMINI_HEL = {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]}
GEMINI_LO = {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}]}

PROVIDERS = {
    "chat": Provider("chat", "openai-chat", "http://h", "KEY"),
    "claude": Provider("claude", "anthropic", "http://h", "KEY"),
    "open": Provider("open", "openai-chat", "http://h", None),
}


def mocked(
    library: ModuleType,
    handler: Callable[[httpx.Request], httpx.Response],
    *,
    providers: dict[str, Provider] | None = None,
    environ: dict[str, str] = ENVIRON,
    now: float = 0.0,
) -> Client:
    http = library.AsyncClient(transport=library.MockTransport(handler))
    known = PROVIDERS if providers is None else providers
    return Client(http=http, providers=known, environ=environ, wall_clock=lambda: now)


def answering(
    library: ModuleType,
    body: bytes | AsyncIterator[bytes] = WHOLE,
    *,
    status: int = 200,
    headers: dict[str, str] = STREAM,
    requests: list[httpx.Request] | None = None,
    environ: dict[str, str] = ENVIRON,
    now: float = 0.0,
) -> Client:
    """Return what is answered with *body*, and adds what it sends to *requests*."""

    def handler(request: httpx.Request) -> httpx.Response:
        if requests is not None:
            requests.append(request)
        response: httpx.Response = library.Response(status, headers=headers, content=body)
        return response

    return mocked(library, handler, environ=environ, now=now)


async def body(library: ModuleType, *blocks: bytes, breaks: bool = False) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block
    if breaks:
        raise library.ReadError("gone")


def breaking(library: ModuleType, block: bytes) -> AsyncIterator[bytes]:
    return body(library, block, breaks=True)


async def read(client: Client, route: Route = CHAT) -> tuple[Reply, list[Delta]]:
    async with client.stream(route, HELLO) as reply:
        deltas = [delta async for delta in reply]
    return reply, deltas


async def failed(client: Client, route: Route = CHAT) -> Failure:
    with pytest.raises(ProviderError) as caught:
        await read(client, route)
    assert caught.value.failure.route == route
    assert str(caught.value) == str(caught.value.failure)
    return caught.value.failure


async def interrupted(client: Client) -> tuple[list[Delta], Reply, Failure]:
    """Return what was told before the reply failed."""
    deltas: list[Delta] = []
    reply = client.stream(CHAT, HELLO)
    try:
        async with reply:
            async for delta in reply:
                deltas.append(delta)  # noqa: PERF401 a comprehension would lose them
    except ProviderError as error:
        return deltas, reply, error.failure
    raise AssertionError


class TestRequest:
    async def test_a_chat_request(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await read(answering(library, requests=requests))

        (request,) = requests
        assert (request.method, str(request.url)) == ("POST", "http://h/chat/completions")
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["accept-encoding"] == "identity"
        assert json.loads(request.content)["messages"] == [{"role": "user", "content": "Hello"}]

    async def test_an_anthropic_request(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await failed(answering(library, b"", status=529, requests=requests), CLAUDE)

        (request,) = requests
        assert str(request.url) == "http://h/v1/messages"
        assert request.headers["x-api-key"] == KEY
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in request.headers

    @pytest.mark.parametrize(
        "key", ["", "  ", "sk-\u2026", "sk-\n-1"], ids=["none", "blank", "no ASCII", "two lines"]
    )
    async def test_without_a_key_nothing_is_sent(self, library: ModuleType, key: str) -> None:
        requests: list[httpx.Request] = []

        failure = await failed(answering(library, environ={"KEY": key}, requests=requests))

        assert requests == []
        assert (failure.kind, failure.status) == (FailureKind.AUTH, 401)
        assert failure.stage is Stage.CONNECT
        assert failure.message.startswith("KEY ")

    async def test_a_provider_without_a_key_variable_needs_none(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await read(answering(library, environ={}, requests=requests), Route("open/m"))

        assert "authorization" not in requests[0].headers

    async def test_white_space_round_a_key_is_not_sent(self, library: ModuleType) -> None:
        requests: list[httpx.Request] = []

        await read(answering(library, environ={"KEY": f"{KEY}\n"}, requests=requests))

        assert requests[0].headers["authorization"] == f"Bearer {KEY}"

    @pytest.mark.parametrize("wire", WIRES)
    async def test_a_provider_whose_failures_are_explained_is_asked_as_any_other(
        self, library: ModuleType, wire: Wire
    ) -> None:
        requests: list[httpx.Request] = []

        def refuse(request: httpx.Request) -> httpx.Response:
            requests.append(request)
            response: httpx.Response = library.Response(400, json={"error": {"message": "Odd"}})
            return response

        odd = {"kind": "overloaded", "status": 400, "text": "Odd"}
        house = {"wire": wire, "baseUrl": "http://h", "failures": [odd]}
        providers = catalog(provider_settings({"house": house}, where="providers"))
        client = mocked(library, refuse, providers=providers)

        failure = await failed(client, Route("house/m"))

        assert len(requests) == 1
        assert failure.kind is FailureKind.OVERLOADED

    async def test_an_unknown_provider_is_a_matter_of_configuration(
        self, library: ModuleType
    ) -> None:
        client = answering(library)

        assert client.serves(CHAT)
        assert not client.serves(Route("other/m"))
        with pytest.raises(ConfigError, match="'other/m'"):
            client.stream(Route("other/m"), HELLO)


class TestAnswer:
    async def test_a_reply_is_told_and_kept(self, library: ModuleType) -> None:
        reply, deltas = await read(answering(library, headers={**STREAM, "x-request-id": "req_1"}))

        assert deltas == [TextDelta("Hel"), TextDelta("lo")]
        assert reply.parts == [Text("Hello")]
        assert (reply.stop, reply.request_id) == ("stop", "req_1")
        assert (reply.usage.input, reply.usage.output) == (4, 7)

    async def test_the_stream_names_the_request_where_the_headers_do_not(
        self, library: ModuleType
    ) -> None:
        reply, _ = await read(answering(library))

        assert reply.request_id == "gen-1"

    async def test_a_compressed_answer_is_read(self, library: ModuleType) -> None:
        async def body() -> AsyncIterator[bytes]:
            yield gzip.compress(WHOLE)

        _, deltas = await read(
            answering(library, body(), headers={**STREAM, "content-encoding": "gzip"})
        )

        assert len(deltas) == 2

    @pytest.mark.parametrize(
        "blocks",
        [
            pytest.param([HEL + ERROR], id="in one block"),
            pytest.param([HEL, ERROR], id="in two"),
            pytest.param([FINISH, HEL, ERROR], id="after the reason for the end"),
            pytest.param([FINISH, HEL + ERROR], id="after it, in one block"),
            pytest.param([HEL + FINISH, ERROR.rstrip()], id="in the last line"),
            pytest.param([HEL, ERROR, LO + FINISH + DONE], id="and an answer that goes on"),
        ],
    )
    async def test_what_comes_before_an_error_is_told(
        self, library: ModuleType, blocks: list[bytes]
    ) -> None:
        deltas, reply, failure = await interrupted(answering(library, body(library, *blocks)))

        assert deltas == [TextDelta("Hel")]
        assert reply.parts == [Text("Hel")]
        assert (failure.kind, failure.status) == (FailureKind.SERVER_ERROR, 502)
        assert (failure.stage, failure.request_id) == (Stage.STREAM, "gen-1")

    async def test_what_comes_before_an_event_that_cannot_be_read_is_told(
        self, library: ModuleType
    ) -> None:
        client = answering(library, body(library, HEL, b"data: {\n\n", LO + FINISH + DONE))

        deltas, _, failure = await interrupted(client)

        assert deltas == [TextDelta("Hel")]
        assert (failure.kind, failure.status) == (FailureKind.SERVER_ERROR, None)

    async def test_what_the_end_cuts_after_it_is_told(self, library: ModuleType) -> None:
        client = answering(library, breaking(library, HEL + LO.rstrip()))

        deltas, reply, failure = await interrupted(client)

        assert deltas == [TextDelta("Hel"), TextDelta("lo")]
        assert reply.parts == [Text("Hello")]
        assert failure.kind is FailureKind.TRUNCATED

    @pytest.mark.parametrize(
        ("route", "body"),
        [
            pytest.param(CHAT, WHOLE + b"data: {\n\n", id="chat"),
            pytest.param(
                CLAUDE,
                b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}\n\n'
                b'data: {"type":"message_stop"}\n\ndata: {"type":"error"}\n\n',
                id="anthropic",
            ),
        ],
    )
    async def test_nothing_after_the_marker_can_undo_an_answer(
        self, library: ModuleType, route: Route, body: bytes
    ) -> None:
        reply, _ = await read(answering(library, body), route)

        assert len(reply.parts) == 1

    async def test_a_break_after_the_reason_for_the_end_undoes_nothing(
        self, library: ModuleType
    ) -> None:
        reply, deltas = await read(answering(library, breaking(library, HEL + FINISH)))

        assert deltas == [TextDelta("Hel")]
        assert reply.parts == [Text("Hel")]

    @pytest.mark.parametrize(
        ("blocks", "breaks"),
        [
            pytest.param([LO, USAGE, DONE], False, id="marker"),
            pytest.param([LO, b": alive\n\n", USAGE], False, id="end"),
            pytest.param([LO, USAGE], True, id="break"),
            pytest.param([LO + USAGE + DONE], True, id="break after the marker"),
            pytest.param([USAGE, LO.rstrip()], True, id="break in the last blank line"),
        ],
    )
    async def test_content_after_the_reason_for_the_end_is_told(
        self, library: ModuleType, blocks: list[bytes], *, breaks: bool
    ) -> None:
        reply, deltas = await read(
            answering(library, body(library, HEL + FINISH, *blocks, breaks=breaks))
        )

        assert deltas == [TextDelta("Hel"), TextDelta("lo")]
        assert reply.parts == [Text("Hello")]
        assert reply.usage.output == 7

    async def test_an_end_without_blank_line_counts(self, library: ModuleType) -> None:
        reply, _ = await read(answering(library, HEL + FINISH.rstrip()))

        assert reply.stop == "stop"

    async def test_an_event_that_the_end_cuts_is_not_invalid_but_missing(
        self, library: ModuleType
    ) -> None:
        failure = await failed(answering(library, HEL + LO[:30]))

        assert failure.kind is FailureKind.TRUNCATED

    @pytest.mark.parametrize(
        "before", [[], [b": alive\n\n"], [HEL]], ids=["first", "after a comment", "after output"]
    )
    @pytest.mark.parametrize("indent", [None, 1], ids=["in one line", "in several"])
    async def test_an_error_may_come_as_json_in_place_of_an_event(
        self, library: ModuleType, before: list[bytes], indent: int | None
    ) -> None:
        error = {"code": 429, "message": "slow", "metadata": {"headers": {"Retry-After": "9"}}}
        sent = [*before, json.dumps({"error": error}, indent=indent).encode()]

        failure = await failed(answering(library, body(library, *sent)))

        assert (failure.kind, failure.status) == (FailureKind.RATE_LIMIT, 429)
        assert (failure.retry_after, failure.stage) == (9.0, Stage.STREAM)

    async def test_a_body_that_cannot_be_decompressed_is_broken(self, library: ModuleType) -> None:
        headers = {**STREAM, "content-encoding": "gzip"}

        failure = await failed(answering(library, body(library, WHOLE), headers=headers))

        assert failure.kind is FailureKind.TRUNCATED
        assert "DecodingError" in failure.message

    async def test_a_broken_stream_says_how(self, library: ModuleType) -> None:
        failure = await failed(answering(library, breaking(library, HEL)))

        assert (failure.kind, failure.code) == (FailureKind.TRUNCATED, "reset")
        assert (failure.stage, failure.status) == (Stage.END, None)
        assert isinstance(failure.cause, library.ReadError)
        assert "ReadError: gone" in failure.message

    async def test_a_bug_of_the_agent_passes_unchanged(self, library: ModuleType) -> None:
        async def use() -> None:
            async with answering(library).stream(CHAT, HELLO) as reply:
                async for _ in reply:
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await use()

    async def test_a_closed_reply_tells_nothing_more(self, library: ModuleType) -> None:
        async with answering(library).stream(CHAT, HELLO) as reply:
            async for _ in reply:
                break

        assert [delta async for delta in reply] == []


class TestRefusal:
    async def test_an_error_answer_is_classified(self, library: ModuleType) -> None:
        body = json.dumps({"error": {"code": 429, "message": "slow"}}).encode()

        failure = await failed(
            answering(library, body, status=429, headers={**JSON, "retry-after": "7"})
        )

        assert str(failure) == "rate_limit 429: slow"
        assert (failure.retry_after, failure.stage) == (7.0, Stage.RESPONSE)

    async def test_a_date_is_counted_from_the_wall_clock(self, library: ModuleType) -> None:
        headers = {"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}

        failure = await failed(answering(library, b"", status=429, headers=headers, now=20.0))

        assert failure.retry_after == 40.0

    async def test_a_huge_error_body_is_not_read_to_its_end(self, library: ModuleType) -> None:
        async def body() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 4096
            raise AssertionError

        failure = await failed(
            answering(library, body(), status=503, headers={"content-type": "text/html"})
        )

        assert failure.kind is FailureKind.OVERLOADED

    async def test_an_error_body_that_breaks_leaves_the_status(self, library: ModuleType) -> None:
        failure = await failed(answering(library, breaking(library, b'{"error"'), status=401))

        assert (failure.kind, failure.status) == (FailureKind.AUTH, 401)

    @pytest.mark.parametrize(
        ("body", "kind", "status"),
        [
            (b'{"error":{"code":429}}', FailureKind.RATE_LIMIT, 429),
            (b'{"type":"error","error":{"type":"insufficient_quota"}}', FailureKind.QUOTA, 429),
            (b'{"id":"x","choices":[]}', FailureKind.SERVER_ERROR, None),
            (b"", FailureKind.SERVER_ERROR, None),
        ],
        ids=["error", "quota", "whole answer", "nothing"],
    )
    async def test_json_with_a_200_is_an_error(
        self, library: ModuleType, body: bytes, kind: FailureKind, status: int | None
    ) -> None:
        failure = await failed(answering(library, body, headers=JSON))

        assert (failure.kind, failure.status, failure.stage) == (kind, status, Stage.STREAM)

    @pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "x/y"])
    @pytest.mark.parametrize(
        ("chunks", "kind", "text"),
        [
            pytest.param([GEMINI_HEL, GEMINI_LO], None, "Hello", id="whole"),
            pytest.param([GEMINI_HEL], FailureKind.TRUNCATED, "Hel", id="cut"),
            pytest.param(
                [GEMINI_HEL, {"error": {"code": 503}}], FailureKind.OVERLOADED, "Hel", id="error"
            ),
            pytest.param([{"error": {"code": 429}}], FailureKind.RATE_LIMIT, "", id="error alone"),
        ],
    )
    async def test_an_array_of_chunks_is_read_as_the_command_reads_it(
        self,
        library: ModuleType,
        chunks: list[dict[str, Any]],
        kind: FailureKind | None,
        text: str,
        content_type: str,
    ) -> None:
        """So Gemini answers where it is not asked for events."""
        body, headers = json.dumps(chunks).encode(), {"content-type": content_type}
        gemini = Provider("gemini", "gemini", "http://h", None)

        def answer(_: httpx.Request) -> httpx.Response:
            response: httpx.Response = library.Response(200, headers=headers, content=body)
            return response

        reply = mocked(library, answer, providers={"gemini": gemini}).stream(
            Route("gemini/m"), HELLO
        )
        failure: Failure | None = None
        try:
            async with reply:
                async for _ in reply:
                    pass
        except ProviderError as error:
            failure = error.failure
        recorded = Recorded(provider="gemini", status=200, headers=headers, blocks=(body,))
        told = read_recorded(recorded, gemini, decoder_of(gemini)).failure

        assert (failure and failure.kind) == kind
        assert (told and told.kind) == kind
        assert reply.parts == ([Text(text)] if text else [])


class TestKey:
    @pytest.mark.parametrize("key", [KEY, "odd one out"], ids=["known by its look", "known"])
    @pytest.mark.parametrize(
        ("status", "headers", "said"),
        [
            pytest.param(401, JSON | {"x-request-id": "req {}"}, {"error": "no"}, id="a header"),
            pytest.param(401, JSON, {"error": "no", "request_id": "req {}"}, id="a body"),
            pytest.param(200, STREAM, {"id": "req {}", "choices": []}, id="a stream"),
        ],
    )
    async def test_it_stands_in_no_request_id(
        self,
        library: ModuleType,
        status: int,
        headers: dict[str, str],
        said: dict[str, Any],
        key: str,
    ) -> None:
        body = ("data: " * (status == 200) + json.dumps(said)).replace("{}", key) + "\n\n"
        sent = {name: value.replace("{}", key) for name, value in headers.items()}

        failure = await failed(
            answering(library, body.encode(), status=status, headers=sent, environ={"KEY": key})
        )

        assert failure.request_id == "req [key]"

    async def test_it_stands_in_no_request_id_of_a_reply(self, library: ModuleType) -> None:
        named = answering(library, headers=STREAM | {"x-request-id": f"req {KEY}"})

        reply, _ = await read(named)

        assert reply.request_id == "req [key]"

    @pytest.mark.parametrize(
        "message",
        [f"bad key {KEY}", f"{'x' * 480} {KEY}", KEY],
        ids=["inside", "cut", "nothing else"],
    )
    @pytest.mark.parametrize("status", [401, 200], ids=["answer", "stream"])
    async def test_it_stands_in_no_message(
        self, library: ModuleType, message: str, status: int
    ) -> None:
        body = json.dumps({"error": {"message": message, "code": KEY}})
        text = body if status == 401 else f"data: {body}\n\n"

        failure = await failed(answering(library, text.encode(), status=status))

        assert "[key]" in failure.message
        assert KEY[:10] not in repr(failure)

    async def test_a_cause_that_quotes_it_is_not_chained(self, library: ModuleType) -> None:
        def handler(_: httpx.Request) -> httpx.Response:
            raise library.RemoteProtocolError(f"illegal header Bearer {KEY}")

        with pytest.raises(ProviderError) as caught:
            await read(mocked(library, handler))

        assert KEY not in "".join(traceback.format_exception(caught.value))
        assert caught.value.failure.cause is None

    async def test_any_other_cause_is(self, library: ModuleType) -> None:
        def handler(_: httpx.Request) -> httpx.Response:
            raise library.RemoteProtocolError("server disconnected")

        with pytest.raises(ProviderError) as caught:
            await read(mocked(library, handler))

        assert isinstance(caught.value.__cause__, library.RemoteProtocolError)
        assert caught.value.failure.code == "reset"


OTHER_WIRES = {"gemini", "openai-responses"}
CAPTURES = [
    json.loads(file.read_text("utf-8"))
    for file in sorted(files("sidestep").joinpath("fixtures/captures").iterdir(), key=str)
]
STREAMS = [c for c in CAPTURES if c["kind"] == "sse" and c["provider"] not in OTHER_WIRES]


def replayed(library: ModuleType, capture: dict[str, Any]) -> Client:
    pieces = capture.get("chunks_b64")
    chunks = [base64.b64decode(p) for p in pieces] if pieces else [capture["body"].encode()]

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk
        if capture["eof"] == "reset":
            raise library.ReadError("reset")

    def handler(_: httpx.Request) -> httpx.Response:
        response: httpx.Response = library.Response(
            capture["status"], headers=capture["headers"], content=body()
        )
        return response

    is_anthropic = capture["provider"] in {"anthropic", "zai-anthropic"}
    wire: Wire = "anthropic" if is_anthropic else "openai-chat"
    known = {capture["provider"]: Provider(capture["provider"], wire, "http://h", None)}
    return mocked(library, handler, providers=known)


def told(reply: Reply) -> dict[str, Any]:
    """Say what `sidestep explain` says of a finished stream."""
    parts = reply.parts
    thoughts = [part for part in parts if isinstance(part, Reasoning)]
    usage = reply.usage
    return {
        "kind": "max_tokens" if reply.stop == "max_tokens" else "ok",
        "complete": True,
        "text": "".join(part.text for part in parts if isinstance(part, Text)),
        "thinking": "".join(part.text for part in thoughts),
        "signature": next((part.signature for part in thoughts), None),
        "reasoning_details": [dict(d) for part in thoughts for d in part.details],
        "tool_calls": [
            {"id": part.id, "name": part.name, "input": part.input}
            for part in parts
            if isinstance(part, ToolCall)
        ],
        "stop": reply.stop,
        "comments": reply.comments,
        "usage": {
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
        },
    }


@pytest.mark.parametrize("capture", STREAMS, ids=lambda capture: capture["name"])
async def test_captured_streams(library: ModuleType, capture: dict[str, Any]) -> None:
    expect = dict(capture["expect"])
    route = Route(f"{capture['provider']}/m")
    reply = replayed(library, capture).stream(route, HELLO)
    failure: Failure | None = None
    shown = 0

    try:
        async with reply:
            async for _ in reply:
                shown += 1
    except ProviderError as error:
        failure = error.failure

    if expect["kind"] in {"ok", "max_tokens"}:
        assert failure is None
        answer = told(reply)
        usage = expect.pop("usage", {})
        assert usage.items() <= answer["usage"].items()
        expected = {key: value for key, value in expect.items() if key in answer}
        assert {key: answer[key] for key in expected} == expected
        return
    assert failure is not None
    assert failure.kind == expect["kind"]
    assert failure.stage == {"in_stream": "stream", "end": "end"}[expect["stage"]]
    assert failure.retry_after == expect["retry_after"]


async def test_a_client_that_was_passed_in_is_left_open(library: ModuleType) -> None:
    http = library.AsyncClient(transport=library.MockTransport(lambda _: library.Response(500)))
    async with Client(http=http, providers=PROVIDERS, environ=ENVIRON) as client:
        await failed(client)

    assert not http.is_closed
    await http.aclose()
