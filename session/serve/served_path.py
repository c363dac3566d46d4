"""A path of the local address: the provider and the call that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from ...provider.server.call_path import CallPath

if TYPE_CHECKING:
    from ...provider.catalog.provider import Provider
    from ...provider.wire_name import Wire

_BARE = re.compile(
    r"(?:/v1)?/messages(?:/count_tokens)?|(?:/v1)?/chat/completions"
    r"|(?:/v1)?/responses(?:/input_tokens)?|/v1(?:beta|alpha)?/models/[^/].*:(?:generateContent|streamGenerateContent|countTokens)"
)
"""Paths without a provider."""
_GEMINI = re.compile(r"/v1(?:beta|alpha)/")
"""What only Gemini's paths have; google-genai also asks below ``/v1``."""
_UNSAFE = re.compile(r"(?:^|/)\.{1,2}(?:/|$)|[\x00-\x20\x7f\\]|^//")
"""What no path of an API has once it is unquoted, and what could lead to another place."""


@dataclass(frozen=True, slots=True)
class ServedPath:
    """A path at which something is served, taken apart.

    Args:
        provider: The provider that the path names; None: it names none.
        rest: The path after the provider's name.
        call: The model call at the path; None: the request is passed on as it is.
    """

    provider: str | None
    rest: str
    call: CallPath | None

    @classmethod
    def at(cls, path: str, providers: Mapping[str, Provider]) -> Self | None:
        """Return *path*, taken apart; None: nothing is served there."""
        first, _, rest = path[1:].partition("/")
        name = unquote(first)
        if name in providers:
            return cls(name, f"/{rest}", CallPath.at(path))
        if _BARE.fullmatch(path) is None:
            return None
        full = path if path.startswith("/v1") else f"/v1{path}"
        return cls(None, full, CallPath.at(f"/-{full}"))

    @property
    def is_unsafe(self) -> bool:
        """True if the path could lead to another place than it says."""
        return _UNSAFE.search(unquote(self.rest)) is not None


def wire_of(path: str, headers: Mapping[str, str], served: ServedPath | None) -> Wire:
    """Return the wire in which a client reads an error, or a list of models."""
    if served is not None and served.call is not None:
        return served.call.wire
    if "anthropic-version" in headers:
        return "anthropic"
    is_gemini = "x-goog-api-key" in headers or _GEMINI.search(path) is not None
    return "gemini" if is_gemini else "openai-chat"
