"""Ids of tool calls in the form that an API wants, the same for the same conversation."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdForm:
    """What the ids of tool calls look like.

    Args:
        pattern: What a whole id must match.
        prefix: What a made one begins with.
        length: How long a made one is.
    """

    pattern: re.Pattern[str]
    prefix: str
    length: int


ANTHROPIC_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), prefix="toolu_", length=30)
CHAT_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,40}"), prefix="call_", length=29)
LONG_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), prefix="call_", length=29)
KIMI_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), prefix="call_", length=29)
"""As ``functions.read_file:0``, which a Kimi calls by and wants to see again."""
MISTRAL_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9]{9}"), prefix="", length=9)


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
