"""Keys that stand more than once in a JSON object, of which a parser keeps the last value."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class DoubledKey(NamedTuple):
    """A key that stands more than once in one object.

    Args:
        path: The keys that lead to it, its own the last; places in lists are left out.
        times: How often it stands there.
    """

    path: tuple[str, ...]
    times: int


def doubled_keys(text: str | bytes) -> list[DoubledKey]:
    """Return the keys that are doubled in *text*, from the outside in.

    What a doubled key hides is not searched. JSON that cannot be read has none: it is for another
    to say what is wrong with it.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        # Numbers stay text, so that none is too long.
        read: object = json.loads(
            decoded, object_pairs_hook=_Object, parse_int=str, parse_float=str, strict=False
        )
        return list(_search(read, ()))
    except (ValueError, RecursionError):
        return []


class _Object:
    """An object with every pair that was written."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def _search(value: object, path: tuple[str, ...]) -> Iterator[DoubledKey]:
    if isinstance(value, list):
        for item in value:
            yield from _search(item, path)
    if not isinstance(value, _Object):
        return
    counts = Counter(key for key, _ in value.pairs)
    yield from (DoubledKey((*path, key), times) for key, times in counts.items() if times > 1)
    for key, item in dict(value.pairs).items():
        yield from _search(item, (*path, key))
