"""The calls of one answer that were told."""

from __future__ import annotations

from typing import Any


class SeenCalls:
    """Tell a call that comes twice from another one; some servers send each again.

    They are kept by id and name, so that each is compared with few.
    """

    def __init__(self) -> None:
        self._inputs: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def is_repeat(self, id_: str, name: str, arguments: dict[str, Any]) -> bool:
        """Say whether this call was told before; if not, it is from now on."""
        told = self._inputs.setdefault((id_, name), [])
        if arguments in told:
            return True
        told.append(arguments)
        return False
