"""What is done around a fork, because only the forking thread lives on in a child.

Imports and models are finished before a fork, because a child cannot wait for another thread.
Objects with a lock are made usable again in the child.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import BaseModel

T = TypeVar("T")

_OWN = f"{__name__.partition('.')[0]}."
_LAZY = (
    "annotated_types.", "anyio.", "email.", "pydantic.", "pydantic_core.", "typing_inspection.",
    _OWN,
)  # fmt: skip
"""Packages with modules that are imported when they are first used, often in a thread."""


def finish_imports() -> None:
    """Return when no other thread is importing a module of those packages any more.

    Python gives each module that is being imported a lock, and keeps the lock held in a child. So
    does pydantic with its lock while it builds a model, which it does when ours are first used.
    """
    for name in tuple(sys.modules):
        if f"{name}.".startswith(_LAZY):
            with suppress(ImportError):
                import_module(name)  # it is there already, and this waits until it is whole
    pydantic = sys.modules.get("pydantic.main")
    if pydantic is not None:
        for model in _models_below(pydantic.BaseModel):
            with suppress(Exception):  # whoever uses it sees the error
                model.model_rebuild()  # nothing, if it is built


def _models_below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models of this package that were made from *model*."""
    for each in model.__subclasses__():
        if each.__module__.startswith(_OWN):
            yield each
        yield from _models_below(each)


def before_fork(call: Callable[[], object]) -> None:
    """Call *call* before every fork from now on, and only then finish imports and models."""
    if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
        os.register_at_fork(before=call)  # what is registered last is called first


_IN_CHILD: WeakKeyDictionary[object, Callable[[Any], object]] = WeakKeyDictionary()


def after_fork(each: T, call: Callable[[T], object]) -> None:
    """Call *call* with *each* in every child that is forked from now on, while *each* is in use.

    The reference to *each* is weak, so *call* must not hold one.
    """
    _IN_CHILD[each] = call


class Locked(Protocol):
    """An object whose `_lock` guards it from other threads."""

    _lock: threading.RLock


def renew_lock(each: Locked) -> None:
    """Give *each* a lock that nobody holds, because only the forking thread lives on in a child."""
    each._lock = threading.RLock()


def _after_fork() -> None:
    for each, call in list(_IN_CHILD.items()):
        call(each)


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(before=finish_imports, after_in_child=_after_fork)
