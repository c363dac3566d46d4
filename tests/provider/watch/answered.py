"""Clients of httpx and httpx2 that are answered without a socket, a block at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import httpx2

LIBRARIES: dict[str, ModuleType] = {"httpx": httpx, "httpx2": httpx2}
URL = "https://api.openai.com/v1/chat/completions"
EVENTS = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
ASKED: Mapping[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
HEL = b'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'
LO = b'data: {"choices": [{"delta": {"content": "lo"}, "finish_reason": "stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"

Block = bytes | float | Exception
"""A block; or seconds in which nothing comes; or what the connection raises."""


@dataclass
class Answered:
    """What answers each request.

    Attributes:
        requests: All that came.
        sent: How many blocks were asked for.
        closed: How many bodies were closed.
    """

    blocks: list[Block]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: EVENTS)
    requests: list[Any] = field(default_factory=list)
    sent: int = 0
    closed: int = 0

    def client(self, library: ModuleType, **options: Any) -> Any:
        """Return an asynchronous client that is answered so."""
        answered = self

        class Body(library.AsyncByteStream):  # type: ignore[name-defined, misc]
            async def __aiter__(self) -> AsyncIterator[bytes]:
                for block in answered.blocks:
                    answered.sent += 1
                    if isinstance(block, Exception):
                        raise block
                    if isinstance(block, float):
                        await anyio.sleep(block)
                    else:
                        await anyio.lowlevel.checkpoint()
                        yield block

            async def aclose(self) -> None:
                answered.closed += 1

        class Transport(library.AsyncBaseTransport):  # type: ignore[name-defined, misc]
            async def handle_async_request(self, request: Any) -> Any:
                answered.requests.append(request)
                return library.Response(answered.status, headers=answered.headers, stream=Body())

        return library.AsyncClient(transport=Transport(), **options)

    def blocking_client(self, library: ModuleType) -> Any:
        """Return the same without an event loop."""
        answered = self

        class Body(library.SyncByteStream):  # type: ignore[name-defined, misc]
            def __iter__(self) -> Iterator[bytes]:
                for block in answered.blocks:
                    answered.sent += 1
                    if isinstance(block, Exception):
                        raise block
                    if isinstance(block, bytes):
                        yield block

            def close(self) -> None:
                answered.closed += 1

        class Transport(library.BaseTransport):  # type: ignore[name-defined, misc]
            def handle_request(self, request: Any) -> Any:
                answered.requests.append(request)
                return library.Response(answered.status, headers=answered.headers, stream=Body())

        return library.Client(transport=Transport())


async def stream(
    http: Any, *, url: str = URL, taken: Callable[[bytes], None], **asked: Any
) -> None:
    """Ask for a stream, and hand each block to *taken* as it comes."""
    async with http.stream("POST", url, json={**ASKED, "stream": True, **asked}) as response:
        async for block in response.aiter_raw():
            taken(block)


def whole(text: str | None = "Hello", **choice: Any) -> bytes:
    """Return a whole answer of Chat Completions."""
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {"choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}]}
    ).encode()
