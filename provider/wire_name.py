"""The names of the wires."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Wire: TypeAlias = Literal["anthropic", "openai-chat", "openai-responses", "gemini"]


WIRES: tuple[Wire, ...] = get_args(Wire)
