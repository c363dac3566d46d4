"""Ids of tool calls in the form that an API requires; the same conversation gets the same ids."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdForm:
    """The form of the ids of tool calls.

    Args:
        pattern: Every id must match it as a whole.
        prefix: The start of an id that we make.
        length: The length of an id that we make.
        keeps_own: An id that the route itself issued stays as it came, whatever its form. Not for
            routes with ids that always have the form.
    """

    pattern: re.Pattern[str]
    prefix: str
    length: int
    keeps_own: bool = False


ANTHROPIC_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"), prefix="toolu_", length=30)
CHAT_IDS = IdForm(pattern=re.compile(r"[a-zA-Z0-9_-]{1,40}"), prefix="call_", length=29)
FACADE_IDS = replace(ANTHROPIC_IDS, keeps_own=True)
OTHER_IDS = replace(CHAT_IDS, keeps_own=True)
LONG_IDS = replace(CHAT_IDS, pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"))
GATEWAY_IDS = replace(LONG_IDS, keeps_own=True)
KIMI_IDS = replace(OTHER_IDS, pattern=re.compile(r"[a-zA-Z0-9_.:-]{1,64}"))
"""A Kimi makes ids such as ``functions.read_file:0``, and is silent if it gets others back.

Source: github.com/MoonshotAI/kimi-code/pull/2503 and github.com/vybestack/llxprt-code/issues/713.
"""
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

    def next_id(self, id_: str, *, is_own: bool = False) -> str:
        """Return the id of the next call, which has the id *id_* in the conversation.

        Args:
            is_own: The route that gets the ids issued this one.
        """
        # Some agents join the two ids of an item; the first is the one that a result refers to.
        for candidate in (id_, id_.partition("|")[0]):
            if candidate not in self._taken and self._is_accepted(candidate, is_own=is_own):
                self._taken.add(candidate)
                return candidate
        while True:
            count = self._seen[id_] = self._seen.get(id_, 0) + 1
            made = self._make(f"{count}\0{id_}")
            if made not in self._taken:
                self._taken.add(made)
                return made

    def _is_accepted(self, id_: str, *, is_own: bool) -> bool:
        if is_own and self._form.keeps_own and id_ and "|" not in id_:
            return True
        return self._form.pattern.fullmatch(id_) is not None

    def _make(self, seed: str) -> str:
        number = int.from_bytes(hashlib.sha256(seed.encode(errors="surrogatepass")).digest(), "big")
        letters = []
        for _ in range(self._form.length - len(self._form.prefix)):
            number, letter = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[letter])
        return self._form.prefix + "".join(letters)
