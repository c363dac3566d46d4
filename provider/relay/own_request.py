"""A client's own request: the address it goes to, and the headers that it keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_plus

from ..catalog.provider import Provider
from ..client.http_request import key_headers
from ..secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Lines = tuple[tuple[str, str], ...]
"""The headers of a request or a response, in order."""

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
"""The headers in which a client sends its key."""
KEY_PARAMETER = "key"
"""The part of a query in which a client of Gemini may send its key."""

_HOPS = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"}
    | {"upgrade", "proxy-authenticate", "proxy-authorization"}
)
"""Headers that are about one connection. Source: RFC 9110, section 7.6.1."""
_ASKED = frozenset(
    {"host", "content-length", "content-encoding", "accept-encoding", "expect", "cookie"}
    | {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}
)
"""Headers of a request that hold for the local address only."""
_ANSWERED = frozenset(
    {"content-length", "content-encoding", "set-cookie", "alt-svc", "strict-transport-security"}
    | {"x-sidestep-route"}
)
"""Headers of a response that hold for the provider's address only, or that only we send."""
_VERSION = re.compile(r"(?:/[^/]+)*?/v\d+(?:beta)?(?=/|$)")
"""The beginning of a path, up to the version of its API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRequest:
    """A client's own request to *provider*.

    Args:
        headers: Those that go out, without a key of ours.
        secret: The key that is added; without one, what the client sent stays.
        asks_stream: Its answer is streamed.
    """

    provider: Provider
    method: str
    url: str
    headers: Lines
    content: bytes
    secret: Secret
    asks_stream: bool = False

    @property
    def lines(self) -> Lines:
        """All headers that go out."""
        if self.secret.key is None:
            return self.headers
        added = key_headers(self.provider, self.secret.key)
        kept = [line for line in self.headers if line[0] not in added]
        return (*kept, *added.items())


def kept_headers(lines: Lines, *, without: Iterable[str] = ()) -> Lines:
    """Return the headers of a client's request that go to the provider.

    Args:
        without: What no header may hold; a header that does is left out.
    """
    dropped = _HOPS | _ASKED | _named_in_connection(lines)
    hidden = frozenset(without)
    return tuple(
        (name, value)
        for name, value in lines
        if name not in dropped and not any(each in value for each in hidden)
    )


def answered_headers(lines: Iterable[tuple[str, str]], secret: Secret) -> Lines:
    """Return the headers of a provider's response that go to the client, without our key."""
    found = tuple((name.lower(), value) for name, value in lines)
    dropped = _HOPS | _ANSWERED | _named_in_connection(found)
    hidden = secret.redact if secret.key else str
    return tuple(
        (name, hidden(value))
        for name, value in found
        if name not in dropped and value.isascii() and value.isprintable()
    )


def credential(value: str) -> str:
    """Return the key in the *value* of a header."""
    scheme, _, rest = value.strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else value.strip()


def credentials_in(headers: Mapping[str, str], query: str) -> list[str]:
    """Return every key that a request holds."""
    named = [credential(headers[name]) for name in KEY_HEADERS if headers.get(name, "").strip()]
    return named + [value for name, value in _parameters(query) if name == KEY_PARAMETER]


def query_without(query: str, hidden: Iterable[str]) -> str:
    """Return *query* as it is, but without the parts that hold one of *hidden*."""
    secrets = frozenset(hidden)
    return "&".join(
        part
        for part, pair in zip(query.split("&"), _parameters(query), strict=True)
        if not any(each in text for each in secrets for text in pair)
    )


def _parameters(query: str) -> list[tuple[str, str]]:
    pairs = (part.partition("=") for part in query.split("&"))
    return [(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs]


def _named_in_connection(lines: Iterable[tuple[str, str]]) -> frozenset[str]:
    values = [value for name, value in lines if name == "connection"]
    return frozenset(word.strip().lower() for value in values for word in value.split(","))


def address_of(provider: Provider, path: str, query: str = "") -> str:
    """Return the URL of *path*, the rest of a local path after the provider's name.

    The base URL of the provider may have another beginning than a client's, which knows only the
    version: ``/v1/models`` at ``https://api.groq.com/openai/v1`` is ``/openai/v1/models``.

    >>> groq = Provider("groq", "openai-chat", "https://api.groq.com/openai/v1", None)
    >>> address_of(groq, "/v1/models")
    'https://api.groq.com/openai/v1/models'
    """
    base = provider.base_url.rstrip("/")
    origin, inside = _split(base)
    if inside and (path == inside or path.startswith(f"{inside}/")):
        base = origin
    elif provider.wire != "anthropic" and (version := _VERSION.match(path)):
        path = path[version.end() :]
    return f"{base}{path}?{query}" if query else f"{base}{path}"


def model_path(model: str, method: str) -> str:
    """Return the end of a path of Gemini's wire."""
    return f"/models/{quote(model, safe='/')}:{method}"


def _split(base: str) -> tuple[str, str]:
    scheme, _, rest = base.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path
