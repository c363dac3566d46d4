"""The key of a request: where it stands, and what the strict stub says without one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from .strict.complaint import Complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..wire_name import Wire

_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")
"""Headers with a key as it is. A header ``authorization`` has a word before the key."""

_ANTHROPIC = Complaint(
    status=401, type="authentication_error", message="x-api-key header is required"
)
"""Source: n8n-io/n8n#37930 and karthink/gptel#354, read on 2026-11-30."""

_GEMINI = Complaint(
    status=403,
    type="PERMISSION_DENIED",
    message="Method doesn't allow unregistered callers (callers without established identity). "
    "Please use API Key or other form of API consumer identity to call this API.",
)
"""Source: PublicAffairs/openai-gemini#92, read on 2026-11-30."""

_OPENROUTER = Complaint(status=401, message="No auth credentials found")
_BEARER = Complaint(  # the beginning of OpenAI's message
    status=401,
    message="You didn't provide an API key. You need to provide your API key in an Authorization "
    "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
)


def keys_in(headers: Mapping[str, str], query: str) -> Iterator[str]:
    """Yield each key in a request, wherever an API may look for it."""
    for name in _HEADERS:
        if key := headers.get(name, "").strip():
            yield key
    if key := _bearer(headers):
        yield key
    yield from parse_qs(query).get("key", ())


def key_complaint(
    headers: Mapping[str, str], query: str, *, vendor: str, wire: Wire
) -> Complaint | None:
    """Return the refusal of a request without a key in the place of its API; None: it has one."""
    bearer = _bearer(headers)
    if wire == "gemini":
        is_sent = "x-goog-api-key" in headers or "key" in parse_qs(query)
        return None if is_sent else _GEMINI
    if vendor == "openrouter":
        return None if bearer else _OPENROUTER
    if wire == "anthropic":
        takes_bearer = vendor != "anthropic" and bearer
        return None if takes_bearer or headers.get("x-api-key") else _ANTHROPIC
    return None if bearer else _BEARER


def _bearer(headers: Mapping[str, str]) -> str:
    scheme, _, key = headers.get("authorization", "").strip().partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""
