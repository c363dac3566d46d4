"""Captured streams, read by the client."""

from __future__ import annotations

import base64
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Client, ProviderError, Route
from sidestep.provider.catalog.provider import Provider

from .answers import HELLO, mocked, told

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import ModuleType

    import httpx

    from sidestep.provider.failure import Failure
    from sidestep.provider.wire_name import Wire

pytestmark = pytest.mark.asyncio

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
