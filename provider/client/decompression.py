"""Compressed bodies, decompressed in bounded steps.

Every request asks for no compression, but some proxies compress all the same. A few megabytes can
become gigabytes, so that what one read brings must never be decompressed at once.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import httpx

from ..error import ProviderError
from ..failure import Failure, FailureKind, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEP = 65_536
"""The largest number of bytes that one step decompresses."""

_GZIP = zlib.MAX_WBITS | 16
_GZIP_MARK = b"\x1f\x8b"
_WINDOWS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}
_UNREADABLE = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})


def decompressor_of(content_encoding: str) -> Callable[[bytes], Iterator[bytes]] | None:
    """Return a function that yields the next blocks of a body; None: it is not compressed.

    Words that are no compression are ignored, because some servers write a charset there.
    """
    words = (word.strip().lower() for word in content_encoding.split(","))
    codings = [word for word in words if word in _WINDOWS or word in _UNREADABLE]
    if not codings:
        return None
    if len(codings) == 1 and codings[0] in _WINDOWS:
        return _Inflate(_WINDOWS[codings[0]]).feed
    return _Unreadable(", ".join(codings)).feed


class _Inflate:
    """Decompresses one body, which may be several gzip files one after another."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._zlib: zlib._Decompress | None = None  # None: a file begins
        self._start = b""  # of a file, too short to be told apart
        self._has_ended = False  # one file has ended, and another may follow

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what *data* brings, at most `STEP` bytes at a time.

        Raises:
            httpx.DecodingError: It is not compressed so.
        """
        while data:
            if self._zlib is None:
                data, self._start = self._start + data, b""
                if not self._begin(data):
                    return
            yield from self._steps(data)
            data = self._take_rest()

    def _begin(self, data: bytes) -> bool:
        """Begin a file that starts with *data*; False: it is none, or too short to say."""
        if self._has_ended and (self._window != _GZIP or not data.startswith(_GZIP_MARK[:1])):
            return False  # what follows is padding
        if len(data) < len(_GZIP_MARK):
            self._start = data
            return False
        is_bare = self._window != _GZIP and (data[0] & 15 != 8 or (data[0] << 8 | data[1]) % 31)
        # Some servers send `deflate` without the header that it should have.
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS if is_bare else self._window)
        return True

    def _steps(self, data: bytes) -> Iterator[bytes]:
        """Yield the blocks of the file that *data* goes on with, up to its end."""
        assert self._zlib is not None  # noqa: S101 - `_begin` came first
        try:
            block = self._zlib.decompress(data, STEP)
            while block or self._zlib.unconsumed_tail:
                yield block
                block = self._zlib.decompress(self._zlib.unconsumed_tail, STEP)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error

    def _take_rest(self) -> bytes:
        """Return what followed the end of the file; empty: it has not ended, or nothing has."""
        if self._zlib is None or not self._zlib.eof:
            return b""
        rest, self._zlib, self._has_ended = self._zlib.unused_data, None, True
        return rest


class _Unreadable:
    """Stands for a compression that nobody asked for and that is not read here."""

    def __init__(self, coding: str) -> None:
        self._coding = coding

    def feed(self, _: bytes) -> Iterator[bytes]:
        """Raise the error for such a body."""
        message = (
            f"sent a body with the content-encoding {self._coding!r}, although the request asks "
            "for none: let the proxy pass `accept-encoding: identity` on"
        )
        raise ProviderError(
            Failure(
                kind=FailureKind.SERVER_ERROR,
                message=message,
                stage=Stage.STREAM,
                should_retry=False,
            )
        )
