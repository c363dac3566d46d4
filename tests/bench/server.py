"""Two HTTP servers in one process that note when bytes come and go: the far side of `swap.py`.

The first answers every request with 503, the second with a short stream of Anthropic's. They read
and write sockets without any library, so that they answer in the same few microseconds whoever
asks. The ports are printed as JSON; for every line on the standard input follow, as JSON, the
seconds from the last byte of each 503 to the first byte of the request after it, and how many
connections have been opened to the second since the line before.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import sys
import time
from typing import Any

EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
     "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]  # fmt: skip
ERROR = {"type": "error", "error": {"type": "api_error", "message": "Service unavailable"}}
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def response(status: str, kind: str, body: str) -> bytes:
    """Return a whole response."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return (head + body).encode()


FAILURE = response("503 Service Unavailable", "application/json", json.dumps(ERROR))
ANSWER = response(
    "200 OK",
    "text/event-stream",
    "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in EVENTS),
)


class Stopwatch:
    """The gaps between a failing answer and what comes next."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.opened = 0
        self._failed_at: float | None = None

    def failed(self) -> None:
        """Take it that the last byte of a 503 has just been sent."""
        self._failed_at = time.monotonic()

    def came(self, at: float) -> None:
        """Take it that the first byte of a request came *at*."""
        if self._failed_at is not None:
            self.gaps.append(at - self._failed_at)
            self._failed_at = None

    def report(self) -> str:
        """Return what was noted, and begin afresh."""
        noted = json.dumps({"gaps": self.gaps, "opened": self.opened})
        self.gaps.clear()
        self.opened = 0
        return noted


class Peer:
    """One connection; all its requests get the same answer."""

    def __init__(self, sock: socket.socket, answer: bytes, watch: Stopwatch) -> None:
        self._sock = sock
        self._answer = answer
        self._watch = watch
        self._came = bytearray()

    def read(self) -> bool:
        """Read what came, and answer what is whole; False when the client has left."""
        try:
            data = self._sock.recv(262_144)
        except ConnectionError:
            return False
        if data and not self._came:
            self._watch.came(time.monotonic())
        self._came += data
        if self._is_whole():
            self._came.clear()
            self._sock.sendall(self._answer)
            if self._answer is FAILURE:
                self._watch.failed()
        return bool(data)

    def _is_whole(self) -> bool:
        head, end, body = self._came.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        return bool(end) and len(body) >= int(length[1] if length else 0)


def serve() -> None:
    """Serve until the standard input is closed."""
    selector = selectors.DefaultSelector()
    watch = Stopwatch()
    listeners = {socket.create_server(("127.0.0.1", 0)): each for each in (FAILURE, ANSWER)}
    for listener in listeners:
        selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print(json.dumps([listener.getsockname()[1] for listener in listeners]), flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj == sys.stdin:
                if not sys.stdin.readline():
                    return
                print(watch.report(), flush=True)
            elif isinstance(key.data, Peer):
                if not key.data.read():
                    selector.unregister(key.fileobj)
            elif isinstance(key.fileobj, socket.socket):
                sock, _address = key.fileobj.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                answer = listeners[key.fileobj]
                watch.opened += answer is ANSWER
                peer = Peer(sock, answer, watch)
                selector.register(sock, selectors.EVENT_READ, peer)


if __name__ == "__main__":
    serve()
