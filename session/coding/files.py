"""The tools that read and change one file."""

# Annotations are not postponed, because a schema is made of them at run time.

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

from anyio import to_thread
from pydantic import Field

from ...provider.conversation import Image, Output
from .approval import Approve, Request, require
from .diff import diff_of
from .workspace import Workspace

MOST_BYTES = 5_000_000
MOST_LINES = 2000
LONGEST_LINE = 2000
MOST_CHARACTERS = 40_000
_SNIFFED = 8192

FilePath = Annotated[str, Field(description="Path of the file, relative to the workspace.")]
Offset = Annotated[int, Field(ge=1, description="Number of the first line to read, from 1.")]
Limit = Annotated[int, Field(ge=1, le=MOST_LINES, description="How many lines to read.")]
Content = Annotated[str, Field(description="All that the file is to hold.")]
Old = Annotated[str, Field(description="Text to replace, exactly as in the file, indents and all.")]
New = Annotated[str, Field(description="Text to put in its place.")]
ReplaceAll = Annotated[bool, Field(description="Replace `old` wherever it occurs.")]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of a file. *before* is None: there is no file yet."""

    real: Path
    before: bytes | None
    after: bytes
    done: str


class FileTools:
    """Read, write and edit files of a workspace.

    A change is shown to *approve* first. It is written once it is allowed, unless the file has
    changed in between.
    """

    def __init__(self, workspace: Workspace, approve: Approve) -> None:
        self._workspace = workspace
        self._approve = approve

    async def read(self, path: FilePath, offset: Offset = 1, limit: Limit = MOST_LINES) -> Output:
        """Read a text file, with the number of each line before it, or look at a picture.

        A long file comes in pieces: the last line says where the next one starts.
        """
        _check_range(offset, limit)
        return await to_thread.run_sync(self._read, path, offset, limit, abandon_on_cancel=True)

    async def write(self, path: FilePath, content: Content) -> str:
        """Write a whole file, new or in place of the one that is there; folders are made.

        To change a part of a file, use edit.
        """
        return await self._carry_out(
            "write", await to_thread.run_sync(self._change_by_write, path, content)
        )

    async def edit(
        self, path: FilePath, old: Old, new: New, replace_all: ReplaceAll = False
    ) -> str:
        """Replace a text in a file by another.

        It must occur exactly once, so give enough of the lines around it, or set replace_all.
        """
        change = await to_thread.run_sync(self._change_by_edit, path, old, new, replace_all)
        return await self._carry_out("edit", change)

    def _read(self, path: str, offset: int, limit: int) -> Output:
        real = self._workspace.resolve(path)
        name = self._workspace.name(real)
        with self._workspace.open_file(real) as file:
            start = file.read(_SNIFFED)
            file.seek(0)
            media_type = _media_type(start)
            if media_type is not None:
                data = base64.b64encode(_limited(file, name)).decode()
                return [Image(media_type, data)]
            if b"\0" in start:
                raise ValueError(f"{name!r} is a binary file: only text and pictures can be read")
            return _numbered(file, name, offset, limit)

    def _change_by_write(self, path: str, content: str) -> _Change:
        real = self._workspace.resolve(path)
        after = _encoded(content)
        count = content.count("\n") + bool(content and not content.endswith("\n"))
        done = f"wrote {self._workspace.name(real)!r}, lines: {count}"
        return _Change(real, self._content(real), after, done)

    def _change_by_edit(self, path: str, old: str, new: str, replace_all: bool) -> _Change:
        real = self._workspace.resolve(path)
        name = self._workspace.name(real)
        if old == new:
            raise ValueError("nothing would change: `old` and `new` are the same")
        if not old:
            raise ValueError("`old` is empty: give the text to replace, or use write")
        before = self._content(real)
        if before is None:
            raise ValueError(f"{name!r} is not there: make it with write")
        text = _decoded(before, name)
        if old not in text and "\r\n" in text:
            old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
        count = text.count(old)
        if count == 0:
            raise ValueError(f"`old` does not occur in {name!r}: read it, and copy from there")
        if count > 1 and not replace_all:
            raise ValueError(
                f"`old` occurs {count} times in {name!r}: give more of the lines around it, "
                "or set replace_all"
            )
        line = text[: text.index(old)].count("\n") + 1
        where = f"on line {line}" if count == 1 else f"{count} times, first on line {line}"
        done = f"edited {name!r}: replaced it {where}"
        return _Change(real, before, _encoded(text.replace(old, new)), done)

    async def _carry_out(self, tool: str, change: _Change) -> str:
        name = self._workspace.name(change.real)
        if change.before == change.after:
            return f"{name!r} holds just that already"
        diff = await to_thread.run_sync(diff_of, name, change.before, change.after)
        await require(self._approve, Request(tool, name, diff))
        await to_thread.run_sync(self._replace, change)
        return change.done

    def _replace(self, change: _Change) -> None:
        if self._content(change.real) != change.before:
            name = self._workspace.name(change.real)
            raise ValueError(f"{name!r} was changed meanwhile: read it again")
        self._workspace.replace_file(change.real, change.after)

    def _content(self, real: Path) -> bytes | None:
        try:
            file = self._workspace.open_file(real)
        except ValueError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise
        with file:
            return _limited(file, self._workspace.name(real))


def _check_range(offset: int, limit: int) -> None:
    if offset < 1 or limit < 1:
        raise ValueError(f"`offset` and `limit` count from 1, got {offset} and {limit}")


def _limited(file: BinaryIO, name: str) -> bytes:
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{name!r} has more than {MOST_BYTES // 1_000_000} MB: that is too much")
    return content


def _media_type(start: bytes) -> str | None:
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "image/webp"
    return None


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name!r} is not UTF-8, so it cannot be edited") from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("the text has half a character in it, a lone surrogate") from error


def _numbered(file: BinaryIO, name: str, offset: int, limit: int) -> str:
    """Return numbered lines, with only those in memory."""
    shown: list[str] = []
    size = number = 0
    while (line := _line(file)) is not None:
        number += 1
        if number < offset:
            continue
        if len(shown) == limit or size > MOST_CHARACTERS:
            shown.append(f"[more lines follow: read on with offset={number}]")
            break
        shown.append(f"{number:>6}\t{line}")
        size += len(shown[-1])
    if shown:
        return "\n".join(shown)
    if number == 0 and offset == 1:
        return "[the file is empty]"
    raise ValueError(f"{name!r} has {number} lines: `offset` is {offset}")


def _line(file: BinaryIO) -> str | None:
    """Return the next line, shortened if it is long; None: the file has ended."""
    most = 4 * LONGEST_LINE
    piece = file.readline(most)
    if not piece:
        return None
    left = 0
    last = piece
    while len(last) == most and not last.endswith(b"\n"):
        last = file.readline(most)
        left += len(last)
    text = piece.decode(errors="replace").removesuffix("\n").removesuffix("\r")
    if len(text) <= LONGEST_LINE and not left:
        return text
    return f"{text[:LONGEST_LINE]}… [the rest of this line is left out]"
