"""Keys, and texts from which they are redacted."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SHORTEST = 8
"""Characters of a key that identify it in a message that was cut inside the key. A shorter key,
such as one made up for a stub, could be part of any word."""
_SHAPES = re.compile(
    r"(?:\b|(?<=\\[nrt]))"  # or after an end of line, as `repr` spells it
    r"(?:[sp]k[-_][\w-]{16,}|(?:gsk|csk|xai|pplx|hf|r8)[-_]\w{16,}|AIza[\w-]{20,})"
    r"|(?<=Bearer )[\w.~+/=-]{16,}"
    r"|((?i:[?&](?:api_key|key|access_token|token)=))[^\s&#'\"<>)\\]+"
)
"""The shapes of keys, and their places in a URL: some gateways repeat the key that they refuse."""
_WORDS = "KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?"
_NAMES = re.compile(rf"(?:^|_)(?:APIKEY|{_WORDS})_|(?:{_WORDS})$", re.IGNORECASE)
"""The names of variables that hold a secret: one word, or the end, says so."""
_MARKS = ("k-", "k_", "xai", "pplx", "hf-", "hf_", "r8", "AIza", "Bearer ", "=")
"""Every shape has one of these marks. Most texts have none, and are not searched."""
_UNESCAPED = re.compile(r"[A-Za-z0-9_.~-]*")
_PIECE = re.compile(r"[!#-&(-\[\]-~]+")
"""What `repr`, JSON and a line break leave of a key as it is."""
_REST = re.compile(r"[\w-]*…?")
"""The rest of a key that begins like ours, up to the mark where it was cut."""
_LINKS = 16
"""Causes of an exception that are followed."""


class Secret:
    """The key of a provider, which is never printed.

    Args:
        key: None: there is no key.
        variable: The environment variable that the key is read from; None: there is none.
        others: Further keys of the provider, which are redacted as well.
    """

    __slots__ = ("_others", "key", "variable")

    def __init__(
        self, key: str | None, *, variable: str | None = None, others: tuple[str, ...] = ()
    ) -> None:
        self.key = key
        self.variable = variable
        self._others = others

    def __repr__(self) -> str:
        return "Secret(…)"

    @property
    def is_sendable(self) -> bool:
        """True if there is a key, and it is valid in a header."""
        return self.key is not None and self.key.isascii() and self.key.isprintable()

    def redact(self, text: str) -> str:
        """Return *text* with ``[key]`` in place of each key, its start, and similar shapes."""
        keys = self._keys()
        for key in keys:
            text = _without(text, key)
        for key in keys:
            text = _without_beginning(text, key)
        return redact_shapes(text)

    def redact_body(self, body: bytes) -> bytes:
        """Return *body* redacted as text; the same bytes if there is no key."""
        if self.key is None:
            return body
        return self.redact(body.decode("utf-8", "replace")).encode()

    def printable_error(self, error: BaseException | None) -> BaseException | None:
        """Return *error* if it and its causes can be printed; None: one of them has a key."""
        link, keys = error, self._keys()
        for _ in range(_LINKS):
            if link is None:
                return error
            said = (str(link), repr(link))
            if any(_without(text, key) != text for key in keys for text in said):
                return None
            link = link.__cause__ or link.__context__
        return None

    def _keys(self) -> list[str]:
        """Return every spelling of every key.

        The longest comes first, because a key may begin with another one.
        """
        keys = filter(None, (self.key, *self._others))
        return sorted({each for key in keys for each in _spellings(key)}, key=len, reverse=True)


def _spellings(key: str) -> Iterator[str]:
    """Yield *key*, its spellings in a URL, and the pieces that no spelling escapes.

    A key with a line break, a quote or a letter beyond ASCII is escaped by the library that refuses
    to send it. A piece that could be part of any text is not yielded.
    """
    yield key
    if _UNESCAPED.fullmatch(key):
        return  # nearly every key
    yield quote(key)
    yield quote(key, safe="")
    for piece in _PIECE.findall(key):
        if len(piece) >= _SHORTEST and not _is_word(piece):
            yield piece


def _is_word(text: str) -> bool:
    return text.isalpha() and text.islower()


def _without(text: str, key: str) -> str:
    """Return *text* with ``[key]`` in place of *key*, of a short one only where it is no part.

    >>> _without("the key k is unknown", "k")
    'the key [key] is unknown'
    """
    if len(key) >= _SHORTEST or key not in text:
        return text.replace(key, "[key]")
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", "[key]", text)


def _without_beginning(text: str, key: str) -> str:
    """Return *text* with ``[key]`` wherever *key* begins, because a message may be cut inside it.

    A different key with the same start is redacted too, because its rest has no shape of its own.
    A key that begins like a word, such as one made up for a stub, is redacted only as a whole.
    """
    head = key[:_SHORTEST]
    if len(head) < _SHORTEST or _is_word(head) or head not in text:
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


def redact_shapes(text: str) -> str:
    """Return *text* with ``[key]`` in place of everything that looks like a key."""
    if not any(mark in text for mark in _MARKS):
        return text
    return _SHAPES.sub(r"\1[key]", text)


def redact_keys(text: str, keys: Iterable[str]) -> str:
    """Return *text* with ``[key]`` in place of *keys* and of everything that looks like a key."""
    return key_redactor(keys)(text)


def key_redactor(keys: Iterable[str]) -> Callable[[str], str]:
    """Return `redact_keys` for several texts with the same *keys*, which are read once."""
    whole = [key for each in keys if len(key := each.strip()) >= _SHORTEST]
    return Secret(None, others=tuple(whole)).redact


@lru_cache(maxsize=4_096)
def is_secret_name(variable: str) -> bool:
    """True if a variable of that name holds a secret, such as ``OPENAI_API_KEY_2``."""
    return _NAMES.search(variable) is not None
