"""Read a journal line by line; note and skip what is no line of a journal."""

from __future__ import annotations

import json
import math
import os
import re
import stat
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from ...provider.error import ConfigError
from .line import LONGEST, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

_READ_AT_ONCE = 16 * LONGEST
_SURROGATE = re.compile(rb"\\u[dD]|\xed")
"""How a surrogate begins, escaped or not; so does some other text."""
_MOST_PROBLEMS = 100
"""The most problems that are kept with their text; all are counted."""


class NotAJournalLine(Exception):
    """A line does not belong to a journal, or lacks something."""


class JournalReader:
    """Read the entries of a journal.

    Attributes:
        problems: Lines that were skipped, each with its ``line``, from 1; the first hundred.
        problem_count: How many there are.
        sessions: The version of each session's part.
    """

    def __init__(self) -> None:
        self.problems: list[dict[str, Any]] = []
        self.problem_count = 0
        self.sessions: dict[str, int] = {}
        self._has_lines = self._has_journal = False
        self._newer = ""

    def read(self, file: BinaryIO, take: Callable[[dict[str, Any]], None]) -> None:
        """Pass every entry of *file* to *take*; note what it refuses with `NotAJournalLine`.

        Raises:
            ConfigError: Nothing in *file* can be read as a journal.
        """
        for number, content in _lines(file):
            self._has_lines = True
            try:
                entry = self._entry(content)
                if entry is not None:
                    take(entry)
                    self._has_journal = True
            except NotAJournalLine as error:
                self._note(number, str(error))
        if self._has_lines and not self._has_journal:
            first = self.problems[0] if self.problems else {"line": 1, "problem": self._newer}
            raise ConfigError(
                f"it is no journal that can be read (line {first['line']}: {first['problem']}): "
                "name the FILE of `sidestep run --journal`, or of SIDESTEP_JOURNAL"
            )

    def _entry(self, content: bytes) -> dict[str, Any] | None:
        """Return the entry on a line; None: the line is the head of a part."""
        entry = _parse(content)
        if "journal" in entry:
            self._take_head(entry)
            return None
        session = text(entry, "session")
        text(entry, "event")
        if self.sessions.setdefault(session, VERSION) > VERSION:
            raise NotAJournalLine(f"it belongs to a part of version {self.sessions[session]}")
        return entry

    def _take_head(self, entry: dict[str, Any]) -> None:
        version, session = entry["journal"], text(entry, "session")
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise NotAJournalLine(f"{version!r} is no version of a journal")
        self.sessions[session] = version
        if version > VERSION:
            raise NotAJournalLine(
                f"version {version} is newer than {VERSION}, the last that this sidestep reads: "
                "update it"
            )
        self._has_journal = True

    def _note(self, number: int, problem: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append({"line": number, "problem": problem})


def read_journal(path: str, take: Callable[[dict[str, Any]], None]) -> JournalReader:
    """Pass every entry of the journal at *path* to *take*; ``-`` is stdin.

    Raises:
        ConfigError: It cannot be read, or is no journal.
    """
    reader = JournalReader()
    try:
        if path == "-":
            if sys.stdin is None:
                _refuse("stdin is closed: name a file, or lead the journal into it")
            reader.read(sys.stdin.buffer, take)
        else:
            if os.path.exists(path) and not (os.path.isfile(path) or _is_pipe(path)):
                _refuse("it is not a regular file: name the file itself")
            with open(path, "rb") as file:
                reader.read(file, take)
    except ConfigError as error:
        raise ConfigError(f"{path!r}: {error}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path!r}: it cannot be read ({why}): name a file that can") from None
    return reader


def _is_pipe(path: str) -> bool:
    """True if *path* is a pipe, as the shell makes for <(ssh …)."""
    return stat.S_ISFIFO(os.stat(path).st_mode)


def _refuse(why: str) -> NoReturn:
    raise ConfigError(why)


def text(entry: dict[str, Any], name: str) -> str:
    """Return the text in field *name*.

    Raises:
        NotAJournalLine: There is none.
    """
    value = entry.get(name)
    return value if isinstance(value, str) else _lacks(entry, name)


def number(entry: dict[str, Any], name: str) -> float:
    """Return the number in field *name*.

    Raises:
        NotAJournalLine: There is none.
    """
    value = number_or_none(entry, name)
    return _lacks(entry, name) if value is None else value


def number_or_none(entry: dict[str, Any], name: str) -> float | None:
    """Return the number in field *name*; None: it is null or missing.

    Raises:
        NotAJournalLine: It is something else.
    """
    value = entry.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        _lacks(entry, name)
    return value


def _lacks(entry: dict[str, Any], name: str) -> NoReturn:
    event = entry.get("event")
    name_of_event = event if isinstance(event, str) else "it"
    raise NotAJournalLine(f"{name_of_event[:80]} has no {name!r} that can be read")


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not empty, with its number; of a very long one only the start."""
    count, is_new = 0, True
    while content := file.readline(_READ_AT_ONCE):
        count += is_new
        if is_new and not content.isspace():
            yield count, content
        is_new = content.endswith(b"\n")


def _parse(content: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(content)
    except (ValueError, RecursionError):
        is_cut = content.startswith((b'{"at"', b'{"journal"')) or not content.endswith(b"\n")
        raise NotAJournalLine("it is cut" if is_cut else "it is no JSON") from None
    if not isinstance(entry, dict):
        raise NotAJournalLine("it is no object")
    if _SURROGATE.search(content) is not None and not _is_text(entry):
        raise NotAJournalLine("it has half a surrogate pair, which is no text")
    return entry


def _is_text(entry: dict[str, Any]) -> bool:
    """True if every text in *entry* can be printed."""
    try:
        json.dumps(entry, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
