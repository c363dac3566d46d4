"""The exceptions and wrong values of the agent's callbacks, without keys."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from inspect import isawaitable, iscoroutine
from typing import TypeVar

from ..provider.log import logger
from ..provider.secret import redact_shapes

T = TypeVar("T")

_CANCELLATIONS = {"Cancelled", "CancelledError"}
"""Of trio and of asyncio, which need not be imported."""
_SHOWN = 80
"""Characters of a wrong value that a message shows."""


def is_own_error(exc: BaseException) -> bool:
    """True if *exc* of a synchronous callback is an error of it, and must not end the program.

    A cancellation is such an error: it ends a task only where the task awaits, and the callback
    awaits nothing. It comes from something else that was cancelled, such as a future that the
    callback asks for its result.
    """
    return isinstance(exc, Exception) or type(exc).__name__ in _CANCELLATIONS


def call(name: str, hook: Callable[..., T], *args: object) -> T:
    """Return what the synchronous *hook* with that *name* returns.

    Raises:
        RuntimeError: It raised a cancellation, which would end the task of the step in silence.
    """
    try:
        return hook(*args)
    except BaseException as exc:
        if isinstance(exc, Exception) or not is_own_error(exc):
            raise
        raise RuntimeError(f"`{name}` raised {type(exc).__name__}") from exc


def log_callback_error(what: str) -> None:
    """Log *what* and the traceback of the current exception, with everything like a key masked.

    The traceback is formatted here, because `logging` would print the exception unmasked.
    """
    logger.error("%s", redact_shapes(f"{what}\n{traceback.format_exc().rstrip()}"), stacklevel=2)


def wrong_value(hook: str, value: object, wanted: str, *, is_async: bool = False) -> TypeError:
    """Return the error for what *hook* returned.

    Args:
        value: What it returned; a coroutine is closed, because nobody will await it.
        wanted: What it should have returned.
        is_async: True: *hook* must be asynchronous.
    """
    write = f"return {wanted}"
    if is_async:
        write = f"write it with `async def`, and {write}"
    elif isawaitable(value):
        write = f"write it without `async`, and {write}"
    text = shown(value)
    if iscoroutine(value):
        value.close()
    return TypeError(f"`{hook}` returned {text}: {write}")


def refuse_awaitable(hook: str, returned: object) -> None:
    """Check that *hook*, which returns nothing, is not asynchronous.

    Raises:
        TypeError: It returned something to await.
    """
    if isawaitable(returned):
        raise wrong_value(hook, returned, "None")


def shown(value: object) -> str:
    """Return the start of the `repr` of *value*, or its type if it has no `repr`."""
    try:
        text = redact_shapes(repr(value))
    except Exception:  # noqa: BLE001 - any object can be returned
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
