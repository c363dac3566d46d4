"""Responses in place of a stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import FailureKind, ProviderError, Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Text
from sidestep.provider.failure import Stage
from sidestep.provider.recording.recorded_answer import Recorded
from sidestep.provider.recording.recorded_answer import read as read_recorded
from sidestep.provider.wire.reading import Reading

from .answers import HELLO, JSON, answering, breaking, failed, mocked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import ModuleType

    import httpx

    from sidestep.provider.failure import Failure
    from sidestep.provider.wire_name import Wire

pytestmark = pytest.mark.asyncio

GEMINI_HEL = {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]}
GEMINI_LO = {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}]}


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
        ("body", "kind", "message"),
        [
            pytest.param(
                b'error: {"code":400,"message":"the request exceeds the available context size. '
                b'try increasing the context size","type":"invalid_request_error"}\n\n'
                b"data: [DONE]\n\n",
                FailureKind.CONTEXT_OVERFLOW,
                "the request exceeds the available context size. try increasing the context size",
                id="llama.cpp",
            ),
            pytest.param(
                b'error: {"error":{"code":503,"message":"no worker"}}\n\n',
                FailureKind.OVERLOADED,
                "no worker",
                id="a whole error object",
            ),
            pytest.param(
                b'event: error\ndata: {"error":{"message":"Input does not fit in context length. '
                b'The input has 31430 tokens, but the context length only supports 30000 tokens."'
                b"}}\n\n",
                FailureKind.CONTEXT_OVERFLOW,
                "Input does not fit in context length. The input has 31430 tokens, but the context "
                "length only supports 30000 tokens.",
                id="LM Studio",
            ),
        ],
    )
    async def test_an_error_in_a_stream_is_read_whatever_field_it_is_in(
        self, library: ModuleType, body: bytes, kind: FailureKind, message: str
    ) -> None:
        failure = await failed(answering(library, body))

        assert (failure.kind, failure.message) == (kind, message)

    @pytest.mark.parametrize("status", [404, 405])
    async def test_where_nothing_is_found_the_address_is_told(
        self, library: ModuleType, status: int
    ) -> None:
        wrong = Provider("house", "anthropic", "http://me:secret@h:81/v1", None)

        def answer(_: httpx.Request) -> httpx.Response:
            response: httpx.Response = library.Response(status, content=b"404 page not found")
            return response

        client = mocked(library, answer, providers={"house": wrong})
        with pytest.raises(ProviderError) as caught:
            async with client.stream(Route("house/m"), HELLO):
                pass

        message = caught.value.failure.message
        assert message.endswith("(asked at http://h:81/v1/v1/messages)")
        assert "secret" not in message

    @pytest.mark.parametrize(
        ("wire", "base", "asked"),
        [
            ("anthropic", "http://h/v1", "/v1/v1/messages"),
            ("anthropic", "http://h/v1/chat/completions", "/v1/chat/completions/v1/messages"),
            ("openai-chat", "http://h", "/chat/completions"),
            ("openai-chat", "http://h/v1/v1/", "/v1/v1/chat/completions"),
            (
                "openai-chat",
                "http://h/v1/chat/completions",
                "/v1/chat/completions/chat/completions",
            ),
            ("openai-responses", "http://h/v1/responses", "/v1/responses/responses"),
            ("gemini", "http://h/v1", "/v1/models/m:streamGenerateContent"),
        ],
    )
    @pytest.mark.parametrize(
        ("status", "content_type", "body", "kind"),
        [
            (404, "text/html", b"<!DOCTYPE html><title>404</title>", FailureKind.NOT_FOUND),
            (404, "application/json", b'{"detail":"Not Found"}', FailureKind.NOT_FOUND),
            (404, "application/json", b'{"message":"Not found","docs":"x"}', FailureKind.NOT_FOUND),
            (404, "text/plain", b"404 page not found", FailureKind.NOT_FOUND),
            (404, "", b"", FailureKind.NOT_FOUND),
            (405, "text/html", b"<html>Method Not Allowed</html>", None),
            (200, "text/html; charset=utf-8", b"<!doctype html>New API", FailureKind.SERVER_ERROR),
        ],
        ids=[
            "a page",
            "FastAPI",
            "JSON",
            "Go",
            "nothing",
            "a method",
            "a page with 200",
        ],
    )
    async def test_a_wrong_base_url_shows_in_what_is_told(
        self,
        library: ModuleType,
        wire: Wire,
        base: str,
        asked: str,
        status: int,
        content_type: str,
        body: bytes,
        kind: FailureKind | None,
    ) -> None:
        """As vellum-ai/vellum-assistant pull 25930 and zh-plus/openlrc#36 have it."""

        def answer(_: httpx.Request) -> httpx.Response:
            headers = {"content-type": content_type}
            response: httpx.Response = library.Response(status, content=body, headers=headers)
            return response

        wrong = Provider("house", wire, base, None)
        client = mocked(library, answer, providers={"house": wrong})
        with pytest.raises(ProviderError) as caught:
            async with client.stream(Route("house/m"), HELLO):
                pass

        failure = caught.value.failure
        assert failure.kind is (kind or failure.kind)
        assert f"(asked at http://h{asked})" in failure.message

    async def test_another_failure_tells_no_address(self, library: ModuleType) -> None:
        failure = await failed(answering(library, b"", status=500))

        assert "asked at" not in failure.message

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
        told = read_recorded(recorded, gemini, Reading(gemini)).failure

        assert (failure and failure.kind) == kind
        assert (told and told.kind) == kind
        assert reply.parts == ([Text(text)] if text else [])
