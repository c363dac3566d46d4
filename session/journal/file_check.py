"""Whether a journal could be opened, found out without making the file."""

from __future__ import annotations

import errno
import os
import stat

_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def why_unopenable(path: str) -> str | None:
    """Say why a `Journal` could not open *path*; None: it could.

    Nothing is made there, and nothing written.
    """
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return None  # opened and closed, it would end for its reader
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
