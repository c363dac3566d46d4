"""An HTTP answer as ``curl -i`` prints it: status line, headers, body."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from ..error import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATUS_LINE = re.compile(
    rb"HTTP/\d(?:\.\d)? +([1-9]\d\d)(?:[ \t][^\r\n]*)?(?:\r?\n|\Z)", re.IGNORECASE
)
_LATER = re.compile(rb"^(?:< *)?HTTP/\d(?:\.\d)? +\d{3}\b", re.MULTILINE | re.IGNORECASE)
_HEADERS = re.compile(rb"((?:[^\r\n]+(?:\r?\n|\Z))*+)(?:\r?\n)?")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_LOOKED_AT = 65_536  # bytes that are searched for a later status line


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """One HTTP answer, decoded.

    Args:
        headers: With names in lower case.
        body: Without chunk framing and compression.
        is_clean: False: the last chunk is missing.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_clean: bool = True

    @classmethod
    def parse(cls, content: bytes) -> RawAnswer | None:
        """Return the last answer in *content*; None: *content* does not begin with an answer.

        Earlier answers are a ``100 Continue``, a proxy's answer to ``CONNECT``, or a redirect that
        was followed.

        Raises:
            ConfigError: The status line or the body cannot be read.
        """
        content = content.lstrip()
        line = _status_line(content)
        if line is None:
            return None
        while True:
            head = _HEADERS.match(content, line.end())
            assert head is not None  # noqa: S101 - it also matches an empty text
            following = _STATUS_LINE.match(content, head.end())
            if following is None:
                break
            line = following
        headers = _headers(head[1])
        body, is_clean = content[head.end() :], True
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body, is_clean = _join_chunks(body)
        body = _decompress(body, headers.get("content-encoding", ""))
        return cls(int(line[1]), headers, body, is_clean)


def refuse_misplaced(content: bytes) -> None:
    """Check that a bare body holds no status line further down.

    Raises:
        ConfigError: It holds one.
    """
    found = _LATER.search(content[:_LOOKED_AT])
    if found is not None:
        number = content.count(b"\n", 0, found.start()) + 1
        raise ConfigError(
            f"a status line, {_display(found[0])}, stands in line {number}: leave out what is "
            "before it, as `curl -si` does, without -v"
        )


def _status_line(content: bytes) -> re.Match[bytes] | None:
    line = _STATUS_LINE.match(content)
    if line is None and content[:5].upper() == b"HTTP/":
        raise ConfigError(
            f"{_display(content.splitlines()[0])} is no status line: "
            "write it as 'HTTP/1.1 503 Service Unavailable'"
        )
    return line


def _headers(head: bytes) -> dict[str, str]:
    pairs = (line.partition(b":") for line in _FOLD.sub(b" ", head).splitlines() if b":" in line)
    return {
        name.strip().decode("latin-1").lower(): value.strip().decode("latin-1")
        for name, _, value in pairs
    }


def _join_chunks(body: bytes) -> tuple[bytes, bool]:
    """Return the content of the chunks of *body*, and whether the last chunk came.

    A *body* without chunks is returned as it is.
    """
    blocks: list[bytes] = []
    start = 0
    while start < len(body):
        size = _CHUNK.match(body, start)
        end = size.end() + int(size[1], 16) if size else 0
        if size is None or not (end >= len(body) or _LINE_END.match(body, end)):
            return body, True  # `curl` has joined the chunks
        if end == size.end():
            return b"".join(blocks), True
        blocks.append(body[size.end() : end])
        line_end = _LINE_END.match(body, end)
        start = line_end.end() if line_end else len(body)
    return b"".join(blocks), not blocks


def _decompress(body: bytes, coding: str) -> bytes:
    """Return *body* decompressed; a body that `curl` has decompressed stays as it is."""
    if not coding or not body:
        return body
    try:
        decoded = httpx.Response(200, headers={"content-encoding": coding}, content=body).content
    except httpx.DecodingError:
        decoded = body
    if decoded == body and not _is_text(body):
        raise ConfigError(
            f"the body is compressed, {coding!r}, and cannot be decoded here: "
            "record it with `curl --compressed`"
        )
    return decoded


def _is_text(body: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True


def _display(line: bytes) -> str:
    return repr(line[:60].decode("latin-1"))
