"""What a turn or a session may spend."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..argument import is_positive_number, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a turn, or a session, may spend. Each limit is None if unset.

    Before each attempt its estimated cost is compared with what is left. The estimated input tokens
    are a quarter of the request's bytes. The estimated output tokens are `max_output_tokens` of the
    session; 0 if it is unset. With `max_output_tokens`, a budget is exceeded only if the estimate
    was too low. Without it, the last attempt may exceed the budget.

    Args:
        attempts: Requests, including failed ones.
        input_tokens: Tokens sent, including those read from a cache.
        output_tokens: Tokens that the model wrote, including its thinking.
        money: US dollars.
        seconds: How long turns take, from the prompt to the answer; an attempt or a tool that
            still runs is then cancelled.

    Raises:
        ValueError: A limit is not a finite number above 0, or a count is not whole.
    """

    attempts: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    money: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            is_count = field.name not in ("money", "seconds")
            if limit is not None and not is_positive_number(limit, is_count=is_count):
                kind = "whole" if is_count else "finite"
                raise ValueError(
                    f"`{field.name}` must be a {kind} number above 0, got {shown(limit)}; "
                    "for no limit, leave it out"
                )
