"""Ids of tool calls in the form that an API requires; the same conversation gets the same ids."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdForm:
    """The form of the ids of tool calls.

    Args:
        pattern: Every id must match it as a whole.
        prefix: The start of an id that we make.
        length: The length of an id that we make.
    """

    pattern: re.Pattern[str]
    prefix: str
    length: int


ANTHROPIC_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), prefix="toolu_", length=30)
CHAT_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,40}"), prefix="call_", length=29)
LONG_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), prefix="call_", length=29)
KIMI_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), prefix="call_", length=29)
"""A Kimi makes ids such as ``functions.read_file:0``, and requires the same id in the result."""
MISTRAL_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9]{9}"), prefix="", length=9)


class ToolIds:
    """The ids of the calls of one conversation, in order; no two are the same.

    An id that has the form stays. Any other id is made from the old id and the number of times
    that it came before, so that earlier calls keep their ids in a longer conversation.
    """

    def __init__(self, form: IdForm) -> None:
        self._form = form
        self._taken: set[str] = set()
        self._seen: dict[str, int] = {}

    def next_id(self, id_: str) -> str:
        """Return the id of the next call; its id in the conversation is *id_*."""
        # Some agents join the two ids of an item; the first is the one that a result refers to.
        for candidate in (id_, id_.partition("|")[0]):
            if candidate not in self._taken and self._form.pattern.fullmatch(candidate):
                self._taken.add(candidate)
                return candidate
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
