"""What other projects say of a mistake, asked of them, because their words change in time."""

from __future__ import annotations

import errno
import os
import tomllib
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

IS_A_DIRECTORY = os.strerror(errno.EISDIR)
NAME_TOO_LONG = os.strerror(errno.ENAMETOOLONG)
NO_PERMISSION = os.strerror(errno.EACCES)
NO_ROOM = os.strerror(errno.ENOSPC)
NO_SUCH_FILE = os.strerror(errno.ENOENT)
NOT_A_DIRECTORY = os.strerror(errno.ENOTDIR)
READ_ONLY = os.strerror(errno.EROFS)


def pydantic_says(kind: Any, value: object, *, strict: bool = True) -> str:
    """Return why pydantic does not take *value* for a *kind*."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value, strict=strict)
    return caught.value.errors()[0]["msg"]


def pydantic_goes_on(kind: Any, value: object) -> str:
    """Return the same, as it stands after a colon."""
    said = pydantic_says(kind, value)
    return said[0].lower() + said[1:]


def tomllib_says(text: str) -> str:
    """Return why *text* is no TOML."""
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)
    return str(caught.value)
