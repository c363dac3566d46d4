"""A client of the stub over real sockets, and helpers to read what it received."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from sidestep.provider.catalog.provider import Provider
from sidestep.provider.route import Route
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.script import script_of
from sidestep.provider.stub.server import Stub
from sidestep.provider.stub.wire.base import StubRequest
from sidestep.provider.wire.registry import decoder_of, parser_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidestep.provider.stub.vendor_error import Dialect
    from sidestep.provider.wire.protocol import Decoder
    from sidestep.provider.wire_name import Wire

ANTHROPIC = "anthropic/claude"
OPENROUTER = "openrouter/anthropic/claude"
CHAT = "groq/llama"
RESPONSES = "openai/gpt-x"
GEMINI = "gemini/gemini-x"

DIALECTS: dict[str, Dialect] = {
    ANTHROPIC: "anthropic",
    OPENROUTER: "openrouter",
    CHAT: "openai-chat",
    RESPONSES: "openai-responses",
    GEMINI: "gemini",
}
PATHS = {
    "anthropic": "/anthropic/v1/messages",
    "openrouter": "/openrouter/api/v1/chat/completions",
    "openai": "/openai/v1/responses",
}
CALL = {"id": "call_1", "name": "read_file", "input": {"path": "src/a.py"}}


def playing(**answers: object) -> Stub:
    """Return a stub that plays *answers* on every route of `DIALECTS`."""
    return Stub(Scenario.parse({"answers": dict.fromkeys(DIALECTS, answers)}))


def client(stub: Stub) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=stub.url, timeout=60, trust_env=False)


def path_to(route: str, *, stream: bool = True) -> str:
    at = Route(route)
    if at.provider == "gemini":
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/gemini/v1beta/models/{quote(at.model, safe='')}:{method}"
    return PATHS.get(at.provider, f"/{at.provider}/v1/chat/completions")


def request(http: httpx.AsyncClient, route: str, *, stream: bool = True) -> httpx.Request:
    body = {"model": Route(route).model, "stream": stream, "messages": []}
    if Route(route).provider == "gemini":
        body = {"contents": []}
    return http.build_request("POST", path_to(route, stream=stream), json=body)


async def ask(stub: Stub, route: str, *, stream: bool = True) -> httpx.Response:
    async with client(stub) as http:
        return await http.send(request(http, route, stream=stream))


async def read_until_it_breaks(
    stub: Stub, route: str, *, stream: bool = True
) -> tuple[bytes, httpx.TransportError | None]:
    """Return the received part of the body, and the error that ended it."""
    came = b""
    async with client(stub) as http:
        try:
            response = await http.send(request(http, route, stream=stream), stream=True)
            async for piece in response.aiter_raw():
                came += piece
        except httpx.TransportError as error:
            return came, error
        await response.aclose()
    return came, None


def events(body: bytes) -> list[Any]:
    """Return the data of all events; JSON is decoded, `[DONE]` is kept."""
    data = [line[6:].rstrip(b"\r") for line in body.split(b"\n") if line.startswith(b"data: ")]
    return [each.decode() if each == b"[DONE]" else json.loads(each) for each in data]


def outputs(body: bytes) -> list[str]:
    """Return the pieces of text, reasoning and arguments, in order of arrival."""
    return [piece for event in events(body) for piece in _pieces(event) if piece]


def _pieces(event: Any) -> Iterator[str]:
    if not isinstance(event, dict):
        return
    delta = event.get("delta", {})
    if isinstance(delta, str):
        yield delta
        return
    yield from (delta.get(key, "") for key in ("thinking", "text", "partial_json"))
    for choice in event.get("choices", []):
        delta = choice["delta"]
        yield from (delta.get(key) or "" for key in ("reasoning", "reasoning_content", "content"))
        for call in delta.get("tool_calls", []):
            yield call["function"].get("arguments", "")
    for candidate in event.get("candidates", []):
        yield from (part.get("text", "") for part in candidate["content"]["parts"])


def rendered(answer: object, route: str, *, stream: bool = True) -> tuple[bytes, ...]:
    scenario = Scenario.parse({"answers": {route: answer}})
    played = scenario.answer(Route(route), 1)
    assert played is not None
    return script_of(played, asked(route, stream=stream)).pieces


def dialect_of(route: str) -> Dialect:
    """Return the dialect in which the stub answers on *route*, for any model."""
    dialects = {Route(known).provider: dialect for known, dialect in DIALECTS.items()}
    return dialects.get(Route(route).provider, "openai-chat")


def asked(route: str, *, stream: bool = True) -> StubRequest:
    """Return the first request for *route*, as the stub sees it."""
    return StubRequest(route=Route(route), dialect=dialect_of(route), is_stream=stream)


def decoded(body: bytes, route: str) -> Decoder:
    """Return the decoder of the real provider after it has read *body*.

    Raises:
        ProviderError: It is not a complete answer.
    """
    dialect = dialect_of(route)
    wire: Wire = "openai-chat" if dialect == "openrouter" else dialect
    decoder = decoder_of(Provider(Route(route).provider, wire, "http://stub", None))
    parser = parser_of(wire)
    for name, data in [*parser.feed(body), *parser.flush()]:
        decoder.decode(data, name)
    decoder.end()
    return decoder
