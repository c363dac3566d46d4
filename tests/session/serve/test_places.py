"""How many requests of clients are under way at once, whatever they ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import httpx
import pytest

from sidestep.provider.client import environment_client, shared_http

from .served import in_front_of
from .test_own_bytes import BODY, EVENTS, SSE
from .upstream import upstream

pytestmark = pytest.mark.asyncio

FEW = 2
Ask = Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow this process so few files that it may have `FEW` connections."""
    for module in (environment_client, shared_http):
        monkeypatch.setattr(module, "most_connections", lambda: FEW)


def own_bytes(http: httpx.AsyncClient) -> Awaitable[httpx.Response]:
    return http.post("/anthropic/v1/messages", content=BODY)


def count(http: httpx.AsyncClient) -> Awaitable[httpx.Response]:
    return http.post("/anthropic/v1/messages/count_tokens", content=BODY)


def file(http: httpx.AsyncClient) -> Awaitable[httpx.Response]:
    return http.get("/anthropic/v1/files")


async def answered(ask: Ask, http: httpx.AsyncClient) -> None:
    await ask(http)


@pytest.mark.parametrize("ask", [own_bytes, count, file])
async def test_requests_beyond_the_files_of_the_process_wait(ask: Ask) -> None:
    answers: list[int] = []

    async def answer(http: httpx.AsyncClient) -> None:
        answers.append((await ask(http)).status_code)

    async with (
        upstream(EVENTS, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        provider.held = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(3 * FEW):
                tasks.start_soon(answer, http)
            await provider.until_received(FEW)
            await anyio.wait_all_tasks_blocked()
            at_once = len(provider.requests)
            provider.held.set()

    assert at_once == FEW
    assert (answers, len(provider.requests)) == ([200] * 3 * FEW, 3 * FEW)


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize("ask", [own_bytes, count, file])
async def test_a_client_that_leaves_and_an_answer_that_fails_leave_their_places_to_others(
    ask: Ask, status: int
) -> None:
    async with (
        upstream(EVENTS, status, headers=SSE) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        provider.held = anyio.Event()
        async with anyio.create_task_group() as leaving:
            for _ in range(2 * FEW):
                leaving.start_soon(answered, ask, http)
            await provider.until_received(FEW)
            await anyio.wait_all_tasks_blocked()
            leaving.cancel_scope.cancel()
        provider.held.set()
        for _ in range(2 * FEW):
            with anyio.fail_after(60):
                assert (await ask(http)).status_code in {status, 200}
