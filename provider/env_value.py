"""Environment variables that hold JSON, or name a file that holds it."""

from __future__ import annotations

import os
from pathlib import Path

from .error import ConfigError


def named_path(text: str) -> Path | None:
    """Return the path in ``@path``; None: *text* is the JSON itself."""
    text = text.strip()
    return Path(os.path.expanduser(text[1:])) if text.startswith("@") else None


def decoded(content: str | bytes) -> str:
    """Return *content* as text.

    Raises:
        ConfigError: *content* is not UTF-8.
    """
    try:
        return content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 (at byte {error.start + 1}): save it as UTF-8") from None


def read_variable(text: str) -> str | bytes:
    """Return the JSON that a variable with the value *text* stands for.

    Raises:
        ConfigError: The file cannot be read.
    """
    path = named_path(text)
    if path is not None and text.strip() == "@":
        raise ConfigError("it names no file after its @: write @ and the path of one")
    return text if path is None else read_file(path)


def read_file(path: Path) -> bytes:
    """Return the content of the file at *path*, without a byte order mark.

    Raises:
        ConfigError: The file cannot be read, or is not a regular file and so might never end.
    """
    try:
        if path.exists() and not path.is_file():
            raise ConfigError("it is not a regular file: name the file itself")
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        message = f"it cannot be read ({error.strerror}): name a file that can"
        raise ConfigError(message) from None
