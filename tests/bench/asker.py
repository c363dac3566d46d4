"""A client in a process of its own, which asks an address as often as a line of its input says.

A line is a URL and a number. For each line it prints, as JSON, the median of the seconds from the
request to the first output, and to the end.
"""

from __future__ import annotations

import json
import socket
import statistics
import sys
import time
from urllib.parse import urlsplit

BODY = json.dumps(
    {
        "model": "m",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Why does test_parser fail?"}],
        "stream": True,
    }
).encode()
OUTPUT = (b"text_delta", b'"content":"')


def ask(url: str, count: int) -> dict[str, float]:
    """Ask *count* times over one connection."""
    parts = urlsplit(url)
    assert parts.hostname
    head = (
        f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(BODY)}\r\nx-api-key: k\r\n\r\n"
    )
    firsts, ends = [], []
    with socket.create_connection((parts.hostname, parts.port or 80)) as sock:
        for _ in range(count):
            begun = time.perf_counter()
            sock.sendall(head.encode() + BODY)
            first, end = read(sock)
            firsts.append(first - begun)
            ends.append(end - begun)
    return {"first": statistics.median(firsts), "end": statistics.median(ends)}


def read(sock: socket.socket) -> tuple[float, float]:
    """Read one answer; return when its first output came, and its end."""
    came, first = b"", None
    while True:
        block = sock.recv(262_144)
        came += block
        if first is None and any(each in came for each in OUTPUT):
            first = time.perf_counter()
        if not block or is_whole(came):
            now = time.perf_counter()
            return first or now, now


def is_whole(came: bytes) -> bool:
    head, blank, body = came.partition(b"\r\n\r\n")
    if not blank:
        return False
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.partition(b":")[2])
    return came.endswith(b"0\r\n\r\n")


if __name__ == "__main__":
    for line in sys.stdin:
        address, number = line.split()
        print(json.dumps(ask(address, int(number))), flush=True)
