"""One HTTP connection of the stub: it sends scripts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, assert_never

import anyio
import h11

from ..server.connection import HttpConnection
from .script import End, Script, json_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..server.connection import HttpRequest
    from ..server.tcp_socket import Socket


@dataclass(frozen=True, slots=True)
class PlannedReply:
    """The answer to one request, not yet sent.

    Args:
        over: Called once when the answer has ended, with True if the client left before its end.
    """

    script: Script
    over: Callable[[bool], None]


class Connection(HttpConnection):
    """One client's connection to the stub.

    Args:
        answer: Returns the reply to a request. It is called for one request after another.
    """

    def __init__(self, sock: Socket, answer: Callable[[HttpRequest], PlannedReply]) -> None:
        super().__init__(sock)
        self._answer = answer

    async def answer(self, request: HttpRequest) -> bool:
        """Play the reply to *request*; return True if the client left before its end."""
        reply = self._answer(request)
        has_left = False
        try:
            play = partial(self._perform, reply.script, is_head=request.method == "HEAD")
            has_left = await self.while_connected(play)
        finally:
            reply.over(has_left)
        return has_left

    async def reject(self, why: str) -> None:
        """Answer invalid HTTP with a 400."""
        error = {"error": {"message": f"the request is not valid HTTP: {why}", "code": 400}}
        await self._perform(json_script("400", error, status=400), is_head=False)

    async def _perform(self, script: Script, *, is_head: bool) -> None:
        await anyio.sleep(script.delay)
        if script.end is End.STALL and script.length is not None:
            await anyio.sleep_forever()
        begun = self.begin(script.status, script.headers, length=script.length)
        if script.length is None:
            await self.sock.send(begun)
            begun = b""
        pieces = () if is_head else script.pieces
        for number, piece in enumerate(pieces, start=1):
            begun += self.encode(h11.Data(data=piece))
            if script.end is End.DONE and number == len(pieces):
                break
            await self.sock.send(begun)
            begun = b""
            await anyio.sleep(script.pace)
        await self._finish(script, begun)

    async def _finish(self, script: Script, begun: bytes) -> None:
        """End the response; *begun* is still unsent and goes out in one flush with the end."""
        match script.end:
            case End.DONE:
                await self.sock.send(begun + self.encode(h11.EndOfMessage()))
            case End.ABORT:
                await self.sock.send(begun)
            case End.RESET:
                await self.sock.send(begun)
                self.sock.reset_on_close()
            case End.STALL:
                await self._stall(script)
            case _:
                assert_never(script.end)

    async def _stall(self, script: Script) -> None:
        while True:
            await anyio.sleep(math.inf if script.keepalive is None else script.keepalive)
            await self.send_event(h11.Data(data=script.comment))
