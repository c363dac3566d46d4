"""Neighbours that are alike, taken together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")


def equal_runs(items: Iterable[T], key: Callable[[T], object]) -> Iterator[list[T]]:
    """Return *items* in order, as lists of neighbours with an equal *key*.

    >>> list(equal_runs("aab", key=str))
    [['a', 'a'], ['b']]
    """
    for _, run in groupby(items, key):
        yield list(run)
