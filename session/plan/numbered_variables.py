"""The numbered variables in an environment, and the variables that only look like them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .config_warning import ConfigWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FIELDS = ("BASE_URL", "API_KEY", "FAST", "BALANCED", "DEEP")

_PRIMARY = {f"MODEL_{name}": name for name in FIELDS}
_FALLBACK = re.compile(rf"MODEL_FALLBACK_([1-9][0-9]{{0,8}})_({'|'.join(FIELDS)})")
_MISNUMBERED = re.compile(rf"MODEL_FALLBACK_([0-9]+)_({'|'.join(FIELDS)})")
_LIKE_A_FALLBACK = re.compile(r"MODEL_?FALLBACK_?(?:([0-9]+)_?)?(.*)", re.DOTALL)

_OTHER_WORDS = {"URL": "BASE_URL", "API_BASE": "BASE_URL", "KEY": "API_KEY"}
"""Names in other programs that are too unlike ours for `difflib` to match."""


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    """The primary or one fallback, as its variables describe it.

    Args:
        number: Number of the fallback, from 1; 0 is the primary.
        name: The name of its provider.
        prefix: The prefix of its variables.
        values: Their values by field, stripped of white space; a blank value is included.
    """

    number: int
    name: str
    prefix: str
    values: Mapping[str, str] = field(repr=False)  # one of them is a key

    def variable(self, name: str) -> str:
        """Return the variable that holds *name*, one of `FIELDS`."""
        return f"{self.prefix}{name}"

    def value(self, name: str) -> str:
        """Return the value of that variable; empty if it is not set."""
        return self.values.get(name, "")


def numbered_entries(environ: Mapping[str, str]) -> dict[int, NumberedEntry]:
    """Return the entries by number, in ascending order.

    An entry with only blank values is left out, because templates leave an entry blank like that.
    """
    values: dict[int, dict[str, str]] = {}
    for variable, value in environ.items():
        place = _place(variable)
        if place is not None:
            number, name = place
            values.setdefault(number, {})[name] = value.strip()
    return {
        number: _entry(number, values[number])
        for number in sorted(values)
        if any(values[number].values())
    }


def misnumbered(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    """Return a warning for each number that is 0, has leading zeros, or is too large."""
    numbers: dict[str, str] = {}
    for variable in sorted(environ):
        match = _MISNUMBERED.fullmatch(variable)
        if match is not None and _place(variable) is None and environ[variable].strip():
            numbers.setdefault(match[1], variable)
    for number, variable in numbers.items():
        what = "too large" if number[0] != "0" else "0" if number == "0" else "written with zeros"
        message = f"the number in {variable} is {what}, and the entry is left out"
        yield ConfigWarning("C035", message, "number fallbacks 1, 2, 3 without leading zeros")


def gaps(numbers: Iterable[int]) -> Iterator[ConfigWarning]:
    """Return a warning for each gap in *numbers*, which are in order; all entries still count."""
    before = 0
    for number in numbers:
        if number > before + 1:
            first, last = f"MODEL_FALLBACK_{before + 1}_*", f"MODEL_FALLBACK_{number - 1}_*"
            missing = f"{first} is" if first == last else f"{first} to {last} are"
            message = f"{missing} not set, but MODEL_FALLBACK_{number}_* is"
            yield ConfigWarning("C030", message, "set it, or renumber the fallbacks without a gap")
        before = number


def look_alikes(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    """Return a warning for each variable that is not read although its name is like ours."""
    for variable in sorted(environ):
        if _place(variable) or _MISNUMBERED.fullmatch(variable) or not environ[variable].strip():
            continue
        meant = _meant(variable.upper())
        if meant is not None:
            yield ConfigWarning("C038", f"{variable!r} is not read", f"name it {meant}")


def _entry(number: int, values: Mapping[str, str]) -> NumberedEntry:
    if number == 0:
        return NumberedEntry(number, "primary", "MODEL_", values)
    return NumberedEntry(number, f"fallback-{number}", f"MODEL_FALLBACK_{number}_", values)


def _place(variable: str) -> tuple[int, str] | None:
    """Return the number and the field of *variable*; None: it is not a numbered variable."""
    if variable in _PRIMARY:
        return 0, _PRIMARY[variable]
    match = _FALLBACK.fullmatch(variable)
    return None if match is None else (int(match[1]), match[2])


def _meant(variable: str) -> str | None:
    """Return the name that *variable*, in capitals, should have; None: it is not meant for us."""
    match = _LIKE_A_FALLBACK.fullmatch(variable)
    if match is None:
        name = _close(variable.removeprefix("MODEL_")) if variable.startswith("MODEL_") else None
        return name and f"MODEL_{name}"
    number, name = (match[1] or "").lstrip("0") or "1", _close(match[2])
    if name is None:
        return f"MODEL_FALLBACK_{number}_{FIELDS[0]}, _{', _'.join(FIELDS[1:-1])} or _{FIELDS[-1]}"
    return f"MODEL_FALLBACK_{number}_{name}"


def _close(word: str) -> str | None:
    close = difflib.get_close_matches(word, FIELDS, n=1, cutoff=0.75)
    return close[0] if close else _OTHER_WORDS.get(word)
