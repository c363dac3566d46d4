"""Which variables of an environment are the numbered ones, and which only look like them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .config_warning import ConfigWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FIELDS = ("BASE_URL", "API_KEY", "FAST", "BALANCED", "DEEP")

_OF_THE_PRIMARY = {f"MODEL_{name}": name for name in FIELDS}
_OF_A_FALLBACK = re.compile(rf"MODEL_FALLBACK_([1-9][0-9]{{0,8}})_({'|'.join(FIELDS)})")
_MISNUMBERED = re.compile(rf"MODEL_FALLBACK_([0-9]+)_({'|'.join(FIELDS)})")
_MEANT_FOR_A_FALLBACK = re.compile(r"MODEL_?FALLBACK_?(?:([0-9]+)_?)?(.*)", re.DOTALL)

_OTHER_WORDS = {"URL": "BASE_URL", "API_BASE": "BASE_URL", "KEY": "API_KEY"}
"""What other programs call the same; too far from our words to be found by their likeness."""


@dataclass(frozen=True, slots=True)
class Written:
    """One entry, as its variables spell it.

    Args:
        number: Which fallback it is, from 1; 0 is the primary.
        name: What its provider is called.
        prefix: What its variables begin with.
        values: What they hold, without white space around it; one that is blank is there.
    """

    number: int
    name: str
    prefix: str
    values: Mapping[str, str] = field(repr=False)  # one of them is a key

    def variable(self, name: str) -> str:
        """Return the variable that holds *name*, one of `FIELDS`."""
        return f"{self.prefix}{name}"

    def value(self, name: str) -> str:
        """Return what that variable holds; nothing where it is not set."""
        return self.values.get(name, "")


def written_entries(environ: Mapping[str, str]) -> dict[int, Written]:
    """Return the entries by their numbers, and in that order.

    An entry of which everything is blank is not there: that is how a template leaves it out.
    """
    found: dict[int, dict[str, str]] = {}
    for variable, value in environ.items():
        place = _place(variable)
        if place is not None:
            number, name = place
            found.setdefault(number, {})[name] = value.strip()
    return {
        number: _written(number, found[number])
        for number in sorted(found)
        if any(found[number].values())
    }


def misnumbered(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    """Warn of each number that is none of ours: 0, one with leading zeros, one that is absurd."""
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
    """Warn where *numbers*, in order, leave some out; what comes after a gap still counts."""
    before = 0
    for number in numbers:
        if number > before + 1:
            first, last = f"MODEL_FALLBACK_{before + 1}_*", f"MODEL_FALLBACK_{number - 1}_*"
            missing = f"{first} is" if first == last else f"{first} to {last} are"
            message = f"{missing} not set, but MODEL_FALLBACK_{number}_* is"
            yield ConfigWarning("C030", message, "set what is missing, or close the gap")
        before = number


def look_alikes(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    """Warn of variables that are not read, but whose names say that they should be."""
    for variable in sorted(environ):
        if _place(variable) or _MISNUMBERED.fullmatch(variable) or not environ[variable].strip():
            continue
        meant = _meant(variable.upper())
        if meant is not None:
            yield ConfigWarning("C038", f"{variable!r} is not read", f"name it {meant}")


def _written(number: int, values: Mapping[str, str]) -> Written:
    if number == 0:
        return Written(number, "primary", "MODEL_", values)
    return Written(number, f"fallback-{number}", f"MODEL_FALLBACK_{number}_", values)


def _place(variable: str) -> tuple[int, str] | None:
    """Return the number and the field that *variable* stands for; None: it is none of ours."""
    if variable in _OF_THE_PRIMARY:
        return 0, _OF_THE_PRIMARY[variable]
    match = _OF_A_FALLBACK.fullmatch(variable)
    return None if match is None else (int(match[1]), match[2])


def _meant(variable: str) -> str | None:
    """Return what *variable*, in capitals, should be called; None: it is somebody else's."""
    match = _MEANT_FOR_A_FALLBACK.fullmatch(variable)
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
