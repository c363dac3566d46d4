"""A key, and what may be said without it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHORTEST = 8
"""Characters of a key that count as a piece of it, where a message was cut inside; a shorter key,
made up for a stub, may stand in any word."""
_SHAPES = re.compile(
    r"(?:\b|(?<=\\[nrt]))"  # or after an end of line, as `repr` spells it
    r"(?:[sp]k[-_][\w-]{16,}|(?:gsk|csk|xai|pplx|hf|r8)[-_]\w{16,}|AIza[\w-]{20,})"
    r"|(?<=Bearer )[\w.~+/=-]{16,}"
    r"|((?i:[?&](?:api_key|key|access_token|token)=))[^\s&#'\"<>)\\]+"
)
"""What keys look like, and where a URL has them: some gateways repeat the one that they refuse."""
_WORDS = "KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?"
_NAMES = re.compile(rf"(?:^|_)(?:APIKEY|{_WORDS})_|(?:{_WORDS})$", re.IGNORECASE)
"""How variables are named that hold one: a word of the name says so, or its end."""
_MARKS = ("k-", "k_", "xai", "pplx", "hf-", "hf_", "r8", "AIza", "Bearer ", "=")
"""One of them stands in whatever has such a shape: most texts have none, and are not searched."""
_REST = re.compile(r"[\w-]*…?")
"""How a key may go on that begins as another does, and what stands where it was cut."""
_LINKS = 16
"""Causes of an exception that are followed."""


class Secret:
    """The key of a provider, kept out of every word that is printed.

    Args:
        key: None where there is none.
    """

    __slots__ = ("key",)

    def __init__(self, key: str | None) -> None:
        self.key = key

    def __repr__(self) -> str:
        return "Secret(…)"

    @property
    def is_sendable(self) -> bool:
        """It is there, and can stand in a header."""
        return self.key is not None and self.key.isascii() and self.key.isprintable()

    def hidden_in(self, text: str) -> str:
        """Return *text* with ``[key]`` wherever the key, or the beginning that was kept, stood.

        So it does wherever something stood that looks like a key.
        """
        key = self.key or ""
        text = text.replace(key, "[key]") if key else text
        return masked(_without_beginning(text, key))

    def quotable(self, error: BaseException | None) -> BaseException | None:
        """Return *error* where it, and what caused it, may be printed; None where they may not."""
        link, key = error, self.key or "\0"
        for _ in range(_LINKS):
            if link is None:
                return error
            if key in str(link) or key in repr(link):
                return None
            link = link.__cause__ or link.__context__
        return None


def _without_beginning(text: str, key: str) -> str:
    """Return *text* with ``[key]`` wherever *key* begins; a message may have been cut inside it.

    What goes on otherwise is another key, and is hidden as well, for its rest has no look. A key
    that begins as a word, as one made up for a stub does, is hidden only as a whole.
    """
    head = key[:_SHORTEST]
    is_word = head.isalpha() and head.islower()
    if len(head) < _SHORTEST or is_word or head not in text:
        return text
    kept: list[str] = []
    end = 0
    while (start := text.find(head, end)) >= 0:
        kept += (text[end:start], "[key]")
        sizes = range(len(key), _SHORTEST - 1, -1)
        end = start + next(size for size in sizes if text.startswith(key[:size], start))
        rest = _REST.match(text, end)
        end = end if rest is None else rest.end()
    return "".join(kept) + text[end:]


def masked(text: str) -> str:
    """Return *text* with ``[key]`` in place of whatever looks like a key."""
    if not any(mark in text for mark in _MARKS):
        return text
    return _SHAPES.sub(r"\1[key]", text)


def without_keys(text: str, keys: Iterable[str]) -> str:
    """Return *text* with ``[key]`` in place of each of *keys*, and of what looks like a key."""
    for key in keys:
        if len(key) >= _SHORTEST:
            text = Secret(key).hidden_in(text)
    return masked(text)


def names_a_secret(variable: str) -> bool:
    """Say whether a variable of that name is taken to hold a secret, as ``OPENAI_API_KEY_2``."""
    return _NAMES.search(variable) is not None
