"""Where a step starts: with its first attempt, and again after a wait for a route to come back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .cold_cache import NOT_COLD
from .move_policy import pin
from .return_policy import kept_route
from .step_error import no_route_error

if TYPE_CHECKING:
    from ..plan.keyed_route import KeyedRoute
    from .base_step import BaseStep


def use_own_key(step: BaseStep, key: KeyedRoute) -> None:
    """Have *step* ask the route of *key* with this key alone; call it before the first attempt."""
    step.own_key = key
    step.options = replace(step.options, usual_start=None)


def usual_start(step: BaseStep) -> KeyedRoute | None:
    """Return where nearly every step starts, and report it; None: `find_start` has to look."""
    key, history = step.options.usual_start, step.history
    if key is None or not (step.degraded.is_empty or step.degraded.is_available(key)):
        return None
    if key.api_key_env is not None and not _takes_first_key(step, key):
        return None
    if history is not None:
        here = (None, key.route)
        if history.route not in here or step.caches.before not in here:
            return None  # it may stay elsewhere, and finds no prompt cache here
        step.pin = pin(history, step.active.plan)
    if step.reporter.has_listeners:
        step.reporter.step_started(step.requested, step.requested, None, NOT_COLD)
    return key


def _takes_first_key(step: BaseStep, first: KeyedRoute) -> bool:
    """True if *first* is set, and the conversation of *step* had no other key."""
    had = None if step.history is None else step.history.api_key_env
    return had in (None, first.api_key_env) and step.active.keys.is_set(first)


async def find_start(step: BaseStep) -> KeyedRoute:
    """Return where *step* starts, with which key, and report it.

    Raises:
        StepFailed: No route can take the step.
    """
    plan, options = step.active.plan, step.options
    if plan is not None and options.swaps != step.limits.max_swaps:
        step.limits = replace(step.limits, max_swaps=options.swaps)
    if step.history is not None:
        step.pin = pin(step.history, plan)
    choose_start(step)
    if step.walk.uncounted:
        await count_start(step)
    _report_start(step)
    return step.walk.key


def choose_start(step: BaseStep) -> None:
    """Choose the route and the key to begin with, by what is known now.

    Raises:
        StepFailed: No route can take the step.
    """
    fits = True
    if step.pin is not None and step.history is not None:
        fits = step.walk.start_pinned(step.history.route or step.requested)
    elif step.active.plan is not None or step.options.unfit:
        kept = None if step.history is None else kept_route(step.history, step.active.plan)
        fits = step.walk.start(kept)
    if not fits:
        raise no_route_error(step)
    step.walk.take_key(step.history)


async def count_start(step: BaseStep) -> None:
    """Choose the start again until the step fits there by the agent's count of tokens.

    It is chosen again after each count, because another step may degrade or probe the route
    meanwhile.
    """
    while (route := step.walk.route) in step.walk.uncounted:
        await step.count_tokens(route)
        choose_start(step)


def _report_start(step: BaseStep) -> None:
    """Report where *step* starts, and what that route has no prompt cache of."""
    caches, route = step.caches, step.walk.route
    cold = NOT_COLD if caches.before in (None, route) else caches.move_to(route)
    step.walk.report_start(pinned=None if step.pin is None else step.pin.why, cold=cold)
