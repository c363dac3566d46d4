"""The judge's own reading of the names of models, however a provider spells them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import NamedTuple, Self

_FAMILIES = ("instant", "haiku", "sonnet", "opus", "fable", "mythos")


class ClaudeName(NamedTuple):
    """The name of a Claude without date, region and spelling, as ``("opus", "4.8")``.

    Args:
        family: Empty for none, as in ``claude-2.1``.
        version: Empty for none, as in ``claude-opus-latest``.
    """

    family: str
    version: str

    @classmethod
    def of(cls, model: str) -> Self:
        """Return the name that *model* spells.

        >>> ClaudeName.of("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
        ClaudeName(family='sonnet', version='4.5')
        """
        rest = model.lower().rpartition("claude")[2].removeprefix("-v")
        words = [word for word in re.split(r"[^a-z0-9]+", rest) if word]
        family = next((word for word in words if word in _FAMILIES), "")
        others = (word for word in words if word != family)
        return cls(family, _version(others))


def _version(words: Iterable[str]) -> str:
    """Return the short numbers that *words* begin with, as ``4.8``; dates are no numbers."""
    numbers = list(itertools.takewhile(lambda word: word.isdigit() and len(word) <= 2, words))
    return ".".join(numbers[:1] if numbers[1:] == ["0"] else numbers)


def plain_name(model: str) -> str:
    """Return *model* in lower case, without gateways before it and variants after it.

    >>> plain_name("openrouter/OpenAI/gpt-5:online"), plain_name("ft:o4-mini-2025-04-16:acme::id")
    ('gpt-5', 'o4-mini-2025-04-16')
    """
    name = model.lower().rpartition("/")[2].removeprefix("ft:")
    return name.partition(":")[0]


def starts_with(name: str, prefixes: Iterable[str]) -> bool:
    """True if *name* is one of *prefixes*, or continues it with a hyphen, a dot or an ``@``."""
    ends = ("", "-", ".", "@")
    return any(name.startswith(each) and name[len(each) :][:1] in ends for each in prefixes)
