"""Serve HTTP on one connection of the stub: read requests, send scripts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import anyio
import h11

from .script import End, Script, json_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tcp_socket import Socket

MAX_HEAD = 65_536
MAX_BODY = 32 * 1024 * 1024
"""Anthropic's limit in bytes. Source: platform.claude.com/docs/en/api/errors"""
MAX_AHEAD = 1024 * 1024
"""How many bytes of further requests are read while an answer is being sent."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request.

    Args:
        headers: Names in lower case; the values of a repeated header are joined.
        body: None: it was too large to be read.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class PlannedReply:
    """The answer to one request, not yet sent.

    Args:
        over: Called once when the answer has ended, with True if the client left before its end.
    """

    script: Script
    over: Callable[[bool], None]


class Connection:
    """One client's connection, which HTTP keeps alive between requests.

    Args:
        answer: Returns the reply to a request. It is called for one request after another.
    """

    def __init__(self, sock: Socket, answer: Callable[[HttpRequest], PlannedReply]) -> None:
        self._sock = sock
        self._answer = answer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)

    async def serve(self) -> None:
        """Answer requests until either side closes the connection."""
        try:
            while await self._serve_one():
                self._http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            await self._reject(str(error))
        except OSError:
            pass  # the client has left between two answers
        finally:
            self._sock.close()

    async def _serve_one(self) -> bool:
        """Answer one request; return True if another may follow."""
        request = await self._read()
        if request is None:
            return False
        reply = self._answer(request)
        has_left = False
        try:
            has_left = await self._play(reply.script, is_head=request.method == "HEAD")
        finally:
            reply.over(has_left)
        if request.body is None and not has_left:
            await self._sock.drain()
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _read(self) -> HttpRequest | None:
        """Return the next request; None if the client closes the connection before it."""
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                return _request(head, None)
        return _request(head, bytes(body)) if isinstance(event, h11.EndOfMessage) else None

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next part of a request; read from the socket as long as that takes."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._sock.receive())
        return event

    async def _play(self, script: Script, *, is_head: bool) -> bool:
        """Send *script*; return True if the client left before its end."""
        has_left = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, tasks.cancel_scope)
            try:
                await self._perform(script, is_head=is_head)
                has_left = False
            except OSError:
                pass  # the client left while we wrote
            tasks.cancel_scope.cancel()
        return has_left

    async def _watch(self, playing: anyio.CancelScope) -> None:
        """Cancel *playing* when the client leaves; keep for later what it sends meanwhile."""
        ahead = 0
        while ahead <= MAX_AHEAD:
            try:
                data = await self._sock.receive()
            except OSError:
                data = b""
            if not data:
                playing.cancel()
                return
            ahead += len(data)
            self._http.receive_data(data)

    async def _perform(self, script: Script, *, is_head: bool) -> None:
        await anyio.sleep(script.delay)
        if script.end is End.STALL and script.length is not None:
            await anyio.sleep_forever()
        begun = self._begin(script)
        if script.length is None:
            await self._sock.send(begun)
            begun = b""
        pieces = () if is_head else script.pieces
        for number, piece in enumerate(pieces, start=1):
            begun += self._http.send(h11.Data(data=piece)) or b""
            if script.end is End.DONE and number == len(pieces):
                break
            await self._sock.send(begun)
            begun = b""
            await anyio.sleep(script.pace)
        await self._finish(script, begun)

    def _begin(self, script: Script) -> bytes:
        framing = (
            ("transfer-encoding", "chunked")
            if script.length is None
            else ("content-length", str(script.length))
        )
        headers = [*script.headers, framing]
        return self._http.send(h11.Response(status_code=script.status, headers=headers)) or b""

    async def _finish(self, script: Script, begun: bytes) -> None:
        """End the response; *begun* is still unsent and goes out in one flush with the end."""
        match script.end:
            case End.DONE:
                await self._sock.send(begun + (self._http.send(h11.EndOfMessage()) or b""))
            case End.ABORT:
                await self._sock.send(begun)
            case End.RESET:
                await self._sock.send(begun)
                self._sock.reset_on_close()
            case End.STALL:
                await self._stall(script)
            case _:
                assert_never(script.end)

    async def _stall(self, script: Script) -> None:
        while True:
            await anyio.sleep(math.inf if script.keepalive is None else script.keepalive)
            await self._send(h11.Data(data=script.comment))

    async def _send(self, event: h11.Event) -> None:
        await self._sock.send(self._http.send(event) or b"")

    async def _reject(self, why: str) -> None:
        """Answer invalid HTTP with a 400, if an answer is still possible."""
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        error = {"error": {"message": f"the request is not valid HTTP: {why}", "code": 400}}
        try:
            await self._perform(json_script("400", error, status=400), is_head=False)
            await self._sock.drain()
        except OSError:
            pass


def _request(head: h11.Request, body: bytes | None) -> HttpRequest:
    headers: dict[str, str] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return HttpRequest(head.method.decode("latin-1"), head.target.decode("latin-1"), headers, body)
