"""No session is stuck, over real sockets: some facts of each kind on each wire.

`test_no_session_is_stuck.py` tries every fact, without sockets.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sidestep import Client, MemoryStore, Route, Session, Sidestep, Summary
from sidestep.provider.classify.classify import classify_response
from sidestep.provider.fact import Fact
from sidestep.provider.failure import FailureKind
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from ...virtual import VirtualClock
from .test_no_session_is_stuck import POISONED, WIRES, facts, history, refusal_of

OF_EACH_WIRE = {
    "anthropic": "anthropic/claude-sonnet-5",
    "openai-responses": "openai/gpt-5.1",
    "openai-chat": "openrouter/some/model",
    "gemini": "gemini/gemini-3-pro",
}


def one_fact_of_each_kind() -> Iterator[Any]:
    """Choose for each wire the first and the last fact of each kind, with what it refuses."""
    chosen: dict[tuple[str, FailureKind], list[Any]] = {}
    for row in facts():
        vendor, fact, _ = row.values
        chosen.setdefault((vendor, fact.kind), []).append(row)
    for name in OF_EACH_WIRE.values():
        for (vendor, _), rows in chosen.items():
            if vendor == Route(name).provider:
                yield from {row.id: row for row in (rows[0], rows[-1])}.values()


@asynccontextmanager
async def behind_a_poison(
    stub: Stub, refused: tuple[int, bytes], is_poisoned: Callable[[Any], bool]
) -> AsyncIterator[str]:
    """Serve on loopback what *stub* serves, but answer a poisoned request with *refused*."""
    status, body = refused
    head = f"HTTP/1.1 {status} No\r\ncontent-type: application/json\r\n".encode()
    refusal = head + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", request, re.IGNORECASE)
        assert length is not None
        content = await reader.readexactly(int(length[1]))
        if is_poisoned(json.loads(content)):
            writer.write(refusal)
        else:
            there, onward = await asyncio.open_connection("127.0.0.1", stub.port)
            onward.write(request.replace(b"\r\n", b"\r\nconnection: close\r\n", 1) + content)
            while block := await there.read(65_536):
                writer.write(block)
            onward.close()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


def drawn_refusal(vendor: str, fact: Fact) -> tuple[int, bytes]:
    """Return a status and a body that our classifier reads as *fact*."""
    drawn: list[tuple[int, bytes]] = []

    @settings(max_examples=1, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        status, body = refusal_of(fact, data.draw)
        failure = classify_response(status, {}, body, provider=vendor, wire=WIRES[vendor])
        assume(failure.kind is fact.kind)
        drawn.append((status, body))

    draw()
    return drawn[0]


@pytest.mark.asyncio
@pytest.mark.parametrize(("vendor", "fact", "poison"), list(one_fact_of_each_kind()))
async def test_the_third_turn_ends_well_over_sockets_too(
    vendor: str, fact: Fact, poison: str
) -> None:
    """The variables are as a coordinator sets them; the sibling refuses the same."""
    refused = drawn_refusal(vendor, fact)
    route = next(Route(name) for name in OF_EACH_WIRE.values() if Route(name).provider == vendor)
    sibling = Route("zai/glm-5")
    stub = Stub(Scenario.parse({"answers": {route: {"text": "Done."}, sibling: {"text": "Done."}}}))
    store = MemoryStore()
    for message in history(route):
        await store.append(message)
    async with stub, behind_a_poison(stub, refused, POISONED[poison]) as url:
        settings_of = {
            name: {**each, "baseUrl": str(each["baseUrl"]).replace(stub.url, url)}
            for name, each in stub.providers().items()
        }
        environ = {
            "SIDESTEP_FALLBACK_CONFIG": json.dumps({"fallbackModelsByModel": {route: sibling}}),
            "SIDESTEP_PROVIDERS": json.dumps(settings_of),
        }
        async with httpx.AsyncClient(trust_env=False) as http:
            session = Session(
                route,
                middleware=Sidestep.from_env(environ, clock=VirtualClock()),
                client=Client(http=http, environ=environ),
                store=store,
                max_output_tokens=32_000,
                reasoning="high",
                compact=Summary(),
            )
            for prompt in ("One.", "Two."):
                try:
                    await session.turn(prompt)
                except Exception:  # noqa: BLE001, S112 - only the third turn must end well
                    continue
            assert (await session.turn("Three.")).text == "Done."
    assert stub.requests
