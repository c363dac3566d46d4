"""Who may use the local address, and with which keys."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...provider.failure import Failure, FailureKind
from ...provider.relay.own_request import credentials_in
from ...provider.server.connection import HttpRequest
from ..plan.keyed_route import ClientKey
from .pages import needs_no_token

HTTP_PORT = 80
"""The port that clients leave out of `host`."""
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_SALT = 16
"""Bytes; nobody can find out a key from its hash, because no other process has them."""
_OWN_SITES = frozenset({"same-origin", "none"})
"""What a browser says of a request of our own page, or of an address that a person typed."""


def new_token() -> str:
    """Return a token that nobody can guess."""
    return f"sidestep-{secrets.token_urlsafe(24)}"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request.

    Args:
        may_use_our_keys: Our keys may be sent for it.
        hidden: The credentials of the request that are never sent on, because they are our token.
        key: A hash of its own keys for the provider that it asks for; None: it has none.
    """

    may_use_our_keys: bool
    hidden: tuple[str, ...] = ()
    key: ClientKey | None = None

    @property
    def has_key(self) -> bool:
        """True if it has a key of its own for the provider that it asks for."""
        return self.key is not None


class Access:
    """Decides who may use the address.

    Args:
        token: What a client sends in place of a key; None: clients send their own keys.
        may_use_our_keys: Without a token, our keys may be used for whoever asks.
        is_token_needed: Returns whether a request without the token is refused.
    """

    def __init__(
        self,
        token: str | None,
        *,
        may_use_our_keys: bool,
        is_token_needed: Callable[[], bool],
    ) -> None:
        self._token = token
        self._may_use_our_keys = may_use_our_keys
        self._is_token_needed = is_token_needed
        self._hosts: frozenset[str] = frozenset()
        self._salt = secrets.token_bytes(_SALT)

    def listen_at(self, port: int) -> None:
        """Take requests whose ``host`` is this machine at *port*."""
        named = frozenset(f"{host}:{port}" for host in _HOSTS)
        self._hosts = named | frozenset(_HOSTS) if port == HTTP_PORT else named

    def why_refused(self, head: HttpRequest) -> Failure | None:
        """Return why a request with *head* is refused; None: it is served.

        A browser sends `Host` and `Origin` by itself, and no page can change them. So a page that
        some site serves, also under a name that leads to this machine, cannot use the address.
        """
        headers = head.headers
        if headers.get("host", "").lower() not in self._hosts:
            return _refused(
                403,
                "the header `host` names another address: use the address that sidestep printed",
            )
        if "origin" in headers or headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            return _refused(403, "pages in a browser cannot use this address")
        if not head.target.startswith("/") or head.target.startswith("//"):
            return _refused(400, "this address is no proxy: send a path, not a whole URL")
        if self._lacks_token(head) and not needs_no_token(head):
            return _refused(
                401,
                "the token is missing: send the token of `sidestep serve` in place of the key",
                FailureKind.AUTH,
            )
        return None

    def caller(self, request: HttpRequest) -> Caller:
        """Return who sent *request*, which is not refused."""
        tokens = self._tokens_in(request)
        keys = [key for key in _credentials(request) if key and not _holds(key, tokens)]
        may = bool(tokens) if self._token is not None else self._may_use_our_keys
        return Caller(may, tuple(tokens), self._hashed(keys) if keys else None)

    def _hashed(self, keys: Iterable[str]) -> ClientKey:
        """Return what tells one client's *keys* from another's, in this process only."""
        text = "\n".join(sorted(set(keys)))
        hashed = hmac.digest(self._salt, text.encode("utf-8", "replace"), "sha256")
        return ClientKey(hashed.hex())

    def _lacks_token(self, head: HttpRequest) -> bool:
        return self._token is not None and self._is_token_needed() and not self._tokens_in(head)

    def _tokens_in(self, request: HttpRequest) -> list[str]:
        token = self._token
        if token is None:
            return []
        return [key for key in _credentials(request) if _are_equal(key, token)]


def _credentials(request: HttpRequest) -> Iterable[str]:
    return credentials_in(request.headers, request.target.partition("?")[2])


def _holds(key: str, tokens: Iterable[str]) -> bool:
    """True if *key* is made of the token, as where a client sends a header twice."""
    return any(token in key for token in tokens)


def _are_equal(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))


def _refused(status: int, message: str, kind: FailureKind = FailureKind.BAD_REQUEST) -> Failure:
    return Failure(kind=kind, message=message, status=status, should_retry=False)
