"""Find duplicate keys in JSON objects; a parser keeps only the last value of such a key."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class DuplicateKey(NamedTuple):
    """A key that occurs more than once in one object.

    Args:
        path: The keys of the objects around it, and the key itself; places in lists are left out.
        times: How often the key occurs in the object.
    """

    path: tuple[str, ...]
    times: int


def duplicate_keys(text: str | bytes) -> list[DuplicateKey]:
    """Return the duplicate keys in *text*, outer objects first.

    Values that a duplicate key hides are not searched. If *text* is not JSON, the list is empty,
    because the parser of the settings reports that.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        # Numbers stay text, because Python refuses very long ones.
        value: object = json.loads(
            decoded, object_pairs_hook=_Object, parse_int=str, parse_float=str, strict=False
        )
        return list(_search(value, ()))
    except (ValueError, RecursionError):
        return []


class _Object:
    """A JSON object with all its pairs, duplicates included."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def _search(value: object, path: tuple[str, ...]) -> Iterator[DuplicateKey]:
    if isinstance(value, list):
        for item in value:
            yield from _search(item, path)
    if not isinstance(value, _Object):
        return
    counts = Counter(key for key, _ in value.pairs)
    yield from (DuplicateKey((*path, key), times) for key, times in counts.items() if times > 1)
    for key, item in dict(value.pairs).items():
        yield from _search(item, (*path, key))
