"""The tools that find files, and lines in them."""

# Annotations are not postponed, because a schema is made of them at run time.

import fnmatch
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import Field

from .process_group import process_group
from .workspace import Entry, Workspace, visible

IGNORED = frozenset({
    ".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", ".cache", ".idea", ".gradle", ".next",
})  # fmt: skip
MOST_LISTED = 500
MOST_DEPTH = 10
MOST_HITS = 200
MOST_SEARCHED = 2_000_000
LONGEST_LINE = 2000
LONGEST_SHOWN = 200
MOST_GLOBS = 128
LONGEST_GLOB = 1000
MOST_WILDCARDS = 50
_BATCH = 256_000
_SLICE = 0.1
"""Seconds for which a thread may look for files until a cancellation can take effect."""
_SNIFFED = 8192

FolderPath = Annotated[str, Field(description="Path of the folder, relative to the workspace.")]
Depth = Annotated[int, Field(ge=1, le=MOST_DEPTH, description="How many levels to list.")]
Pattern = Annotated[str, Field(description="Regular expression in Python's syntax.")]
AnyPath = Annotated[str, Field(description="File or folder to search, relative to the workspace.")]
Glob = Annotated[
    str | None,
    Field(
        description="Only files like this: `*.py`, `*.{ts,tsx}`; with a slash it is held against "
        "the whole path, as `src/**/test_*.py`."
    ),
]
_WILDCARD = re.compile(r"[*?\[]")
_FOLDERS = re.compile(r"(?:\*\*/)+")


@dataclass(slots=True)
class _Found:
    """What a search has found so far."""

    hits: list[str] = field(default_factory=list)
    skipped: int = 0
    cut: int = 0
    error: str | None = None
    is_ended: bool = False


class SearchTools:
    """List the folders of a workspace, and search its text files.

    Args:
        deadline: How long one search may take, in seconds.
    """

    def __init__(self, workspace: Workspace, *, deadline: float = 10.0) -> None:
        self._workspace = workspace
        self._deadline = deadline

    async def list_files(self, path: FolderPath = ".", depth: Depth = 2) -> str:
        """List the files and folders in a folder, and in those below it.

        A folder ends in a slash. What version control, package managers and caches keep is named
        but not opened, unless you list it by its path. Links are not followed.
        """
        if not 1 <= depth <= MOST_DEPTH:
            raise ValueError(f"`depth` must be from 1 to {MOST_DEPTH}, got {depth}")
        return await to_thread.run_sync(self._list, path, depth, abandon_on_cancel=True)

    async def search(self, pattern: Pattern, path: AnyPath = ".", glob: Glob = None) -> str:
        """Search text files for a regular expression, line by line.

        Answers with `path:line: text` for each line that matches.
        """
        top = await to_thread.run_sync(self._workspace.resolve, path)
        if not await to_thread.run_sync(top.exists):
            raise ValueError(f"{self._workspace.name(top)!r} is not there")
        found = _Found()
        batches = self._batches(top, _globs(glob), found)
        order = {
            "pattern": pattern, "most": MOST_HITS, "longest": LONGEST_LINE, "shown": LONGEST_SHOWN,
        }  # fmt: skip
        with anyio.move_on_after(self._deadline) as timer:
            await _search(order, batches, found)
        if found.error is not None:
            raise ValueError(f"`pattern` is no regular expression: {found.error}")
        if not (found.is_ended or timer.cancelled_caught):
            raise ValueError("the search broke off: try it again")
        return self._summary(found)

    def _list(self, path: str, depth: int) -> str:
        top = self._workspace.resolve(path)
        lines: list[str] = []
        for level, entry in self._tree(top, 1, depth):
            if len(lines) == MOST_LISTED:
                lines.append("[more follows: list a folder in it, or less deep]")
                break
            lines.append("  " * (level - 1) + _label(entry))
        return "\n".join(lines) or "[the folder is empty]"

    def _tree(self, folder: Path, level: int, depth: int) -> Iterator[tuple[int, Entry]]:
        for entry in self._workspace.scan(folder):
            yield level, entry
            if entry.kind == "folder" and level < depth and entry.path.name not in IGNORED:
                with suppress(ValueError):
                    yield from self._tree(entry.path, level + 1, depth)

    def _batches(self, top: Path, globs: tuple[str, ...], found: _Found) -> Iterator[bytes]:
        """Yield the text files below *top* as `search_process` reads them, some of them empty."""
        batch, due = b"", time.monotonic() + _SLICE
        for text in self._texts(top, globs, found):
            batch += text
            if len(batch) > _BATCH or time.monotonic() > due:
                yield batch
                batch, due = b"", time.monotonic() + _SLICE
        yield batch

    def _texts(self, top: Path, globs: tuple[str, ...], found: _Found) -> Iterator[bytes]:
        """Yield a text for each file, and an empty text for every other entry."""
        if not top.is_dir():
            yield self._text(top, found)
            return
        folders = [top]
        while folders:
            inner = []
            for entry in self._entries(folders.pop(), found):
                if entry.kind == "folder" and entry.path.name not in IGNORED:
                    inner.append(entry.path)
                is_wanted = entry.kind == "file" and self._is_wanted(entry.path, globs)
                yield self._text(entry.path, found) if is_wanted else b""
            yield b""
            folders.extend(reversed(inner))

    def _entries(self, folder: Path, found: _Found) -> list[Entry]:
        try:
            return self._workspace.scan(folder)
        except ValueError:
            found.skipped += 1
            return []

    def _is_wanted(self, path: Path, globs: tuple[str, ...]) -> bool:
        whole = path.relative_to(self._workspace.root).as_posix()
        return not globs or any(
            fnmatch.fnmatchcase(whole if "/" in glob else path.name, glob) for glob in globs
        )

    def _text(self, real: Path, found: _Found) -> bytes:
        try:
            with self._workspace.open_file(real) as file:
                content = file.read(MOST_SEARCHED + 1)
        except ValueError:
            found.skipped += 1
            return b""
        if b"\0" in content[:_SNIFFED]:
            return b""
        if len(content) > MOST_SEARCHED:
            found.skipped += 1
            return b""
        text = content.decode(errors="replace").replace("\r\n", "\n").removesuffix("\n")
        return json.dumps([self._workspace.name(real), text]).encode() + b"\n"

    def _summary(self, found: _Found) -> str:
        lines = found.hits or (["[no line matches]"] if found.is_ended else [])
        if len(found.hits) >= MOST_HITS:
            lines.append(f"[stopped after {MOST_HITS} lines: narrow the pattern, path or glob]")
        elif not found.is_ended:
            lines.append(
                f"[stopped after {self._deadline:g} s, before the end: simplify the pattern, or "
                "narrow path or glob]"
            )
        if found.cut:
            lines.append(f"[lines searched only up to character {LONGEST_LINE}: {found.cut}]")
        if found.skipped:
            lines.append(f"[too large or unreadable, and not searched: {found.skipped}]")
        return "\n".join(lines)


def _label(entry: Entry) -> str:
    name = visible(entry.path.name)
    match entry.kind:
        case "folder":
            return f"{name}/ [not opened]" if entry.path.name in IGNORED else f"{name}/"
        case "link":
            return f"{name} [link]"
        case "other":
            return f"{name} [no regular file]"
    return name


def _globs(glob: str | None) -> tuple[str, ...]:
    """Return the patterns of *glob* without braces, with each ``**/`` also as no folder at all."""
    left = [_any_depth(_bounded(glob))] if glob else []
    plain: list[str] = []
    while left:
        each = left.pop()
        if len(left) + len(plain) >= MOST_GLOBS:
            raise ValueError(f"`glob` stands for more than {MOST_GLOBS} patterns: make it simpler")
        braces = re.search(r"\{([^{}]*)\}", each)
        if braces is not None:
            start, end = each[: braces.start()], each[braces.end() :]
            left.extend(start + choice + end for choice in braces[1].split(","))
        else:
            plain.append(each)
    return tuple(dict.fromkeys(plain))


def _any_depth(glob: str) -> str:
    """Return *glob* with braces round each ``**/``, so that it stands for no folder as well."""
    return _FOLDERS.sub("{**/,}", glob)


def _bounded(glob: str) -> str:
    """Return *glob* if it is short, because a long glob takes long to read and to compare."""
    if len(glob) > LONGEST_GLOB:
        raise ValueError(
            f"`glob` may have at most {LONGEST_GLOB:,} characters, got {len(glob):,}: make it "
            "simpler"
        )
    if (wildcards := len(_WILDCARD.findall(glob))) > MOST_WILDCARDS:
        raise ValueError(
            f"`glob` may have at most {MOST_WILDCARDS} of `*`, `?` and `[`, got {wildcards}: make "
            "it simpler"
        )
    return glob


async def _search(order: dict[str, object], batches: Iterator[bytes], found: _Found) -> None:
    """Search in a process of its own, which ends in every case."""
    # There, our interpreter is the application: it would be started a second time.
    if getattr(sys, "frozen", False):
        raise ValueError("a frozen application cannot search: run a program that does, as `grep`")
    command = [sys.executable, "-I", str(Path(__file__).with_name("search_process.py"))]
    async with process_group(
        command, has_input=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the search process has no pipes")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_feed, process.stdin, order, batches)
            await _collect(process.stdout, found)
            tasks.cancel_scope.cancel()


async def _feed(stdin: ByteSendStream, order: dict[str, object], batches: Iterator[bytes]) -> None:
    # The process stops reading when it has found enough.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await stdin.send(json.dumps(order).encode() + b"\n")
        while (batch := await to_thread.run_sync(next, batches, None)) is not None:
            await stdin.send(batch)
        await stdin.aclose()


async def _collect(stdout: ByteReceiveStream, found: _Found) -> None:
    lines = BufferedByteReceiveStream(stdout)
    with suppress(anyio.EndOfStream, anyio.IncompleteRead):
        while True:
            match json.loads(await lines.receive_until(b"\n", 2**20)):
                case [name, number, line]:
                    found.hits.append(f"{name}:{number}: {line}")
                case {"error": str(error)}:
                    found.error = error
                case {"cut": int(cut)}:
                    found.cut, found.is_ended = cut, True
