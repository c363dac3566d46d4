"""How a fact is written: what a provider says when something went wrong, and what it means."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from .failure import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = 1_000
"""Characters of a message that a pattern sees."""


ANY = "*"
"""Stands for whatever an error says under a name, as long as it says something."""


class ErrorWords(Protocol):
    """The words of an error as a `Fact` reads them; a `Report` has them."""

    @property
    def message(self) -> str:
        """The error's message."""

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        """Its types, codes and the like, by name."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a provider says, and what it means.

    Args:
        exact: What an error must hold: any of the words, for each of the names. The names are
            those of a `Report`, and ``status``.
        patterns: Patterns that something it holds must begin with, for each of the names.
        text: Pattern that its message must begin with, in any case; None reads no text. Where it
            has the groups ``limit`` and ``asked``, the second must be the larger number.
        is_capacity: It means that the provider has no room for this model.
        is_own: It comes from the configuration.
    """

    kind: FailureKind
    exact: Mapping[str, frozenset[str]]
    patterns: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    is_capacity: bool = False
    is_own: bool = False

    def matches(self, report: ErrorWords) -> bool:
        """Say whether an error that holds *report* says this."""
        for name, words in self.exact.items():
            said = report.words.get(name, ())
            if words.isdisjoint(said) and not (said and ANY in words):
                return False
        for name, pattern in self.patterns.items():
            if not any(re.match(pattern, said[:PREFIX]) for said in report.words.get(name, ())):
                return False
        return self.text is None or _begins(self.text, report.message)

    def explain(self, report: ErrorWords) -> str:
        """Say in words what of *report* it was that decided."""
        said = []
        for name in (*self.exact, *self.patterns):
            words = report.words.get(name, ())
            word = next((word for word in words if word in self.exact.get(name, words)), words[0])
            said.append(f"status {word}" if name == "status" else f"{name} {word!r}")
        if self.text is not None:
            said.append("the wording of the message")
        whose = "`failures` of the configuration: " if self.is_own else ""
        return whose + ", ".join(said)


def _begins(pattern: str, message: str) -> bool:
    found = re.match(pattern, message[:PREFIX], re.IGNORECASE)
    if found is None:
        return False
    numbers = found.groupdict()
    return not numbers or int(numbers["asked"]) > int(numbers["limit"])


def fact(
    kind: FailureKind,
    *,
    text: str | None = None,
    seen: Mapping[str, str] | None = None,
    is_capacity: bool = False,
    **given: str,
) -> Fact:
    """Write a fact: *given* are words, parted by spaces, for each name."""
    words = {name: frozenset(value.split()) for name, value in given.items()}
    return Fact(kind, words, seen or {}, text, is_capacity)


def facts(kind: FailureKind, *texts: str, **given: str) -> tuple[Fact, ...]:
    """Write one fact for each of several wordings."""
    words = {name: frozenset(value.split()) for name, value in given.items()}
    return tuple(Fact(kind, words, text=text) for text in texts)


def stands_for(statuses: Mapping[int, str]) -> Mapping[str, int]:
    """Turn the words for each status around, to the status of each word."""
    return {word: status for status, words in statuses.items() for word in words.split()}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one wire or provider, in the order in which it is read.

    Args:
        by_status: What a status means here, where it differs from what it means elsewhere.
        statuses: The status that a type or code stands for where an error has none: in a stream.
        stops: The words for why the model stopped that mean failure.
        waits: Patterns that find, in a message, how long to wait: as ``wait``, or until when as
            ``at``, in UTC unless ``utc_offset`` says otherwise.
        utc_offset: Hours that the clock of ``at`` is ahead of UTC.
        daily: What the ``quota_id`` of a quota for a day matches, and the time zone at whose
            midnight it starts afresh; None: nobody says.
        coded: Patterns that find a ``code`` in a message, where it stands nowhere else.
    """

    money: tuple[Fact, ...] = ()
    overflow: tuple[Fact, ...] = ()
    history: tuple[Fact, ...] = ()
    filter: tuple[Fact, ...] = ()
    other: tuple[Fact, ...] = ()
    by_status: Mapping[int, FailureKind] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    stops: Mapping[str, FailureKind] = field(default_factory=dict)
    waits: tuple[str, ...] = ()
    utc_offset: int = 0
    daily: tuple[str, str] | None = None
    coded: tuple[str, ...] = ()
