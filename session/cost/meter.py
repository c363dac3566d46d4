"""What the attempts of one step take: asked for before each, settled after it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ...provider.conversation import AttemptRecord, Reasoning, Text, ToolCall, Usage
from ...provider.error import ProviderError
from ...provider.failure import FailureKind, Stage
from ...provider.json_value import write_json
from ..error import BudgetExceeded
from ..event import Spent
from ..plan.needs import CHARACTERS_PER_TOKEN
from ..step.step_error import summarize_attempts
from .ledger import Amount

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ...provider.client.rendering import Rendering
    from ...provider.client.reply import Reply
    from ...provider.conversation import Part
    from ...provider.route import Route
    from ..event import Event
    from ..step.attempt import Attempt
    from ..step.step import Step
    from ..turn.step_requests import Requests
    from .ledger import Ledger


class Bill:
    """Charge the attempts of one step to the turn and the session that it is part of.

    Args:
        max_output_tokens: What a request allows an answer; None: the provider decides.
        tell: Called with `Spent` after every attempt.

    Attributes:
        step: The step that `check` is asked for.
    """

    def __init__(
        self,
        ledger: Ledger,
        requests: Requests,
        *,
        max_output_tokens: int | None,
        tell: Callable[[Event], None],
    ) -> None:
        self.step: Step
        self._ledger = ledger
        self._accounts = ledger.accounts
        self._requests = requests
        self._max_output_tokens = max_output_tokens
        self._tell = tell
        self._spent: dict[int, Spent] = {}
        self._asked = Amount(attempts=1)

    @property
    def before_attempt(self) -> Callable[[Route], None] | None:
        """What `Sidestep.step` is to ask before each attempt; None where nothing is limited."""
        return self.check if self._ledger.is_limited else None

    def check(self, route: Route) -> None:
        """Let an attempt on *route* through whose request no budget forbids.

        Raises:
            BudgetExceeded: It would break a limit, or has no price and money is limited.
        """
        try:
            size = len(self._requests.render(route).content)
        except Exception:  # noqa: BLE001 - the attempt raises it again, where it is judged
            size = 0
        usage = Usage(_tokens(size), self._max_output_tokens or 0)
        money = self._ledger.price(route, usage)
        if money is None and self._ledger.limits_money:
            self._refuse(
                f"no price is known for {route}, and a budget limits money: pass `price=`, a "
                "function that knows it, or ask for another route"
            )
        self._asked = Amount(1, usage.input or 0, usage.output or 0, money or 0.0)
        why = self._ledger.refusal(route, self._asked)
        if why is not None:
            self._refuse(f"{why}: raise it, or ask for less")

    def _refuse(self, why: str) -> None:
        step = self.step
        attempts = step.attempts
        story = summarize_attempts(attempts, "no other was made", step.degraded) if attempts else ""
        message = f"{why}; {story}" if story else why
        causes = [each.failure.cause for each in attempts if each.failure and each.failure.cause]
        raise BudgetExceeded(message, requested=step.requested, attempts=attempts) from (
            causes[-1] if causes else None
        )

    @asynccontextmanager
    async def reply(self, attempt: Attempt) -> AsyncIterator[Reply]:
        """Send the request of *attempt*; whatever becomes of the answer is charged."""
        request = self._requests.render(attempt.route)
        reply = self._requests.send(request)
        asked = self._asked
        self._hold(asked)
        error: BaseException | None = None
        try:
            async with reply:
                yield reply
        except BaseException as exc:
            error = exc
            raise
        finally:
            self._hold(asked, -1)
            self._settle(attempt, *_taken(reply, request, error))

    def _hold(self, amount: Amount, sign: int = 1) -> None:
        for account in self._accounts:
            account.held.add(amount, sign)

    def _settle(self, attempt: Attempt, usage: Usage, is_estimated: bool) -> None:
        route, sent, written = attempt.route, usage.input or 0, usage.output or 0
        money = self._ledger.price(route, usage)
        for account in self._accounts:
            account.spent.add(Amount(1, sent, written, money or 0.0))
        spent = Spent(
            self.step.number, attempt.number, route,
            sent, written, usage.cache_read, usage.cache_write, money, is_estimated,
        )  # fmt: skip
        self._spent[attempt.number] = spent
        self._tell(spent)

    def close(self) -> tuple[AttemptRecord, ...]:
        """Return what became of every attempt and what it took, listed in each account as well."""
        records = tuple(
            _record(attempt, self._spent.get(attempt.number)) for attempt in self.step.attempts
        )
        for account in self._accounts:
            account.records.extend(records)
        return records


def _record(attempt: Attempt, spent: Spent | None) -> AttemptRecord:
    failure = attempt.failure
    return AttemptRecord(
        route=attempt.route,
        number=attempt.number,
        kind=None if failure is None else str(failure.kind),
        status=None if failure is None else failure.status,
        seconds=attempt.seconds,
        waited=attempt.waited,
        input=None if spent is None else spent.input,
        output=None if spent is None else spent.output,
        money=None if spent is None else spent.money,
        is_estimated=spent is not None and spent.is_estimated,
    )


def _taken(reply: Reply, request: Rendering, error: BaseException | None) -> tuple[Usage, bool]:
    """Return what an attempt took, and whether that is estimated; *error* is how it failed.

    The provider's count of an answer that broke off is the least that it can be: some count only
    at the end, and report a 1 before.
    """
    if error is not None and not _was_begun(error):
        return Usage(0, 0), False
    told = reply.usage
    sent, written = _input(told, request), told.output
    is_estimated = sent is None or written is None
    if sent is None:
        sent = _tokens(len(request.content))
    if written is None or error is not None:
        shown = _tokens(_length(reply.parts))
        is_estimated = is_estimated or shown > (written or 0)
        written = max(written or 0, shown)
    return Usage(sent, written, told.cache_read, told.cache_write), is_estimated


def _was_begun(error: BaseException) -> bool:
    """Say whether a provider may charge what failed with *error*: it was not refused at once."""
    if not isinstance(error, ProviderError):
        return True
    failure = error.failure
    is_overdue = failure.kind is FailureKind.TIMEOUT and failure.status is None
    return failure.stage in (Stage.STREAM, Stage.END) or (
        failure.stage is Stage.RESPONSE and is_overdue
    )


def _input(usage: Usage, request: Rendering) -> int | None:
    """Return all input tokens; Anthropic's wire counts those of its cache beside the others."""
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    if request.provider.wire == "anthropic":
        return None if usage.input is None else usage.input + cached
    return usage.input if usage.input is None else max(usage.input, cached)


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _length(parts: Sequence[Part]) -> int:
    """Return how many characters a model has written."""
    length = 0
    for part in parts:
        if isinstance(part, Text | Reasoning):
            length += len(part.text)
        elif isinstance(part, ToolCall):
            length += len(part.name) + len(write_json(part.input))
    return length
