"""A call that comes twice is seen from another, at no price that grows with their number."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep.provider.wire.seen_calls import SeenCalls


@pytest.mark.parametrize(
    ("second", "is_repeat"),
    [
        pytest.param(("1", "read", {"a": 1}), True, id="the same"),
        pytest.param(("2", "read", {"a": 1}), False, id="another id"),
        pytest.param(("1", "list", {"a": 1}), False, id="another name"),
        pytest.param(("1", "read", {"a": 2}), False, id="other arguments"),
        pytest.param(("1", "read", {}), False, id="no arguments"),
    ],
)
def test_a_call_that_comes_twice_is_told_from_another(
    second: tuple[str, str, dict[str, Any]], is_repeat: bool
) -> None:
    seen = SeenCalls()

    assert not seen.is_repeat("1", "read", {"a": 1})
    assert seen.is_repeat(*second) is is_repeat
    assert seen.is_repeat(*second)


def test_calls_with_ids_of_their_own_are_not_compared() -> None:
    compared = 0

    class Arguments(dict[str, Any]):
        __hash__ = None

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

    seen = SeenCalls()
    for number in range(100):
        seen.is_repeat(str(number), "read", Arguments())

    assert compared == 0
