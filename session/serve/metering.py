"""Report the tokens of an attempt, as the provider counted them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ..cost.meter import input_of
from ..event import AttemptCost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...provider.conversation import Usage
    from ...provider.wire_name import Wire
    from ..step.attempt import Attempt
    from ..step.step import Step


class Counted(Protocol):
    """An answer with a count of its tokens."""

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has reported so far."""


@contextmanager
def metered(step: Step, attempt: Attempt, reply: Counted, wire: Wire) -> Iterator[None]:
    """Report the tokens of *attempt* when its answer ends, in any way.

    Nothing is reported if the provider has counted nothing. No price is looked up, because that
    would delay the answer.

    Args:
        wire: In which the provider counts.
    """
    try:
        yield
    finally:
        usage = reply.usage
        if usage.input is not None or usage.output is not None:
            cost = AttemptCost(
                step.number, attempt.number, attempt.route,
                input_of(usage, wire) or 0, usage.output or 0, usage.cache_read, usage.cache_write,
                money=None, is_estimated=False,
            )  # fmt: skip
            step.reporter.attempt_cost(cost)
