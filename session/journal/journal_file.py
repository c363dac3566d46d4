"""The file of a journal: how it is opened, and whether it could be."""

from __future__ import annotations

import errno
import os
import stat

from ...provider.error import ConfigError

# A pipe without a reader must not hold up a turn.
_FLAGS = (
    os.O_WRONLY | os.O_APPEND
    | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip


def open_journal(path: str) -> int:
    """Return a descriptor of the file at *path*; a file that is made is its owner's alone.

    Raises:
        ConfigError: It cannot be opened.
    """
    try:
        return os.open(path, _FLAGS | os.O_CREAT, 0o600)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"the journal {path!r} cannot be opened ({why}): name a file that can be written"
        ) from error


def ends_mid_line(path: str) -> bool:
    """True if the last line at *path* was cut, by a crash or a full disk."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.seek(0, os.SEEK_END) > 0 and file.seek(-1, 1) >= 0 and file.read() != b"\n"
    except OSError:  # it may be written, but not read
        return False


def why_unopenable(path: str) -> str | None:
    """Return why a `Journal` could not open *path*; None: it could.

    Nothing is made or written there.
    """
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return None  # opening and closing it would end it for its reader
        os.close(os.open(path, _FLAGS))
    except FileNotFoundError:
        return _why_unmakable(path)
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _why_unmakable(path: str) -> str | None:
    if path.endswith(os.sep):
        return os.strerror(errno.EISDIR)
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        return f"there is no folder {folder!r}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"nothing can be made in the folder {folder!r}"
    return None
