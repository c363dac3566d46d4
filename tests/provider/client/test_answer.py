"""Answers read by the client: deltas, deadlines, broken connections."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from sidestep import Client, FailureKind, ProviderError, Route, TextDelta
from sidestep.provider.conversation import Text
from sidestep.provider.failure import Stage

from .answers import (
    CHAT,
    CLAUDE,
    DONE,
    FINISH,
    HEL,
    HELLO,
    LO,
    STREAM,
    USAGE,
    WHOLE,
    answering,
    body,
    breaking,
    failed,
    read,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import ModuleType

    from sidestep.provider.client.reply import Reply
    from sidestep.provider.delta import Delta
    from sidestep.provider.failure import Failure

pytestmark = pytest.mark.asyncio

ERROR = b'data: {"error":{"code":502,"message":"gone"}}\n\n'


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
