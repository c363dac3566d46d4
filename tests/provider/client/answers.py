"""What the tests of client share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Client, ProviderError, Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Conversation, Message, Reasoning, Text, ToolCall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import ModuleType

    import httpx

    from sidestep.provider.client.reply import Reply
    from sidestep.provider.delta import Delta
    from sidestep.provider.failure import Failure


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
DONE = b"data: [DONE]\n\n"
WHOLE = HEL + LO + FINISH + USAGE + DONE

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
