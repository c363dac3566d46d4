"""Which models of DeepSeek think unless they are told not to."""

from __future__ import annotations

import re

from ...catalog.model import plain_name

# Source: api-docs.deepseek.com/guides/thinking_mode, read on 2026-11-29.
_SILENT = re.compile(r"deepseek-(?:chat|coder|v2|v3)(?![.\d])")


def thinks(model: str) -> bool:
    """Say whether *model* thinks when a request says nothing of it; the newer ones do."""
    return _SILENT.match(plain_name(model)) is None
