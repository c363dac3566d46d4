"""Names of tools in the form that an API wants, and back again."""

from __future__ import annotations

import hashlib
import re
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..conversation import ToolCall
from ..delta import ToolCallEnded, ToolCallStarted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from ..conversation import Part
    from ..delta import Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class NameForm:
    """What names of tools look like.

    Args:
        start: Characters that one may begin with, as in a regular expression.
        inside: Characters that may stand in one.
        longest: How many characters it may have.
    """

    start: str
    inside: str
    longest: int


_WORD = r"a-zA-Z0-9_-"
ANTHROPIC_NAMES = NameForm(start=_WORD, inside=_WORD, longest=128)
OPENAI_NAMES = NameForm(start=_WORD, inside=_WORD, longest=64)
GEMINI_NAMES = NameForm(start="a-zA-Z_", inside=r"a-zA-Z0-9_.:-", longest=64)


class ToolNames:
    """What each tool of a conversation is called at one API.

    Args:
        declared: The names as the agent declares them; they go before names that were only
            called, and among them those go first that may stay as they are.
    """

    def __init__(self, form: NameForm, declared: Iterable[str] = ()) -> None:
        self._form = form
        self._whole = re.compile(f"[{form.start}][{form.inside}]{{0,{form.longest - 1}}}")
        self._given: dict[str, str] = {}
        self._own: dict[str, str] = {}
        names = list(declared)
        for name in [*filter(self._whole.fullmatch, names), *names]:
            self.give(name)

    def give(self, name: str) -> str:
        """Return what the tool *name* is called."""
        known = self._given.get(name)
        if known is None:
            known = name if self._is_free(name) else self._make(name)
            self._given[name] = known
            self._own[known] = name
        return known

    @property
    def renamed(self) -> Mapping[str, str]:
        """What is called otherwise: the name at the API to the agent's own."""
        return {given: own for given, own in self._own.items() if given != own}

    def _is_free(self, name: str) -> bool:
        return name not in self._own and self._whole.fullmatch(name) is not None

    def _make(self, name: str) -> str:
        """Put what cannot stand in a name as ``_``, and tell apart what becomes alike so."""
        plain = re.sub(f"[^{self._form.inside}]", "_", name)
        if not re.match(f"[{self._form.start}]", plain):
            plain = f"_{plain}"
        plain = plain[: self._form.longest]
        seed, made = name, plain
        while not self._is_free(made):
            mark = hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()[:8]
            made = f"{plain[: self._form.longest - 9]}_{mark}"
            seed += "\0"
        return made


def name_there(name: str, renamed: Mapping[str, str]) -> str:
    """Return what the agent's tool *name* is called, where the API's names are *renamed*."""
    return next((given for given, own in renamed.items() if own == name), name)


async def rename_deltas(
    deltas: AsyncGenerator[Delta, None], renamed: Mapping[str, str]
) -> AsyncGenerator[Delta, None]:
    """Pass on *deltas*, with the agent's names."""
    async with aclosing(deltas):
        async for delta in deltas:
            if isinstance(delta, ToolCallStarted | ToolCallEnded):
                delta.name = renamed.get(delta.name, delta.name)
            yield delta


def rename_parts(parts: list[Part], renamed: Mapping[str, str]) -> list[Part]:
    """Return *parts* with the agent's names."""
    if not renamed:
        return parts
    return [
        replace(part, name=renamed[part.name])
        if isinstance(part, ToolCall) and part.name in renamed
        else part
        for part in parts
    ]
