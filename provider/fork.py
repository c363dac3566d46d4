"""Finishes imports before a fork, because a child cannot wait for a thread of its parent."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module

_LAZY = ("anyio.", "email.", f"{__name__.partition('.')[0]}.")
"""Packages with modules that are imported when they are first used, often in a thread."""


def finish_imports() -> None:
    """Return when no other thread is importing a module of those packages any more.

    Python gives each module that is being imported a lock, and keeps the lock held in a child.
    """
    for name in tuple(sys.modules):
        if name.startswith(_LAZY):
            with suppress(ImportError):
                import_module(name)  # it is there already, and this waits until it is whole
