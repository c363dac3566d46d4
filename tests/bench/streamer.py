"""A server that streams answers: the far side of `call.py`, in a process of its own.

`/v1/messages` is answered in Anthropic's wire and any other path in OpenAI Chat's, with as
many deltas as the command line says, each event a chunk of the transfer. On the first of the two
ports that are printed as JSON an answer is written at once; on the second its chunks come a
millisecond apart, so that the far side reads each by itself. Serves until the standard input is
closed.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench.sample import events

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\nrequest-id: req_01\r\ntransfer-encoding: chunked\r\n\r\n"
)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
PACE = 1e-3

Answers = dict[bool, list[bytes]]
"""The chunks of an answer; True for Anthropic's wire."""


def chunks(whole: list[bytes]) -> list[bytes]:
    """Return the pieces of the answer as they are written, head and end with their neighbours."""
    pieces = [b"%x\r\n%s\r\n" % (len(event), event) for event in whole]
    return [HEAD + pieces[0], *pieces[1:-1], pieces[-1] + b"0\r\n\r\n"]


class Server(ThreadingTCPServer):
    """One port.

    Args:
        is_paced: Whether chunks come one by one.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answers: Answers, *, is_paced: bool) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.answers = answers
        self.is_paced = is_paced
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Connection(StreamRequestHandler):
    """Requests on one connection, one after the other."""

    server: Server
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer until the far side leaves."""
        while head := self._head():
            length = LENGTH.search(head)
            self.rfile.read(int(length[1]) if length else 0)
            pieces = self.server.answers[b" /v1/messages" in head.partition(b"\r\n")[0]]
            if not self.server.is_paced:
                self.wfile.write(b"".join(pieces))
                continue
            for piece in pieces:
                self.wfile.write(piece)
                time.sleep(PACE)

    def _head(self) -> bytes:
        lines = b""
        try:
            while line := self.rfile.readline():
                lines += line
                if line == b"\r\n":
                    return lines
        except ConnectionError:
            pass
        return b""


def serve(deltas: int) -> None:
    """Serve both ports."""
    answers: Answers = {
        True: chunks(events("anthropic", deltas=deltas)),
        False: chunks(events("openai-chat", deltas=deltas)),
    }
    servers = [Server(answers, is_paced=is_paced) for is_paced in (False, True)]
    print(json.dumps([server.server_address[1] for server in servers]), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
