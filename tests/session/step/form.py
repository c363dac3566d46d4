"""One step in both forms: in an event loop, and without one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from sidestep import Step, SyncAttempt, SyncStep
from sidestep.session.step.waiter import drive

each_form = pytest.mark.usefixtures("form")
"""The test is run in both forms: `Sidestep.step` is `step_sync` in one of them."""


async def run(step: Step | SyncStep, call: Callable[[Any], Any]) -> Any:
    """Return what *step* returns round *call*, which does not suspend."""
    if not isinstance(step, SyncStep):
        return await step.run(call)

    def at_once(attempt: SyncAttempt) -> Any:
        reply = call(attempt)
        return drive(reply) if isinstance(reply, Coroutine) else reply

    return step.run(at_once)
