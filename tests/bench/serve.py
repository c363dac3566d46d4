"""An answer of 20 deltas through the local address, beside a bare proxy that only copies it.

CPU time of the process in between for each answer, on connections that are open already; and the
seconds to the first output. The proxy has the same libraries: h11 to the client, httpx to the
provider. Client and provider are processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO

import anyio
import h11
import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))
from sidestep import Client, FallbackConfig, Serve, Sidestep
from sidestep.provider.background_task import BackgroundTask
from sidestep.provider.server.connection import HttpConnection, HttpRequest
from sidestep.provider.server.tcp_socket import Socket, accept, bind
from tests.bench.call import PATHS, providers, server, unlimited
from tests.bench.measure import Row, medians, run

CPU_LIMIT, FIRST_LIMIT = 1.3, 0.002
ANSWERS = 20
CONFIG = FallbackConfig.model_validate(
    {"fallbackModelsByModel": {"anthropic/m": "openai-chat/m", "openai-chat/m": "anthropic/m"}}
)


class Copying(HttpConnection):
    """A connection of the bare proxy."""

    def __init__(self, sock: Socket, http: httpx.AsyncClient, url: str) -> None:
        super().__init__(sock)
        self._asked, self._url = http, url

    async def answer(self, request: HttpRequest) -> bool:
        """Ask the provider, and pass each block on as it comes."""
        return await self.while_connected(partial(self._copy, request))

    async def _copy(self, request: HttpRequest) -> None:
        headers = {"content-type": request.headers["content-type"]}
        asked = self._asked.build_request(
            "POST", self._url + request.target, content=request.body or b"", headers=headers
        )
        response = await self._asked.send(asked, stream=True)
        kind = response.headers["content-type"]
        await self.sock.send(
            self.begin(response.status_code, [("content-type", kind)], length=None)
        )
        async for block in response.aiter_raw():
            await self.send_event(h11.Data(data=block))
        await response.aclose()
        await self.send_event(h11.EndOfMessage())

    async def reject(self, why: str) -> None:
        """Answer nothing to what is not valid HTTP."""
        raise AssertionError(why)


@asynccontextmanager
async def copying(url: str) -> AsyncIterator[str]:
    """Serve the bare proxy of *url*."""
    listener = await bind("127.0.0.1", 0, who="the bare proxy")
    listener.listen()
    http = unlimited(httpx)

    async def listen() -> None:
        async with anyio.create_task_group() as tasks:
            while True:
                connection = Copying(Socket(await accept(listener)), http, url)
                tasks.start_soon(connection.serve)

    listening = BackgroundTask(listen)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        await listening.aclose()
        await http.aclose()
        listener.close()


@contextmanager
def asker() -> Iterator[subprocess.Popen[str]]:
    """Run `asker.py`."""
    command = [sys.executable, str(Path(__file__).with_name("asker.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def asked(runner: asyncio.Runner, client: subprocess.Popen[str], url: str, *, key: str) -> float:
    """Return the CPU seconds of this process for an answer, or the seconds that *key* names."""
    assert client.stdin
    assert client.stdout
    begun = time.process_time()
    client.stdin.write(f"{url} {ANSWERS}\n")
    client.stdin.flush()
    line = runner.run(_line(client.stdout))
    spent = (time.process_time() - begun) / ANSWERS
    return spent if key == "cpu" else float(json.loads(line)[key])


async def _line(output: IO[str]) -> str:
    return await asyncio.to_thread(output.readline)


def measure(rounds: int) -> list[Row]:
    """Compare both wires, with both ways to hold an answer."""
    rows: list[Row] = []
    with server() as urls, asker() as client, asyncio.Runner() as runner:
        for wire, path in PATHS.items():
            for pace, url in urls.items():
                stack = AsyncExitStack()
                addresses = runner.run(_addresses(stack, url, wire))
                for key, kind in (("cpu", "CPU"), ("first", "first output")):
                    took = medians(
                        {
                            name: partial(asked, runner, client, address + path, key=key)
                            for name, address in addresses.items()
                        },
                        rounds=rounds,
                    )
                    rows += _rows(f"an answer, {wire}, {pace}, {kind}", took, key)
                runner.run(stack.aclose())
    return rows


async def _addresses(stack: AsyncExitStack, url: str, wire: str) -> dict[str, str]:
    """Open each side before the provider at *url*."""
    known = providers(url)
    found = {"bare": await stack.enter_async_context(copying(url))}
    for hold in ("whole", "first"):
        client = await stack.enter_async_context(Client(providers=known, environ={}))
        serve = Serve(Sidestep(CONFIG), client, hold=hold, token=None)
        await stack.enter_async_context(serve)
        found[hold] = f"{serve.url}/{wire}"
    return found


def _rows(what: str, took: dict[str, float], key: str) -> Iterator[Row]:
    for hold in ("whole", "first"):
        if key == "cpu":
            yield Row(f"{what}, {hold}", took[hold], "bare proxy", took["bare"], CPU_LIMIT)
        elif hold == "first":
            sides = f"{what}, {hold}", took[hold], "bare proxy", took["bare"]
            yield Row(*sides, FIRST_LIMIT, allows="more", kind="wall")


if __name__ == "__main__":
    run(__doc__, measure, rounds=15)
