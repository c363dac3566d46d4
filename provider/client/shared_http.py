"""The one HTTP client that all requests of a `Client` share, in any event loop."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx
import sniffio

from ..error import ConfigError
from .connections import most_connections
from .environment_client import environment_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

    HttpClient = httpx.AsyncClient | httpx2.AsyncClient
else:
    HttpClient = httpx.AsyncClient  # httpx2 may not be installed

_ONE_EACH = "make one `Client` for each event loop, and so for each thread"


class SharedHttp:
    """Return the HTTP client for the running event loop.

    Connections belong to the event loop that opened them. When one loop has ended and another
    runs, as with `asyncio.run` twice, an own client is replaced by a new one.

    Args:
        host_client: The agent's own client; it is never replaced or closed. None: make one of httpx
            when it is first needed, because that loads the certificates.
    """

    def __init__(self, host_client: HttpClient | None) -> None:
        self._host_client = host_client
        self._own: httpx.AsyncClient | None = None
        self._loop: object = None
        self._slots: anyio.Semaphore | None = None

    async def acquire_slot(self) -> anyio.Semaphore | None:
        """Wait until one more request may be under way, and return what to release after it.

        An own client has as many connections as requests under way, so that more of them would
        take all files that this process may open. None: the agent's own client has its own limits.
        """
        self.client()
        if self._slots is not None:
            await self._slots.acquire()
        return self._slots

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[httpx.AsyncClient]:
        """Wait as `acquire_slot` does, and yield the client for one request, until it is over."""
        slot = await self.acquire_slot()
        try:
            yield self.client()
        finally:
            if slot is not None:
                slot.release()

    def client(self) -> httpx.AsyncClient:
        """Return the client to send with.

        Raises:
            ConfigError: Another event loop uses the client now; or what the environment says of
                proxies or certificates cannot be.
        """
        loop = _running_loop()
        if self._host_client is not None:
            self._loop = self._loop or loop
            return self._host_client  # type: ignore[return-value]  # httpx2's has the same methods
        if loop is not self._loop:
            if self._own is not None and not _has_ended(self._loop):
                raise ConfigError(f"this `Client` is in use in another event loop: {_ONE_EACH}")
            self._own = None
        if self._own is None:
            self._own, self._loop = environment_client(), loop
            self._slots = anyio.Semaphore(most_connections(), fast_acquire=True)
        return self._own

    def explained(self, error: Exception) -> Exception:
        """Return the cause of *error* if the agent's client came from another event loop."""
        if self._host_client is None or self._loop is _running_loop():
            return error
        return ConfigError(
            f"the client passed as `http` was first used in another event loop, and its "
            f"connections ended with it ({type(error).__name__}): make it in this event loop, or "
            f"pass no `http`; {_ONE_EACH}"
        )

    async def aclose(self) -> None:
        """Close our own client; a client of the agent stays open."""
        own, self._own = self._own, None
        if own is not None and self._loop is _running_loop():
            await own.aclose()


def _running_loop() -> object:
    """Return what identifies the running event loop."""
    if sniffio.current_async_library() == "trio":
        from trio.lowlevel import current_trio_token  # loaded by now

        return current_trio_token()
    from asyncio import get_running_loop

    return get_running_loop()


def _has_ended(loop: object) -> bool:
    """True once nothing can run in *loop* any more."""
    from asyncio import AbstractEventLoop

    if isinstance(loop, AbstractEventLoop):
        return loop.is_closed()
    from trio import RunFinishedError
    from trio.lowlevel import TrioToken

    assert isinstance(loop, TrioToken)  # noqa: S101
    try:
        loop.run_sync_soon(lambda: None)
    except RunFinishedError:
        return True
    return False
