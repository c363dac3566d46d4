"""The folder in which the tools of a model work."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from ...provider.error import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_PATH = 4096
MOST_ENTRIES = 10_000
# Some systems lack one of these; a workspace is refused there.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a folder.

    Args:
        path: Its place; a link is not followed.
    """

    path: Path
    kind: Literal["file", "folder", "link", "other"]


class Workspace:
    """A folder with files that can be read and replaced; no path leads out of it.

    A path is resolved with its links. The result is then opened folder by folder without following
    a link, so that a link put there in between has no effect. A hard link inside to a file outside
    counts as inside: it can be read, and replacing it leaves the file outside unchanged.

    Raises:
        ConfigError: *root* is missing or no folder, or this system cannot open files that way.
    """

    def __init__(self, root: Path) -> None:
        if os.open not in os.supports_dir_fd:
            raise ConfigError("a workspace needs a POSIX system: run without one here")
        try:
            self.root = root.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise ConfigError(
                f"workspace {str(root)!r} cannot be found: name a folder that is there"
            ) from error
        if not self.root.is_dir():
            raise ConfigError(f"workspace {str(root)!r} is no folder: name the folder it is in")

    def resolve(self, path: str) -> Path:
        """Return the real path that *path* names; the file need not exist.

        Raises:
            ValueError: It leads out of the workspace, or is no path.
        """
        if "\0" in path:
            raise ValueError(f"{path!r} has a NUL in it: no file is named so")
        if len(path) > LONGEST_PATH:
            raise ValueError(f"a path of {len(path):,} characters is too long")
        try:
            real = Path(os.path.realpath(self.root / path))
        except (UnicodeEncodeError, RecursionError) as error:
            raise ValueError(f"{path!r} cannot be resolved: give another path") from error
        if not real.is_relative_to(self.root):
            raise ValueError(
                f"{path!r} leads out of the workspace: give a path inside {str(self.root)!r}"
            )
        return real

    def name(self, real: Path) -> str:
        """Return *real* relative to the workspace, as it can be shown; the root is ``.``."""
        return visible(real.relative_to(self.root).as_posix())

    def open_file(self, real: Path) -> BinaryIO:
        """Return the file at the path that `resolve` returned, open for reading.

        Raises:
            ValueError: It is missing, no regular file, or cannot be read.
        """
        with self._explained(real), self._folder(real.parent) as folder:
            _check_file(os.stat(real.name, dir_fd=folder, follow_symlinks=False))
            opened = os.open(real.name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
            try:
                _check_file(os.fstat(opened))
                return os.fdopen(opened, "rb")
            except BaseException:
                os.close(opened)
                raise

    def replace_file(self, real: Path, content: bytes) -> None:
        """Write *content* to the path that `resolve` returned, all of it or nothing.

        Missing folders are made. An existing file keeps its mode and, where possible, its owner.

        Raises:
            ValueError: The path is no regular file, or cannot be written.
        """
        with self._explained(real), self._folder(real.parent, is_made=True) as folder:
            before = _status(real.name, folder)
            temporary = f".{secrets.token_hex(8)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
            opened = os.open(temporary, flags, 0o666, dir_fd=folder)
            try:
                with os.fdopen(opened, "wb") as file:
                    if before is not None:
                        _keep_owner_and_mode(opened, before)
                    file.write(content)
                os.replace(temporary, real.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def scan(self, real: Path) -> list[Entry]:
        """Return the entries of the folder *real* by name, the first 10,000 that the system lists.

        Raises:
            ValueError: It is missing, no folder, or cannot be read.
        """
        with self._explained(real), self._folder(real) as folder, os.scandir(folder) as found:
            entries = [Entry(real / each.name, _kind(each)) for each in islice(found, MOST_ENTRIES)]
        return sorted(entries, key=lambda entry: entry.path.name)

    @contextmanager
    def _folder(self, real: Path, *, is_made: bool = False) -> Iterator[int]:
        if not real.is_relative_to(self.root):
            raise IsADirectoryError
        folder = os.open(self.root, _FOLDER)
        try:
            for name in real.relative_to(self.root).parts:
                if is_made:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                inner = os.open(name, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _explained(self, real: Path) -> Iterator[None]:
        name = self.name(real)
        try:
            yield
        except FileNotFoundError as error:
            raise ValueError(f"{name!r} is not there") from error
        except IsADirectoryError as error:
            raise ValueError(f"{name!r} is a folder: name a file") from error
        except OSError as error:
            why = error.strerror or str(error)
            raise ValueError(f"{name!r} cannot be used: {why}") from error


def visible(text: str, *, keep: str = "") -> str:
    """Return *text* with an escape for every invisible character, except those in *keep*."""
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode()
        for char in text
    )


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_file(status)
    return status


def _check_file(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is a link, a device, a pipe or a socket, and no regular file")


def _keep_owner_and_mode(opened: int, before: os.stat_result) -> None:
    now = os.fstat(opened)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.fchown(opened, before.st_uid, before.st_gid)
    os.fchmod(opened, stat.S_IMODE(before.st_mode))


def _kind(entry: os.DirEntry[str]) -> Literal["file", "folder", "link", "other"]:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
