"""Names of tools in the form that an API requires, and the agent's own names in its answers."""

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
    """The form of the names of tools.

    Args:
        start: Characters that a name can begin with, as in a regular expression.
        inside: Characters that a name can contain.
        longest: The length of the longest name.
    """

    start: str
    inside: str
    longest: int


_WORD = r"a-zA-Z0-9_-"
ANTHROPIC_NAMES = NameForm(start=_WORD, inside=_WORD, longest=128)
OPENAI_NAMES = NameForm(start=_WORD, inside=_WORD, longest=64)
GEMINI_NAMES = NameForm(start="a-zA-Z_", inside=r"a-zA-Z0-9_.:-", longest=64)


class ToolNames:
    """The names of the tools of one conversation at one API.

    Args:
        declared: The names that the agent declares. They take precedence over names that were only
            called; of them, names that need no change come first.
    """

    def __init__(self, form: NameForm, declared: Iterable[str] = ()) -> None:
        self._form = form
        self._whole = re.compile(f"[{form.start}][{form.inside}]{{0,{form.longest - 1}}}")
        self._names: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        names = list(declared)
        for name in [*filter(self._whole.fullmatch, names), *names]:
            self.name_of(name)

    def name_of(self, name: str) -> str:
        """Return the API's name of the tool *name*."""
        api_name = self._names.get(name)
        if api_name is None:
            api_name = name if self._is_free(name) else self._make(name)
            self._names[name] = api_name
            self._owners[api_name] = name
        return api_name

    @property
    def renamed(self) -> Mapping[str, str]:
        """The names that differ: the API's name to the agent's own."""
        return {api_name: own for api_name, own in self._owners.items() if api_name != own}

    def _is_free(self, name: str) -> bool:
        return name not in self._owners and self._whole.fullmatch(name) is not None

    def _make(self, name: str) -> str:
        """Return *name* with ``_`` for what is not allowed, made unique by a hash if needed."""
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


def api_name_of(name: str, renamed: Mapping[str, str]) -> str:
    """Return the API's name of the tool *name*, if the names in *renamed* differ."""
    return next((api_name for api_name, own in renamed.items() if own == name), name)


async def rename_deltas(
    deltas: AsyncGenerator[Delta, None], original_names: Mapping[str, str]
) -> AsyncGenerator[Delta, None]:
    """Yield *deltas* with the agent's names of tools.

    Args:
        original_names: The API's name to the agent's own.
    """
    async with aclosing(deltas):
        async for delta in deltas:
            if isinstance(delta, ToolCallStarted | ToolCallEnded):
                delta.name = original_names.get(delta.name, delta.name)
            yield delta


def rename_parts(parts: list[Part], original_names: Mapping[str, str]) -> list[Part]:
    """Return *parts* with the agent's names of tools."""
    if not original_names:
        return parts
    return [
        replace(part, name=original_names[part.name])
        if isinstance(part, ToolCall) and part.name in original_names
        else part
        for part in parts
    ]
