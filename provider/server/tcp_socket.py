"""A TCP socket for both event loops that can also reset its connection."""

from __future__ import annotations

import errno
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

    We need our own because anyio's streams send FIN before they close, so that a client never
    sees a reset.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        with suppress(OSError):  # the client has left already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock

    async def receive(self) -> bytes:
        """Wait for bytes and return them; empty: the client has closed its side."""
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

    def send_now(self, data: bytes | bytearray) -> int:
        """Return how many bytes of *data* were written, without a wait."""
        try:
            return self._sock.send(data)
        except BlockingIOError:
            return 0

    async def wait_writable(self) -> None:
        """Wait until something can be written."""
        await anyio.wait_writable(self._sock)

    async def drain(self, *, seconds: float = 1.0) -> None:
        """Close our side and read on, because unread bytes would make the close a reset."""
        self._sock.shutdown(socket.SHUT_WR)
        with anyio.move_on_after(seconds):
            while await self.receive():
                pass

    def reset_on_close(self) -> None:
        """Make `close` send RST instead of FIN."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._sock.close()


async def bind(host: str, port: int, *, who: str) -> socket.socket:
    """Return a socket on *port* of *host*; it refuses connections until it listens.

    Args:
        who: The server, for the error.

    Raises:
        ConfigError: The port is taken, or the host is not an address of this machine.
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
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{who} cannot listen on {host!r}, port {port} ({why}): {_other_address(error)}"
        ) from error
    return sock


def _other_address(error: OSError | OverflowError) -> str:
    """Return what to choose in place of the address that *error* refuses."""
    if isinstance(error, socket.gaierror) or getattr(error, "errno", 0) == errno.EADDRNOTAVAIL:
        return "choose an address of this machine, such as 127.0.0.1"
    return "choose another port, or 0 for any that is free"


async def accept(listener: socket.socket) -> socket.socket:
    """Wait for the next client and return its socket."""
    while True:
        try:
            return listener.accept()[0]
        except BlockingIOError:
            await anyio.wait_readable(listener)
        except OSError:  # the client has left already, or there are no file descriptors left
            await anyio.sleep(0.05)


def url_host(address: str) -> str:
    """Return the host for a URL with which a client on this machine reaches *address*."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.is_unspecified:
        return "127.0.0.1" if ip.version == 4 else "[::1]"
    return str(ip) if ip.version == 4 else f"[{ip}]"
