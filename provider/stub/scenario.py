"""A scenario: what the stub answers, route by route."""

from __future__ import annotations

import json
import reprlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ..env_value import decoded, read_file
from ..error import ConfigError
from ..route import Route
from .answer import ModelAnswer, RefusedConnection
from .answer_list import UNAUTHORIZED, read_answers, read_keyed
from .typed_table import Table, wrong

if TYPE_CHECKING:
    import os

    from .answer import Answer
    from .answer_list import KeyedAnswers

MAX_TOKENS = 1_000_000_000

ANY = "*"
"""Every route, every model of a provider, or every key, that is not named itself."""

_KEYS = ("title", "answers", "counts")


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the stub answers.

    Args:
        answers: For each route its answers, in the order in which they are played. The last one
            is repeated for ever. Empty: every route answers with a short text. ``provider/*`` is
            every other route of a provider, `ANY` every other route. Where `keyed` has answers,
            these here are for every other key, and for requests without a key.
        title: What the outage is about.
        counts: How many tokens a route counts in any request. None: it does not count. A route
            that is missing here counts a token for every four bytes.
        keyed: For each route in *answers* that answers by key: the answers to each key, by its
            variable.
    """

    answers: Mapping[str, tuple[Answer, ...]] = field(default_factory=dict)
    title: str = ""
    counts: Mapping[Route, int | None] = field(default_factory=dict)
    keyed: Mapping[str, KeyedAnswers] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the scenario in the file at *path*: JSON or, with the suffix ``.toml``, TOML.

        The file may hold a whole drill. Only its ``answers``, ``counts`` and ``title`` are read.

        Raises:
            ConfigError: The file cannot be read, or does not hold a scenario.
        """
        obj = _read_file(Path(path))
        if "answers" in obj:
            obj = {key: obj[key] for key in _KEYS if key in obj}
        try:
            return cls.parse(obj)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

    @classmethod
    def parse(cls, obj: Mapping[str, object]) -> Self:
        """Return the scenario that *obj* describes.

        Raises:
            ConfigError: A field is wrong; the message says where and what to write.
        """
        table = Table(obj, "", _KEYS)
        if "answers" not in obj:
            raise ConfigError(
                '`answers` is missing: write {"answers": {"provider/model": [{"text": "..."}]}}'
            )
        by_route = Table(obj["answers"], "answers")
        keyed = {
            _routes(key): read_keyed(value, f"answers[{key!r}]")
            for key, value in by_route.items()
            if isinstance(value, Mapping) and "keys" in value
        }
        answers = {
            _routes(key): keyed[key].pop(ANY, UNAUTHORIZED)
            if key in keyed
            else read_answers(value, f"answers[{key!r}]")
            for key, value in by_route.items()
        }
        _check_refusals(answers)
        counts = Table(obj.get("counts", {}), "counts")
        return cls(
            answers,
            table.text("title"),
            {_route(key, "counts"): _tokens(counts, key) for key, _ in counts.items()},
            keyed,
        )

    def answer(self, route: Route, number: int, key: str | None = None) -> Answer | None:
        """Return the answer to request *number* on *route*, from 1; None: the route is unknown.

        Args:
            key: The variable of the request's key, if the route has answers of its own for it;
                *number* counts the requests with it.
        """
        if not self.answers:
            return ModelAnswer(text=f"Hello from the stub of sidestep, in place of {route}.")
        name = self._name(route)
        if name is None:
            return None
        found = self.answers[name] if key is None else self.keyed[name][key]
        return found[min(number, len(found)) - 1]

    def has_answers_for(self, route: Route, key: str | None) -> bool:
        """True if *route* has answers of its own for the key in the variable *key*."""
        name = self._name(route)
        return name is not None and key in self.keyed.get(name, {})

    def _name(self, route: Route) -> str | None:
        """Return the name in `answers` that stands for *route*; None: no name does."""
        names = (route, f"{route.provider}/{ANY}", ANY)
        return next((name for name in names if name in self.answers), None)

    def key_variables(self, provider: str) -> tuple[str, ...]:
        """Return the variables of the keys that the routes of *provider* tell apart, in order."""
        keyed = (
            keys
            for name, keys in self.keyed.items()
            if name == ANY or Route(name).provider == provider
        )
        return tuple(dict.fromkeys(variable for keys in keyed for variable in keys))

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers of all routes, without duplicates; none for `ANY`."""
        named = (Route(name) for name in self.answers if name != ANY)
        return tuple(dict.fromkeys(route.provider for route in named))

    @property
    def refused(self) -> frozenset[str]:
        """The providers that refuse connections."""
        return frozenset(
            Route(name).provider
            for name, answers in self.answers.items()
            if isinstance(answers[0], RefusedConnection)
        )


def _read_file(path: Path) -> Mapping[str, object]:
    is_toml = path.suffix == ".toml"
    try:
        text = decoded(read_file(path))
        obj: object = tomllib.loads(text) if is_toml else json.loads(text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except ValueError as error:
        kind, other = ("TOML", "JSON") if is_toml else ("JSON", "TOML")
        how = f"write {kind}, or name the file *.{other.lower()} if it holds {other}"
        raise ConfigError(f"{path}: not {kind} ({error}): {how}") from error
    if not isinstance(obj, Mapping):
        raise ConfigError(f"{path} must hold an object, got {reprlib.repr(obj)}")
    return obj


def _route(key: str, where: str) -> Route:
    try:
        return Route(key)
    except ValueError as error:
        raise ConfigError(f"{where}[{key!r}]: {error}") from error


def _routes(key: str) -> str:
    """Return *key* if it is `ANY` or names a route or all routes of a provider."""
    return ANY if key == ANY else _route(key, "answers")


def _tokens(counts: Table, key: str) -> int | None:
    if counts.get(key) is False:
        return None
    if isinstance(counts.get(key), int):
        return counts.whole(key, 0, most=MAX_TOKENS)
    raise wrong(f"counts[{key!r}]", counts.get(key), "a number of tokens, or false")


def _check_refusals(answers: Mapping[str, tuple[Answer, ...]]) -> None:
    """Raise ConfigError if a provider both refuses connections and answers, or if all refuse."""
    refused: dict[str, str] = {}
    answering: dict[str, str] = {}
    for name, played in answers.items():
        for answer in played:
            is_refused = isinstance(answer, RefusedConnection)
            if name == ANY and is_refused:
                raise ConfigError(f"answers[{ANY!r}] refuses the connection: name the provider")
            if name != ANY:
                kind = refused if is_refused else answering
                kind.setdefault(Route(name).provider, name)
    for provider, route in refused.items():
        if provider in answering:
            raise ConfigError(
                f"answers[{route!r}] refuses the connection, but answers"
                f"[{answering[provider]!r}] plays an answer: a port refuses all of "
                f"{provider!r} or none of it, so let nothing else answer there"
            )
