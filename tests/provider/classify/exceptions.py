"""What the tests of exception share."""

from __future__ import annotations

import errno
from typing import Any

from sidestep import FailureKind

K = FailureKind


class SdkError(Exception):
    """As the SDKs of OpenAI, Anthropic and their kin build it."""

    def __init__(self, message: str, **attributes: Any) -> None:
        super().__init__(message)
        for name, value in attributes.items():
            setattr(self, name, value)


def caused(error: BaseException, *causes: BaseException) -> BaseException:
    link = error
    for cause in causes:
        link.__cause__ = cause
        link = cause
    return error


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "refused")


def raised_while_handling(error: Exception, handled: BaseException) -> Exception:
    """Return *error* as it comes out of an ``except`` block that names no cause."""
    error.__context__ = handled
    return error
