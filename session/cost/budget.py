"""What a turn or a session may spend."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..argument import is_limit, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a turn, or a session, may spend; None anywhere is no limit.

    Before each attempt what it may take is set against what is left: its request's bytes
    by 4 as input, and of output what the request allows, or where that says nothing any at all.
    So with a longest answer set no limit is passed by more than the estimate is wrong, and
    without one the last attempt may pass it.

    Args:
        attempts: Requests, the failed ones as well.
        input_tokens: Tokens sent, those that a cache had as well.
        output_tokens: Tokens written, the model's thinking as well.
        money: US dollars.
        seconds: How long turns take, from the prompt to the answer; an attempt or a tool that
            is under way by then is cancelled.

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
            if limit is not None and not is_limit(limit, is_count=is_count):
                kind = "whole" if is_count else "finite"
                raise ValueError(
                    f"`{field.name}` must be a {kind} number above 0, got {shown(limit)}; "
                    "for no limit, leave it out"
                )
