"""What a provider sends without an end does not fill the memory."""

from __future__ import annotations

import gzip

import pytest

from sidestep.provider.relay import own_reply
from sidestep.provider.watch import watched_answer

from .served import CLAUDE, in_front_of
from .test_own_bytes import BODY, EVENTS, SSE
from .upstream import upstream

pytestmark = pytest.mark.asyncio

MIB = 1_048_576
JSON = (("content-type", "application/json"),)
BEGUN = EVENTS.partition(b"event: content_block_stop")[0]
GZIP = ("content-encoding", "gzip")


@pytest.mark.parametrize("hold", ["whole", "first"])
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(JSON, b'{"a": "%b' % (b"x" * 3 * MIB), id="JSON"),
        pytest.param(JSON, b'{"a": "%b"}' % (b"x" * 3 * MIB), id="whole JSON"),
        pytest.param((*JSON, GZIP), gzip.compress(b"{%b" % (b" " * 3 * MIB)), id="a bomb"),
        pytest.param(SSE, b": ping\n\n" * 400_000, id="pings"),
        pytest.param(SSE, b"\n" * 3 * MIB, id="empty lines"),
        pytest.param(SSE, BEGUN + b": ping\n\n" * 400_000, id="pings before the end"),
    ],
)
async def test_an_answer_is_read_no_further_than_its_limit(
    headers: tuple[tuple[str, str], ...],
    body: bytes,
    hold: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_reply, "MAX_ANSWER", 2 * MIB)
    monkeypatch.setattr(watched_answer, "MAX_WHOLE", 2 * MIB)
    async with (
        upstream(body, headers=headers) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}, hold=hold) as (
            _,
            http,
            middleware,
            _clock,
        ),
    ):
        answer = await http.post("/anthropic/v1/messages", content=BODY)
        (route,) = middleware.status().routes

        assert "an answer of more than 2 MiB" in answer.text
        assert (str(route.route), str(route.state)) == (CLAUDE, "degraded")


@pytest.mark.parametrize("hold", ["whole", "first"])
@pytest.mark.parametrize("follows", [b": ping\n\n" * 1_000_000, b"x" * 8_000_000])
async def test_what_follows_a_whole_answer_is_read_no_further_than_its_limit(
    follows: bytes, hold: str
) -> None:
    async with (
        upstream(EVENTS + follows, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}, hold=hold) as (
            _,
            http,
            *_rest,
        ),
    ):
        answer = await http.post("/anthropic/v1/messages", content=BODY)

        assert (answer.status_code, answer.content[: len(EVENTS)]) == (200, EVENTS)
        assert len(answer.content) < 3 * MIB
