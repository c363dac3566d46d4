"""Read the answers of one route from a scenario's file, in order or for each key."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..error import ConfigError
from .answer import Answer, RefusedConnection, StatusAnswer
from .answer_form import read_answer
from .typed_table import Table, wrong

MAX_TIMES = 10_000

UNAUTHORIZED: tuple[Answer, ...] = (StatusAnswer(status=401),)
"""What a route that answers by key says to every other key, unless the file says otherwise."""

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\*")

KeyedAnswers = dict[str, tuple[Answer, ...]]
"""The answers of a route to each key, by the variable of the key."""


def read_answers(value: object, where: str) -> tuple[Answer, ...]:
    """Return the answers of one route; a single answer may stand without a list.

    Raises:
        ConfigError: A field is wrong; the message begins with *where*.
    """
    if isinstance(value, Mapping):
        return _repeated(value, where)
    if not isinstance(value, list | tuple) or not value:
        raise wrong(where, value, "an answer or a list of answers, at least one")
    return tuple(
        answer
        for number, item in enumerate(value)
        for answer in _repeated(item, f"{where}[{number}]")
    )


def read_keyed(value: object, where: str) -> KeyedAnswers:
    """Return the answers of one route by key, of which ``*`` is every other one.

    Raises:
        ConfigError: A field is wrong; the message begins with *where*.
    """
    keys = Table(value, where, ("keys",)).table("keys")
    place = f"{where}.keys"
    answers = {key: read_answers(each, f"{place}[{key!r}]") for key, each in keys.items()}
    if not answers:
        raise ConfigError(f'{place} is empty: write {{"VARIABLE": [{{"text": "..."}}]}}')
    for key, each in answers.items():
        if not _KEY.fullmatch(key):
            raise ConfigError(
                f"{place}[{key!r}] is no variable: name the variable that holds the key, or '*'"
            )
        if any(isinstance(answer, RefusedConnection) for answer in each):
            raise ConfigError(
                f"{place}[{key!r}] refuses the connection, but a port does so before it sees a key"
            )
    return answers


def _repeated(value: object, where: str) -> tuple[Answer, ...]:
    answer = read_answer(value, where)
    times = Table(value, where).whole("times", 1, least=1, most=MAX_TIMES)
    return (answer,) * times
