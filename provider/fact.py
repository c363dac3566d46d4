"""FactTable: what providers write in an error, and which kind of failure it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from .failure import FailureKind, Scope

PREFIX = 1_000
"""Characters of a message that a pattern is matched against."""

_ASIDE = re.compile(r" \([^()\d\n][^()\n]{0,100}\)(?= )")
"""Words in parentheses in the middle of a sentence; a number there is a part of the sentence."""

ANY = "*"
"""Matches any word, but not a missing word."""


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
    """The words of one error, and the kind of failure that they mean.

    Args:
        exact: For each name, words; the error must have one of them. The names are the names in a
            `Report`, and ``status``.
        patterns: For each name, a pattern that one of the error's words must begin with.
        text: Pattern that the message must begin with, in any case; None: the message does not
            matter. If it has the groups ``limit`` and ``asked``, the number in the second must be
            larger.
        lacks_capacity: It means that the provider has no capacity for this model, or that the model
            cannot take such a step at all.
        is_own: It comes from the configuration.
        scope: What the failure concerns; None: the words do not say.
    """

    kind: FailureKind
    exact: Mapping[str, frozenset[str]]
    patterns: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    lacks_capacity: bool = False
    is_own: bool = False
    scope: Scope | None = None

    def matches(self, report: ErrorWords) -> bool:
        """True if *report* has the words of this fact."""
        for name, wanted in self.exact.items():
            words = report.words.get(name, ())
            if wanted.isdisjoint(words) and not (words and ANY in wanted):
                return False
        for name, pattern in self.patterns.items():
            if not any(re.match(pattern, word[:PREFIX]) for word in report.words.get(name, ())):
                return False
        return self.text is None or any(
            _begins(self.text, message) for message in _spellings(report.message)
        )

    def explain(self, report: ErrorWords) -> str:
        """Return in words what in *report* matched."""
        matched = []
        for name in (*self.exact, *self.patterns):
            words = report.words.get(name, ())
            word = next((word for word in words if word in self.exact.get(name, words)), words[0])
            matched.append(f"status {word}" if name == "status" else f"{name} {word!r}")
        if self.text is not None:
            matched.append("the wording of the message")
        source = "`failures` of the configuration: " if self.is_own else ""
        return source + ", ".join(matched)


def _spellings(message: str) -> tuple[str, ...]:
    """Return *message*, and the same without names in parentheses, as "you (NAME) have"."""
    plain = _ASIDE.sub("", message[:PREFIX])
    return (message,) if plain == message[:PREFIX] else (message, plain)


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
    lacks_capacity: bool = False,
    scope: Scope | None = None,
    **words_by_name: str,
) -> Fact:
    """Return a fact; *words_by_name* has for each name its words, separated by spaces."""
    words = {name: frozenset(value.split()) for name, value in words_by_name.items()}
    return Fact(kind, words, seen or {}, text, lacks_capacity, scope=scope)


def facts(
    kind: FailureKind, *texts: str, scope: Scope | None = None, **words_by_name: str
) -> tuple[Fact, ...]:
    """Return one fact for each of *texts*."""
    words = {name: frozenset(value.split()) for name, value in words_by_name.items()}
    return tuple(Fact(kind, words, text=text, scope=scope) for text in texts)


def stands_for(statuses: Mapping[int, str]) -> Mapping[str, int]:
    """Return the status of each word, from the words of each status."""
    return {word: status for status, words in statuses.items() for word in words.split()}


@dataclass(frozen=True, slots=True)
class FactTable:
    """The table of facts for one wire or provider; its sections are read in this order.

    Args:
        by_status: Meanings of a status that differ from the usual ones.
        scopes: What a failure with a status concerns, if the status has its usual meaning.
        statuses: The status that a type or code stands for, for errors without a status (those in
            a stream).
        stops: The stop reasons that mean failure.
        waits: Patterns that find a wait in a message: the group ``wait`` is a duration, ``at`` an
            instant in the time of ``utc_offset``.
        utc_offset: Hours by which the clock of ``at`` is ahead of UTC.
        daily: A pattern for the ``quota_id`` of a daily quota, and the time zone in which the
            quota resets at midnight; None: unknown.
        coded: Patterns that find a ``code`` in a message, if it is nowhere else.
        is_of_unknown: It holds for servers that nobody knows, so that an overflow is recognised by
            what its sentence says.
    """

    money: tuple[Fact, ...] = ()
    overflow: tuple[Fact, ...] = ()
    history: tuple[Fact, ...] = ()
    filter: tuple[Fact, ...] = ()
    other: tuple[Fact, ...] = ()
    by_status: Mapping[int, FailureKind] = field(default_factory=dict)
    scopes: Mapping[int, Scope] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    stops: Mapping[str, FailureKind] = field(default_factory=dict)
    waits: tuple[str, ...] = ()
    utc_offset: int = 0
    daily: tuple[str, str] | None = None
    coded: tuple[str, ...] = ()
    is_of_unknown: bool = False

    def without_keys(self) -> FactTable:
        """Return the table for those who pass on the errors of others.

        The words that mean a whole key may be about the key of somebody else there.
        """
        return replace(
            self,
            money=_without_keys(self.money),
            overflow=_without_keys(self.overflow),
            history=_without_keys(self.history),
            filter=_without_keys(self.filter),
            other=_without_keys(self.other),
            scopes={},
        )


def _without_keys(section: tuple[Fact, ...]) -> tuple[Fact, ...]:
    return tuple(replace(each, scope=None) if each.scope is Scope.KEY else each for each in section)
