"""Calls a function whenever a coroutine has to wait, because then nothing more comes at once."""

from __future__ import annotations

from types import coroutine
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from typing import Any

T = TypeVar("T")


@coroutine
def before_each_wait(
    work: Coroutine[Any, Any, T], act: Callable[[], None]
) -> Generator[Any, Any, T]:
    """Return what *work* returns, and call *act* whenever *work* has to wait.

    No event loop reports a wait, but a coroutine yields to its loop only if it has to wait.

    Args:
        act: Must not raise, because *work* has prepared its wait already.
    """
    try:
        awaited = work.send(None)
        while True:
            act()
            try:
                sent = yield awaited
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001 - such as a cancellation
                awaited = work.throw(error)
            else:
                awaited = work.send(sent)
    except StopIteration as end:
        value: T = end.value
        return value
