"""The error that a client gets for a step that failed."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...provider.error import ProviderError, SidestepError
from ...provider.failure import Failure, FailureKind
from ...provider.log import logger
from ...provider.secret import redact_shapes
from ..error import ContextOverflow, StepFailed, StreamInterrupted
from ..plan.keyed_route import keyed
from ..step.route_walk import start_route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...provider.route import Route
    from ...provider.wire_name import Wire
    from ..step.middleware import Sidestep
    from ..step.step import Step
    from .model_request import ModelRequest

_CURED_BY_WAITING = frozenset(
    {FailureKind.RATE_LIMIT, FailureKind.OVERLOADED, FailureKind.SERVER_ERROR, FailureKind.QUOTA}
    | {FailureKind.TIMEOUT, FailureKind.NETWORK, FailureKind.TRUNCATED}
    | {FailureKind.EMPTY_RESPONSE}
)
_REPEATED_ON: Mapping[Wire, FailureKind] = MappingProxyType(
    {"openai-responses": FailureKind.SERVER_ERROR}
)
"""The kind of an error in a stream after which clients ask again at once; elsewhere `OVERLOADED`.

Source: the agents of tests/clients. Codex ends its turn if the server is overloaded; opencode and
qwen-code end theirs if it is anything else.
"""
_AGAIN = "(overloaded: send the request again)"
"""The words in a message after which Continue's `cn` asks again."""


class RouteNotAsked(SidestepError):
    """A route may not be asked for this request, whatever the engine finds; nothing was sent.

    The status and the journal show the name of the class, because they show no message of ours.
    """


class NoKeyToSend(RouteNotAsked):
    """No key may be sent to the route, or its provider is not known."""


def failure_to_send(
    error: Exception,
    step: Step | None,
    request: ModelRequest,
    middleware: Sidestep,
    *,
    is_keyless: bool,
) -> Failure:
    """Return the last provider's failure, with what happened as its message.

    Its ``retry_after`` is the seconds until a route of the step is due back. If a part of the
    answer was sent, and another route is ready, the client is to ask again at once.

    Args:
        is_keyless: No key may be sent to the requested route.
    """
    failure = _last_failure(error, is_keyless=is_keyless)
    failure = replace(failure, message=_story(error), cause=None)
    if failure.kind not in _CURED_BY_WAITING:
        return failure
    if isinstance(error, StreamInterrupted) and _is_ready(request, step, middleware):
        kind = _REPEATED_ON.get(request.call.wire, FailureKind.OVERLOADED)
        return Failure(kind=kind, message=f"{failure.message} {_AGAIN}")
    failure.retry_after = _due_back(step, request.requested, middleware) or failure.retry_after
    return failure


def _last_failure(error: Exception, *, is_keyless: bool) -> Failure:
    if isinstance(error, ContextOverflow):
        status = None if error.failure is None else error.failure.status
        return Failure(kind=FailureKind.CONTEXT_OVERFLOW, message="", status=status)
    if isinstance(error, ProviderError):
        return error.failure
    if isinstance(error, RouteNotAsked):
        return _no_route(is_keyless=isinstance(error, NoKeyToSend))
    if isinstance(error, StepFailed):
        return error.failure or _no_route(is_keyless=is_keyless)
    if not isinstance(error, SidestepError):
        logger.error("a request to the local address failed", exc_info=error)
    return Failure(kind=FailureKind.UNKNOWN, message="", status=500)


def _no_route(*, is_keyless: bool) -> Failure:
    """Return the failure of a step that no route could take, which no wait cures."""
    kind, status = FailureKind.BAD_REQUEST, 400
    if is_keyless:
        kind, status = FailureKind.AUTH, 401
    return Failure(kind=kind, message="", status=status, should_retry=False)


def _story(error: Exception) -> str:
    """Return what happened, in one line; of an error that is not ours only its class."""
    if not isinstance(error, SidestepError):
        return f"sidestep could not answer this request ({type(error).__name__})"
    notes = () if isinstance(error, RouteNotAsked) else getattr(error, "__notes__", ())
    told = notes[-1] if notes else str(error)
    return redact_shapes(told if told.startswith("sidestep: ") else f"sidestep: {told}")


def _is_ready(request: ModelRequest, step: Step | None, middleware: Sidestep) -> bool:
    """True if the same request would start on a healthy route now, with the client's own key."""
    own, degraded = None if step is None else step.own_key, middleware.degraded
    options = middleware.active.options_for(request.name)
    start, _ = start_route(options, degraded, options.unfit.get, own)
    return not degraded.is_degraded(keyed(start or options.requested, own))


def _due_back(step: Step | None, requested: Route, middleware: Sidestep) -> float | None:
    """Return the seconds until one of the step's routes is healthy; None: nothing says when."""
    attempts = () if step is None else step.attempts
    routes = {requested, *(attempt.route for attempt in attempts)}
    if step is not None:
        routes |= set(step.skipped)
    own = None if step is None else step.own_key
    waits = [middleware.degraded.seconds_left(keyed(route, own)) for route in routes]
    return min((seconds for seconds in waits if seconds > 0), default=None)
