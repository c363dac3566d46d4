"""Read values of a scenario's file with their types checked."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..error import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class Table:
    """One object of a scenario, with reads that check types and name the place of an error.

    Args:
        where: The object's place, for messages; empty for the whole file.
        keys: The keys that it may have. None: any.
    """

    def __init__(self, obj: object, where: str, keys: Collection[str] | None = None) -> None:
        if not isinstance(obj, Mapping):
            raise wrong(where or "a scenario", obj, "an object")
        self._obj = obj
        self._where = where
        for key in obj:
            if not isinstance(key, str) or (keys is not None and key not in keys):
                raise ConfigError(_unknown_key(key, where, keys or ()))

    def __contains__(self, key: str) -> bool:
        return key in self._obj

    def at(self, key: str) -> str:
        """Return the dotted path of *key*, such as ``a.b``, for error messages."""
        return f"{self._where}.{key}" if self._where else key

    def get(self, key: str) -> object:
        return self._obj.get(key)

    def items(self) -> list[tuple[str, object]]:
        return list(self._obj.items())

    def text(self, key: str, default: str = "") -> str:
        value = self._obj.get(key, default)
        if not isinstance(value, str):
            raise wrong(self.at(key), value, "a string")
        return value

    def seconds(self, key: str) -> float:
        value = self._obj.get(key, 0.0)
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not 0 <= value < math.inf
        ):
            raise wrong(self.at(key), value, "seconds, 0 or more")
        return float(value)

    def whole(self, key: str, default: int, *, least: int = 0, most: int | None = None) -> int:
        value = self._obj.get(key, default)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or value < least or (most is not None and value > most):
            reach = f"{least} or more" if most is None else f"from {least} to {most}"
            raise wrong(self.at(key), value, f"a whole number, {reach}")
        return int(value)

    def flag(self, key: str) -> bool:
        value = self._obj.get(key, False)
        if not isinstance(value, bool):
            raise wrong(self.at(key), value, "true, or be left out")
        return value

    def table(self, key: str, keys: Collection[str] | None = None) -> Table:
        return Table(self._obj.get(key, {}), self.at(key), keys)


def wrong(where: str, value: object, want: str) -> ConfigError:
    """Return the error for a *value* that is not what it should be."""
    return ConfigError(f"{where} must be {want}, got {reprlib.repr(value)}")


def near(word: str, words: Iterable[str]) -> str:
    """Return a hint at the *words* that *word* resembles; empty: it resembles none."""
    close = difflib.get_close_matches(word, list(words), n=3)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def _unknown_key(key: object, where: str, keys: Collection[str]) -> str:
    place = where or "the scenario"
    if not isinstance(key, str):
        return f"{place} has the key {key!r}: keys are strings"
    hint = near(key, keys)
    return f"{place} has an unknown key {key!r}{hint}: allowed here are {', '.join(keys)}"
