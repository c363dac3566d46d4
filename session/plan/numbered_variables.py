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

_NUMBER = "(?:[2-9]|[1-9][0-9]{1,8})"
"""The number of a further key; the first one has none."""
_FIELD = f"({'|'.join(FIELDS)}|API_KEY_{_NUMBER})"
_PRIMARY = re.compile(f"MODEL_{_FIELD}")
_FALLBACK = re.compile(f"MODEL_FALLBACK_([1-9][0-9]{{0,8}})_{_FIELD}")
_MISNUMBERED = re.compile(f"MODEL_FALLBACK_([0-9]+)_{_FIELD}")
_LIKE_A_KEY = re.compile(r"(?:API_?)?KEY_?0*([1-9][0-9]{0,8})")
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
        values: Their values by field, stripped of white space; a blank value is included. A further
            key has a field of its own: ``API_KEY_2``.
    """

    number: int
    name: str
    prefix: str
    values: Mapping[str, str] = field(repr=False)  # one of them is a key

    def variable(self, name: str) -> str:
        """Return the variable that holds *name*: one of `FIELDS`, or of `keys`."""
        return f"{self.prefix}{name}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its keys, by number: ``API_KEY``, and each further one that is set."""
        further = (name for name in self.values if name not in FIELDS and self.values[name])
        return ("API_KEY", *sorted(further, key=_key_number))

    @property
    def dependencies(self) -> set[str]:
        """The names of all variables that it may have, up to the next key."""
        return {*FIELDS, *self.values, f"API_KEY_{_key_number(self.keys[-1]) + 1}"}

    @property
    def secrets(self) -> set[str]:
        """The values of its keys; an empty one if the first is not set."""
        return {self.value(name) for name in self.keys}

    @property
    def missing_key(self) -> str | None:
        """The name of the first key that is not set before another one; None: there is no gap."""
        numbers = [_key_number(name) for name in self.keys]
        wanted = next((n for n, number in enumerate(numbers, start=1) if n != number), None)
        return None if wanted is None else f"API_KEY_{wanted}"

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
    match = _PRIMARY.fullmatch(variable)
    if match is not None:
        return 0, match[1]
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


def _key_number(name: str) -> int:
    """Return the number of a key by its *name*; the first, ``API_KEY``, has number 1."""
    return int(name.removeprefix("API_KEY").strip("_") or "1")


def _close(word: str) -> str | None:
    key = _LIKE_A_KEY.fullmatch(word)
    if key is not None:
        return "API_KEY" if key[1] == "1" else f"API_KEY_{key[1]}"
    close = difflib.get_close_matches(word, FIELDS, n=1, cutoff=0.75)
    return close[0] if close else _OTHER_WORDS.get(word)
