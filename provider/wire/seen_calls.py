"""The tool calls of one answer, to recognise a call that a server sends twice."""

from __future__ import annotations

from typing import Any


class SeenCalls:
    """Remembers the calls of one answer, because some servers send each call again.

    Calls are stored by id and name, so that each is compared with few others.
    """

    def __init__(self) -> None:
        self._inputs: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def is_repeat(self, id_: str, name: str, arguments: dict[str, Any]) -> bool:
        """True if this call came before; otherwise it is remembered from now on."""
        seen = self._inputs.setdefault((id_, name), [])
        if arguments in seen:
            return True
        seen.append(arguments)
        return False
