"""A TCP socket, read and written on either event loop, that can also be reset."""

from __future__ import annotations

import ipaddress
import socket
import struct
from contextlib import suppress

import anyio
import anyio.lowlevel

from ..error import ConfigError

CHUNK = 65_536


class Socket:
    """One connection.

    Streams of anyio end a connection with FIN before they close it, so that a client never sees
    a reset; hence our own.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        with suppress(OSError):  # the client has left again
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock

    async def receive(self) -> bytes:
        """Wait for bytes; none means that the client has closed its side."""
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                return self._sock.recv(CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._sock)

    async def send(self, data: bytes) -> None:
        """Write all of *data*."""
        await anyio.lowlevel.checkpoint()
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._sock)

    async def drain(self, *, seconds: float = 1.0) -> None:
        """Close our side and read what still comes, so that our last words are not lost."""
        self._sock.shutdown(socket.SHUT_WR)
        with anyio.move_on_after(seconds):
            while await self.receive():
                pass

    def reset_on_close(self) -> None:
        """Let `close` send RST in place of FIN."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self) -> None:
        """Close the connection; doing so twice is fine."""
        self._sock.close()


async def bind(host: str, port: int) -> socket.socket:
    """Take *port* of *host*; until it listens, whoever connects is refused.

    Raises:
        ConfigError: The port is taken, or the host is none of ours.
    """
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, proto, _, address = found[0]
        sock = socket.socket(family, kind, proto)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setblocking(False)
            sock.bind(address)
        except OSError:
            sock.close()
            raise
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"the stub cannot listen on {host!r}, port {port}: {error}; "
            "choose another port, or 0 for any that is free"
        ) from error
    return sock


async def accept(listener: socket.socket) -> socket.socket:
    """Wait for the next client."""
    while True:
        try:
            return listener.accept()[0]
        except BlockingIOError:
            await anyio.wait_readable(listener)
        except OSError:  # the client gave up already, or we are out of file descriptors
            await anyio.sleep(0.05)


def url_host(address: str) -> str:
    """Where a client on this machine finds who listens at *address*, as a URL spells it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.is_unspecified:
        return "127.0.0.1" if ip.version == 4 else "[::1]"
    return str(ip) if ip.version == 4 else f"[{ip}]"
