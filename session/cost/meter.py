"""Meter the attempts of one step: reserve the cost before each, and charge it after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.conversation import AttemptRecord, Reasoning, Text, ToolCall, Usage
from ...provider.error import ProviderError
from ...provider.failure import FailureKind, Stage
from ...provider.json_value import write_json
from ..error import BudgetExceeded
from ..event import AttemptCost
from ..plan.needs import CHARACTERS_PER_TOKEN
from ..step.cold_cache import NOT_COLD
from ..step.step_error import summarize_attempts
from .account import Amount

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...provider.client.rendering import RenderedRequest
    from ...provider.client.reply import Reply
    from ...provider.conversation import Part
    from ...provider.route import Route
    from ...provider.wire_name import Wire
    from ..event import Event
    from ..step.base_attempt import BaseAttempt
    from ..step.base_step import BaseStep
    from ..step.cold_cache import ColdCache
    from .ledger import Ledger

_ONE_ATTEMPT = Amount(attempts=1)


class StepMeter:
    """Charge the attempts of one step to the budgets of its turn and its session.

    Args:
        max_output_tokens: The longest answer that a request allows; None: the provider decides.
        emit: Called with the cost of every attempt.
    """

    def __init__(
        self, ledger: Ledger, *, max_output_tokens: int | None, emit: Callable[[Event], None]
    ) -> None:
        self._ledger = ledger
        self._accounts = ledger.accounts
        self._max_output_tokens = max_output_tokens
        self._emit = emit
        self._costs: dict[int, AttemptCost] = {}
        self._moves: dict[Route, ColdCache] = {}  # to a route that no attempt has asked since
        self._colds: dict[int, ColdCache] = {}  # by attempt
        self._reserved = _ONE_ATTEMPT

    def note_move(self, route: Route, cold: ColdCache) -> None:
        """Add *cold* to the record of the next attempt on *route*."""
        self._moves[route] = cold

    def check_budget(self, step: BaseStep, route: Route, size: int) -> None:
        """Return if every budget allows an attempt of *step* on *route*.

        Args:
            size: Bytes of the request; 0: unknown.

        Raises:
            BudgetExceeded: It would exceed a limit, or has no price and money is limited.
        """
        usage = Usage(_tokens(size), self._max_output_tokens or 0)
        money = self._ledger.price(route, usage)
        if money is None and self._ledger.limits_money:
            raise _exceeded(
                step,
                f"no price is known for {route}, and a budget limits money: limit tokens "
                "instead, ask for another route, or pass `price=`, a function that returns it",
            )
        self._reserved = Amount(1, usage.input or 0, usage.output or 0, money or 0.0)
        why = self._ledger.limit_exceeded(route, self._reserved)
        if why is not None:
            raise _exceeded(step, f"{why}: raise it, or ask for less")

    def reserve(self, attempt: BaseAttempt) -> Amount:
        """Reserve what *attempt* may cost, and return it."""
        reserved = self._reserved
        self._hold(reserved)
        if (cold := self._moves.pop(attempt.route, None)) is not None:
            self._colds[attempt.number] = cold
        return reserved

    def charge(
        self,
        step: BaseStep,
        attempt: BaseAttempt,
        request: RenderedRequest,
        reply: Reply,
        reserved: Amount,
        error: BaseException | None = None,
    ) -> None:
        """Charge what *attempt* cost in place of what was *reserved*.

        Args:
            error: What ended the attempt; None: it answered.
        """
        self._hold(reserved, -1)
        usage, is_estimated = _usage_of(reply, request, error)
        route, input_tokens, output_tokens = attempt.route, usage.input or 0, usage.output or 0
        money = None
        try:
            money = self._ledger.price(route, usage)
        finally:  # the attempt was made, also if `price` ends the program
            for account in self._accounts:
                account.spent.add(Amount(1, input_tokens, output_tokens, money or 0.0))
        cost = AttemptCost(
            step.number, attempt.number, route,
            input_tokens, output_tokens, usage.cache_read, usage.cache_write, money, is_estimated,
        )  # fmt: skip
        self._costs[attempt.number] = cost
        self._emit(cost)

    def close(self, attempts: Sequence[BaseAttempt]) -> tuple[AttemptRecord, ...]:
        """Return the outcome and cost of *attempts*, and add them to each account."""
        records = tuple(
            _record(each, self._costs.get(each.number), self._colds.get(each.number, NOT_COLD))
            for each in attempts
        )
        for account in self._accounts:
            account.records.extend(records)
        return records

    def _hold(self, amount: Amount, sign: int = 1) -> None:
        """Add *amount* to what each account holds back, or subtract it if *sign* is -1."""
        for account in self._accounts:
            account.held.add(amount, sign)


def _exceeded(step: BaseStep, why: str) -> BudgetExceeded:
    attempts = step.attempts
    message = why
    if attempts:
        message += f"; {summarize_attempts(attempts, 'no further attempt was made', step.degraded)}"
    causes = [each.failure.cause for each in attempts if each.failure and each.failure.cause]
    error = BudgetExceeded(message, requested=step.requested, attempts=attempts)
    error.__cause__ = causes[-1] if causes else None
    return error


def _record(attempt: BaseAttempt, cost: AttemptCost | None, cold: ColdCache) -> AttemptRecord:
    failure = attempt.failure
    return AttemptRecord(
        route=attempt.route,
        number=attempt.number,
        kind=None if failure is None else str(failure.kind),
        status=None if failure is None else failure.status,
        seconds=attempt.seconds,
        waited=attempt.waited,
        input=None if cost is None else cost.input,
        output=None if cost is None else cost.output,
        money=None if cost is None else cost.money,
        is_estimated=cost is not None and cost.is_estimated,
        api_key_env=attempt.api_key_env,
        cold_tokens=cold.tokens,
        cold_money=cold.money,
    )


def _usage_of(
    reply: Reply, request: RenderedRequest, error: BaseException | None
) -> tuple[Usage, bool]:
    """Return the tokens of an attempt, and whether they are estimated.

    For an interrupted answer the provider's count is a lower bound: some report 1 until the end.
    A count of 0 is none, because a request has tokens, and so has an answer with parts.

    Args:
        error: What ended the attempt; None: it answered.
    """
    if error is not None and not _may_be_charged(error):
        return Usage(0, 0), False
    usage = reply.usage
    sent, written = input_of(usage, request.provider.wire) or 0, usage.output or 0
    is_estimated = sent <= 0 or usage.output is None
    if sent <= 0:
        sent = _tokens(len(request.content))
    if written <= 0 or error is not None:
        received = _tokens(_length(reply.parts))
        is_estimated = is_estimated or received > written
        written = max(written, received)
    return Usage(sent, written, usage.cache_read, usage.cache_write), is_estimated


def _may_be_charged(error: BaseException) -> bool:
    """True if the provider may charge, because the answer had begun or timed out.

    Args:
        error: What ended the attempt.
    """
    if not isinstance(error, ProviderError):
        return True
    failure = error.failure
    is_overdue = failure.kind is FailureKind.TIMEOUT and failure.status is None
    return failure.stage in (Stage.STREAM, Stage.END) or (
        failure.stage is Stage.RESPONSE and is_overdue
    )


def input_of(usage: Usage, wire: Wire) -> int | None:
    """Return all input tokens; Anthropic counts the cached ones separately."""
    in_cache = (usage.cache_read or 0) + (usage.cache_write or 0)
    if wire == "anthropic":
        return None if usage.input is None else usage.input + in_cache
    return usage.input if usage.input is None else max(usage.input, in_cache)


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _length(parts: Sequence[Part]) -> int:
    """Return the number of characters that the model wrote in *parts*."""
    length = 0
    for part in parts:
        if isinstance(part, Text | Reasoning):
            length += len(part.text)
        elif isinstance(part, ToolCall):
            length += len(part.name) + len(write_json(part.input))
    return length
