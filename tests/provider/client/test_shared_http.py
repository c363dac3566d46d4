"""One client, in one event loop after another, or in two at once."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator

import anyio
import httpx
import pytest
from anyio.from_thread import start_blocking_portal

import sidestep
from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.conversation import Conversation, Message, Text
from sidestep.provider.stub.server import Stub

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

ROUTE = Route("anthropic/claude-sonnet-5")
KEY = {"ANTHROPIC_API_KEY": "sk-test-1234567890abcdef"}


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A stub in an event loop that outlasts the loops of the test."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Stub()) as server:
        yield server


@pytest.fixture(autouse=True)
def _loops_leave_sockets() -> Iterator[None]:
    """Collect here what an ended loop left open."""
    yield
    for _ in range(3):  # PyPy closes what one collection found after the next
        gc.collect()


def client_of(stub: Stub, http: httpx.AsyncClient | None = None) -> sidestep.Client:
    providers = catalog(provider_settings(stub.providers(), where="the stub"))
    return sidestep.Client(http=http, providers=providers, environ=KEY)


async def ask(client: sidestep.Client) -> str:
    said = Conversation([Message("user", [Text("Hello")])])
    async with client.stream(ROUTE, said) as reply:
        async for _ in reply:
            pass
        return "".join(part.text for part in reply.parts if isinstance(part, Text))


def in_asyncio(client: sidestep.Client) -> str:
    return asyncio.run(ask(client))


def in_trio(client: sidestep.Client) -> str:
    return anyio.run(ask, client, backend="trio")


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([in_asyncio] * 3, id="asyncio three times"),
        pytest.param([in_trio] * 3, id="trio three times"),
        pytest.param([in_asyncio, in_trio, in_asyncio], id="asyncio and trio in turn"),
    ],
)
def test_one_client_answers_in_one_event_loop_after_another(
    stub: Stub, turns: list[Callable[[sidestep.Client], str]]
) -> None:
    client = client_of(stub)

    answers = [turn(client) for turn in turns]

    assert all(answers)


def test_a_client_that_was_closed_answers_in_the_next_event_loop(stub: Stub) -> None:
    client = client_of(stub)

    async def once() -> str:
        async with client:
            return await ask(client)

    assert [bool(asyncio.run(once())) for _ in range(3)] == [True] * 3


@pytest.mark.parametrize("first", [in_asyncio, in_trio])
def test_a_client_in_two_event_loops_at_once_says_what_to_do(
    stub: Stub, first: Callable[[sidestep.Client], str]
) -> None:
    client = client_of(stub)
    answered, is_over = threading.Event(), threading.Event()

    async def held() -> None:
        await ask(client)
        answered.set()
        await anyio.to_thread.run_sync(is_over.wait)
        await client.aclose()

    backend = "asyncio" if first is in_asyncio else "trio"
    thread = threading.Thread(target=lambda: anyio.run(held, backend=backend))
    thread.start()
    answered.wait(60)
    try:
        with pytest.raises(sidestep.ConfigError, match="make one `Client` for each event loop"):
            asyncio.run(ask(client))
    finally:
        is_over.set()
        thread.join()


def test_a_client_of_the_hosts_own_says_that_its_event_loop_has_ended(stub: Stub) -> None:
    client = client_of(stub, http=httpx.AsyncClient())
    assert in_asyncio(client)

    with pytest.raises(sidestep.ConfigError, match="first used in another event loop") as caught:
        in_asyncio(client)

    assert caught.value.__cause__ is not None
