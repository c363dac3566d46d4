"""Names of tools in the form that an API wants, and back again."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .target import NameForm


class ToolNames:
    """What each tool of a conversation is called at one API.

    Args:
        declared: The names as the agent declares them; they go before names that were only
            called.
    """

    def __init__(self, form: NameForm, declared: Iterable[str] = ()) -> None:
        self._form = form
        self._whole = re.compile(f"[{form.start}][{form.inside}]{{0,{form.longest - 1}}}")
        self._given: dict[str, str] = {}
        self._own: dict[str, str] = {}
        for name in declared:
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
        if self._is_free(plain):
            return plain
        mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
        return f"{plain[: self._form.longest - 9]}_{mark}"


def name_there(name: str, renamed: Mapping[str, str]) -> str:
    """Return what the agent's tool *name* is called, where the API's names are *renamed*."""
    return next((given for given, own in renamed.items() if own == name), name)
