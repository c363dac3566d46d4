"""However an answer ends, nothing of its body is left to the garbage collector."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from sidestep import Client, ProviderError, Route
from sidestep.provider.conversation import Conversation, Message, Settings, Text

from ...virtual import virtual_backend

A = Route("anthropic/claude-sonnet-5")
HELLO = Conversation([Message("user", [Text("hi")])], (), Settings(max_output_tokens=9))
GZIP = {"content-encoding": "gzip"}
JSON = {"content-type": "application/json"}

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(request.param)


class Endless(httpx.AsyncByteStream):
    """A body that goes on until it is cancelled, even after it was closed."""

    def __init__(self, first: bytes, seconds_to_close: float, *, is_shielded: bool = False) -> None:
        self.first = first
        self.seconds_to_close = seconds_to_close
        self.is_shielded = is_shielded
        self.has_ended = self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            yield self.first
            while True:
                await anyio.sleep(1)
                yield b"event: ping\ndata: {}\n\n"
        finally:
            self.has_ended = True

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=self.is_shielded):
            await anyio.sleep(self.seconds_to_close)
            self.is_closed = True


PING, NO_GZIP = b"event: ping\ndata: {}\n\n", b"\x1f\x8bnonsense"
BODIES = [
    pytest.param(PING, {}, 200, "at once", id="left"),
    pytest.param(PING, {}, 200, "slowly", id="left, closed slowly"),
    pytest.param(PING, {}, 200, "shielded", id="left, closed slowly within a shield"),
    pytest.param(b"event: x\ndata: no JSON\n\n", {}, 200, "at once", id="an event, no JSON"),
    pytest.param(NO_GZIP, GZIP, 200, "at once", id="no gzip"),
    pytest.param(b"x", {"content-encoding": "br"}, 200, "at once", id="brotli"),
    pytest.param(b"x", JSON, 200, "at once", id="JSON"),
    pytest.param(NO_GZIP, GZIP | JSON, 200, "at once", id="JSON that is no gzip"),
    pytest.param(NO_GZIP, GZIP, 500, "slowly", id="an error that is no gzip"),
    pytest.param(b"overloaded", {}, 503, "shielded", id="an error"),
]


@pytest.fixture
def dropped() -> Iterator[list[str]]:
    """Return the names of the asynchronous generators that the collector ends."""
    names: list[str] = []
    before = sys.get_asyncgen_hooks()

    def finalize(generator: Any) -> None:
        names.append(generator.__qualname__)
        if before.finalizer is not None:
            before.finalizer(generator)

    sys.set_asyncgen_hooks(finalizer=finalize)
    yield names
    sys.set_asyncgen_hooks(*before)


@pytest.mark.parametrize("is_sheltered", [True, False], ids=["ours", "the host's"])
@pytest.mark.parametrize(("first", "headers", "status", "close"), BODIES)
async def test_an_endless_body_is_ended_and_closed(
    first: bytes, headers: dict[str, str], status: int, close: str, is_sheltered: bool,
    dropped: list[str],
) -> None:  # fmt: skip
    body = Endless(first, 0.0 if close == "at once" else 20.0, is_shielded=close == "shielded")
    started_at = anyio.current_time()

    async def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(
            status, headers={"content-type": "text/event-stream"} | headers, stream=body
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = Client(http=http, environ={"ANTHROPIC_API_KEY": "k"})
        try:
            async with client.send(client.render(A, HELLO), is_sheltered=is_sheltered) as reply:
                with anyio.move_on_after(1.5):
                    async for _ in reply:
                        pass
        except ProviderError:
            pass
        seconds = anyio.current_time() - started_at
        has_ended = body.has_ended
        gc.collect()
        await anyio.sleep(30)

    assert has_ended
    assert seconds < 15
    assert body.is_closed
    assert dropped == []
