"""`Serve`: the local address."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self, get_args

import anyio

from ...provider.background_task import BackgroundTask
from ...provider.client.connections import most_connections
from ...provider.log import logger
from ...provider.server.tcp_socket import Socket, accept, bind, url_host
from .access import Access, new_token
from .connection import ServeConnection, Shared
from .memory import AnswerMemory
from .pages import Pages
from .served_step import Hold

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from types import TracebackType

    from anyio.abc import TaskGroup

    from ...provider.client.client import Client
    from ..step.middleware import Sidestep
    from .memory_file import SqliteMemory

HOST = "127.0.0.1"
BACKLOG = 1024
MOST_CONNECTIONS = 1024
OTHER_FILES = 32
"""Files that this process opens beside its connections, such as the journal."""
_FEWEST = 8
IDLE_SECONDS = 5.0
"""Seconds without a request after which a connection is closed if another one waits."""
_LOOK_AGAIN = 0.05
"""Seconds until a connection that has become idle is closed for one that waits."""
STATUS_AFTER = 30.0
PING_EVERY = 10.0
NEW_TOKEN = new_token()
"""Stands for a token that each `Serve` makes."""


def most_served() -> int:
    """Return how many connections are served at once, because each takes one to a provider."""
    return min(max(most_connections() - OTHER_FILES, _FEWEST), MOST_CONNECTIONS)


def _open(path: str | os.PathLike[str]) -> SqliteMemory:
    from .memory_file import SqliteMemory  # sqlite3 takes milliseconds to import

    return SqliteMemory(path)


class Serve:
    """A local address that speaks the four wires, for agents that cannot import sidestep.

    Use it as an asynchronous context manager. Each request is a step of *middleware*.

    Args:
        middleware: Retries, swaps, and remembers what failed.
        client: Sends the requests; its keys are used only for a client that has the token.
        port: 0: any free port.
        hold: Until when an answer is held back: ``whole`` until it is whole, ``first`` until its
            first output.
        token: What clients send in place of a key; None: they send their own keys, which go only
            to the provider that they ask for. Without this argument a new token is made, which is
            asked for only if *client* has a key to protect.
        use_own_keys: Without a token, send our keys to siblings, and for a client without a key.
        store: A file that keeps what is remembered of answers for the next process; None: nothing
            is kept.
        status_after: Seconds after which the status line of a stream goes out, even if there is no
            output yet.
        ping_every: Seconds between two pings of a stream after that.

    Raises:
        ConfigError: The store cannot be used; or on entering: the port is taken.
        ValueError: *hold* is another word, or *token* is empty.
    """

    def __init__(
        self,
        middleware: Sidestep,
        client: Client,
        *,
        port: int = 0,
        hold: Hold = "whole",
        token: str | None = NEW_TOKEN,
        use_own_keys: bool = False,
        store: str | os.PathLike[str] | None = None,
        status_after: float = STATUS_AFTER,
        ping_every: float = PING_EVERY,
    ) -> None:
        if hold not in get_args(Hold):
            raise ValueError(f"`hold` must be one of {', '.join(get_args(Hold))}, got {hold!r}")
        if token == "":
            raise ValueError("`token` is empty: write a token, or None for none")
        is_made = token is NEW_TOKEN
        self.token = new_token() if is_made else token
        self._port = port
        self._client = client
        self._store = None if store is None else _open(store)
        self._access = Access(
            self.token,
            may_use_our_keys=use_own_keys,
            is_token_needed=self._has_keys if is_made else lambda: True,
        )
        self._pages = Pages(middleware)
        self._shared = Shared(
            middleware=middleware,
            client=client,
            access=self._access,
            memory=AnswerMemory(self._store),
            pages=self._pages,
            hold=hold,
            status_after=status_after,
            ping_every=ping_every,
        )
        self._connections: set[ServeConnection] = set()
        self._slots = anyio.Semaphore(most_served())
        self._listener: socket.socket | None = None
        self._listening: BackgroundTask | None = None
        self._accepting: anyio.CancelScope | None = None

    async def __aenter__(self) -> Self:
        listener = self._listener = await bind(HOST, self._port, who="`sidestep serve`")
        self._port = listener.getsockname()[1]
        self._access.listen_at(self._port)
        listener.listen(BACKLOG)
        self._pages.open()
        accepting = self._accepting = anyio.CancelScope()
        self._listening = BackgroundTask(partial(self._listen, listener, accepting))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self._port

    @property
    def url(self) -> str:
        """The address, as ``http://127.0.0.1:8504``."""
        return f"http://{url_host(HOST)}:{self._port}"

    @property
    def trouble(self) -> str | None:
        """What of the store is lost, and why; None: nothing is."""
        return None if self._store is None else self._store.trouble

    async def stopped(self) -> None:
        """Wait until it stops listening, which only an error causes."""
        if self._listening is not None:
            await self._listening.end.wait()

    async def drain(self, *, seconds: float = math.inf) -> None:
        """Take no more requests, and wait until the answers that are being sent have ended.

        Args:
            seconds: How long to wait at most. `aclose` ends what is still being sent then.
        """
        if self._accepting is not None:
            self._accepting.cancel()
        for connection in self._connections:
            connection.close_when_idle()
        if self._listening is not None:
            await self._listening.wait(seconds)

    async def aclose(self) -> None:
        """Close the address and every connection at once; a second call does nothing."""
        listening, self._listening = self._listening, None
        try:
            if listening is not None:
                await listening.aclose()
        finally:
            self._pages.close()
            if self._listener is not None:
                self._listener.close()
            if self._store is not None:
                self._store.close()

    def _has_keys(self) -> bool:
        """True if the client has a key that others must not spend."""
        client = self._client
        return any(client.secret(each).key for each in client.providers.values())

    async def _listen(self, listener: socket.socket, accepting: anyio.CancelScope) -> None:
        waiting: list[Socket] = []  # for a slot
        try:
            async with anyio.create_task_group() as tasks:
                with accepting:
                    while True:
                        waiting.append(Socket(await accept(listener)))
                        await self._take_slot()
                        self._start(tasks, waiting.pop())
                waiting += _arrived(listener)
                self._start_last(tasks, waiting)
                listener.close()
        finally:
            for sock in waiting:
                sock.close()

    def _start(self, tasks: TaskGroup, sock: Socket) -> ServeConnection:
        connection = ServeConnection(sock, self._shared)
        self._connections.add(connection)
        tasks.start_soon(self._serve, connection)
        return connection

    def _start_last(self, tasks: TaskGroup, waiting: list[Socket]) -> None:
        """Serve one request of each connection that has a slot, because closing would reset it."""
        with suppress(anyio.WouldBlock):
            while waiting:
                self._slots.acquire_nowait()
                self._start(tasks, waiting.pop(0)).close_when_idle()

    async def _take_slot(self) -> None:
        """Wait for a slot; while there is none, connections without a request are closed."""
        is_taken = False
        while not is_taken:
            if not self._slots.value:
                self._close_idle()
            with anyio.move_on_after(_LOOK_AGAIN):
                await self._slots.acquire()
                is_taken = True

    def _close_idle(self) -> None:
        """Close the connection that has waited longest for a request, if that is long."""
        since = [(each.waits_since or math.inf, each) for each in self._connections]
        waits_since, longest = min(since, key=lambda each: each[0])
        if waits_since < anyio.current_time() - IDLE_SECONDS:
            longest.close_when_idle()

    async def _serve(self, connection: ServeConnection) -> None:
        try:
            await connection.serve()
        except Exception:  # noqa: BLE001 - one connection must not end the others
            logger.exception("a connection to the local address failed")
        finally:
            self._connections.discard(connection)
            self._slots.release()


def _arrived(listener: socket.socket) -> Iterator[Socket]:
    """Yield the connections that clients have made, and that have not been accepted."""
    with suppress(OSError):  # there are no more
        while True:
            yield Socket(listener.accept()[0])
