"""The answer of one attempt on its way to the client, in as few pieces as it came in."""

from __future__ import annotations

from contextlib import contextmanager
from traceback import clear_frames
from typing import TYPE_CHECKING, TypeVar

from ...provider.error import ProviderError
from .wait import before_each_wait

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    from ..step.attempt import Attempt
    from .outlet import Lines, Outlet

T = TypeVar("T")

_MOST = 65_536
"""The bytes that are gathered at most before they go out."""


class Delivery:
    """Gathers the answer of *attempt*, and sends it when its reader has to wait for more.

    What a provider sends at once goes out at once, because each piece costs a write and some work
    of HTTP. If the attempt fails before anything of it went out, nothing goes out.

    Args:
        may_send: Returns whether what was gathered may go out now; None: it is kept until the end.

    Attributes:
        ends_event: Each piece ends where an event ends, so that pings may follow.
    """

    def __init__(
        self,
        outlet: Outlet,
        attempt: Attempt,
        headers: Lines,
        may_send: Callable[[], bool] | None,
    ) -> None:
        self.ends_event = False
        self._outlet = outlet
        self._attempt = attempt
        self._headers = headers
        self._may_send = may_send
        self._gathered = bytearray()

    def add(self, data: bytes) -> None:
        """Gather a piece."""
        self._gathered += data

    def take(self) -> bytes:
        """Return what was gathered, and forget it."""
        data = bytes(self._gathered)
        self._gathered.clear()
        return data

    @property
    def is_full(self) -> bool:
        """True if the reader must `send` before it reads on, because the client is slower."""
        if self._may_send is None:
            return False
        is_much = len(self._gathered) >= _MOST or self._outlet.is_behind
        return is_much and self._may_send()

    async def fill(self, reading: Coroutine[Any, Any, T]) -> T:
        """Return what *reading* returns, which adds the answer; send what it adds.

        Raises:
            ProviderError: The attempt failed. All that came before the failure went out, or none.
        """
        try:
            return await self._fill(reading)
        except BaseException:
            self._gathered.clear()  # because the error is kept, and refers to all this
            raise

    async def _fill(self, reading: Coroutine[Any, Any, T]) -> T:
        try:
            if self._may_send is None:
                return await reading
            return await before_each_wait(reading, self._send_now)
        except ProviderError:
            if self._may_send is not None and self._attempt.has_emitted and self._gathered:
                await self.send()
            raise

    async def send(self) -> None:
        """Send what was gathered, and wait until the client has taken it."""
        self._attempt.emitted(can_retract=False)
        await self._outlet.send(self._headers, self.take(), ends_event=self.ends_event)

    def _send_now(self) -> None:
        if self._gathered and self._may_send is not None and self._may_send():
            self._attempt.emitted(can_retract=False)
            self._outlet.send_now(self._headers, self.take(), ends_event=self.ends_event)


@contextmanager
def freeing_frames() -> Iterator[None]:
    """Free what the frames of a failed attempt refer to, because its error is kept with them."""
    try:
        yield
    except BaseException as error:
        clear_frames(error.__traceback__)
        raise
