"""The body of urllib's `HTTPError`, which nothing has read yet."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING

from .classify import BODY_LIMIT

if TYPE_CHECKING:
    from urllib.error import HTTPError

_PATIENCE = 1.0
"""The most seconds to read the body; after that only the status counts."""


def take_body(error: HTTPError) -> bytes:
    """Return the start of the body of *error*; others can still read it afterwards.

    A thread reads it, because only a thread can give up a socket of any kind in time.
    """
    read: list[bytes] = []
    reader = threading.Thread(target=_read, args=(error, read), daemon=True)
    reader.start()
    reader.join(_PATIENCE)
    if reader.is_alive() or not read:
        return b""
    _put_back(error, read[0])
    return read[0]


def _read(error: HTTPError, read: list[bytes]) -> None:
    try:
        read.append(error.read(BODY_LIMIT))
    except Exception:  # noqa: BLE001 - the body was cut, or is closed
        read.append(b"")


def _put_back(error: HTTPError, body: bytes) -> None:
    error.__dict__.pop("read", None)  # it may hold the method of the connection
    error.__init__(error.filename, error.code, error.msg, error.headers, io.BytesIO(body))  # type: ignore[misc]
