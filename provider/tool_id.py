"""Ids of tool calls in the form that an API wants, the same for the same conversation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .target import IdForm

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class ToolIds:
    """Give each call of a conversation its own id, in order.

    An id that has the form already stays as it is. Any other follows from the id and from how
    often it came before, so that a longer conversation gives its earlier calls the same ids.
    """

    def __init__(self, form: IdForm) -> None:
        self._form = form
        self._taken: set[str] = set()
        self._seen: dict[str, int] = {}

    def give(self, id_: str) -> str:
        """Return what the next call is to be called, whose id is *id_* in the conversation."""
        # What agents join of an item's two ids begins with the one that a result names.
        for known in (id_, id_.partition("|")[0]):
            if known not in self._taken and self._form.pattern.fullmatch(known):
                self._taken.add(known)
                return known
        while True:
            count = self._seen[id_] = self._seen.get(id_, 0) + 1
            made = self._make(f"{count}\0{id_}")
            if made not in self._taken:
                self._taken.add(made)
                return made

    def _make(self, seed: str) -> str:
        number = int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest(), "big")
        letters = []
        for _ in range(self._form.length - len(self._form.prefix)):
            number, letter = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[letter])
        return self._form.prefix + "".join(letters)
