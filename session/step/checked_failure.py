"""The failure behind an exception. The fields that decide what a step does are checked."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING

from ...provider.classify.exception import classify_exception
from ...provider.cure import Cure
from ...provider.error import ProviderError
from ...provider.failure import Failure, FailureKind, Scope
from ..callback import log_callback_error, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...provider.catalog.provider import Provider
    from ...provider.route import Route


_FIELDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "kind": ((FailureKind,), "a `FailureKind`"),
    "message": ((str,), "a text"),
    "status": ((int, NoneType), "an `int`, or None"),
    "code": ((str, NoneType), "a text, or None"),
    "retry_after": ((int, float, NoneType), "a number of seconds, or None"),
    "reset_at": ((datetime, NoneType), "a `datetime`, or None"),
    "should_retry": ((bool, NoneType), "True, False or None"),
    "scope": ((Scope, NoneType), "a `Scope`, or None"),
    "cure": ((Cure, NoneType), "a `Cure`, or None"),
}
"""The types of each field, and their names in an error."""
_INSTEAD = {"kind": FailureKind.UNKNOWN, "message": ""}
"""What is used instead of a field of a wrong type; None for all others."""


def failure_behind(exc: Exception, route: Route, provider: Provider | None = None) -> Failure:
    """Return the failure behind *exc* as sidestep itself sees it.

    Raises:
        WrongFailure: *exc* is a `ProviderError` with a field of a wrong type.
    """
    try:
        if isinstance(exc, ProviderError):
            failure: object = exc.failure  # classified already
        else:
            failure = classify_exception(exc, route=route, provider=provider, now=time.time())
    except Exception:  # noqa: BLE001 - an exception whose attributes cannot be read
        log_callback_error(f"{type(exc).__name__} cannot be classified")
        return Failure(kind=FailureKind.UNKNOWN, message=type(exc).__name__, route=route, cause=exc)
    if not isinstance(failure, Failure):
        usable = Failure(kind=FailureKind.UNKNOWN, message="", route=route, cause=exc)
        message = f"a `ProviderError` has failure={shown(failure)}: give a `Failure`"
        raise WrongFailure(message, usable)
    check_failure(failure, "the failure of a `ProviderError`")
    return replace(failure)


class WrongFailure(TypeError):
    """A failure that the agent's code made has a field of a wrong type.

    Args:
        usable: The same failure without its wrong fields.
    """

    def __init__(self, message: str, usable: Failure) -> None:
        super().__init__(message)
        self.usable = usable


def check_failure(failure: Failure, source: str) -> None:
    """Check the fields of *failure* that a decision reads.

    Args:
        source: The name in errors of the place where *failure* comes from.

    Raises:
        WrongFailure: A field has a wrong type.
    """
    wrong = [name for name, (kinds, _) in _FIELDS.items() if not _fits(failure, name, kinds)]
    if not wrong:
        return
    named = [f"{name}={shown(getattr(failure, name))}: give {_FIELDS[name][1]}" for name in wrong]
    usable = replace(failure)
    for name in wrong:
        setattr(usable, name, _INSTEAD.get(name))
    raise WrongFailure(f"{source} has {'; '.join(named)}", usable)


def _fits(failure: Failure, name: str, kinds: tuple[type, ...]) -> bool:
    value: object = getattr(failure, name)
    if isinstance(value, bool) and bool not in kinds:
        return False
    return isinstance(value, kinds) and not (isinstance(value, float) and math.isnan(value))
