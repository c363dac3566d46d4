"""Redirects, which are never followed: the key and the conversation would go to another address."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit, urlunsplit

from ..failure import Failure, FailureKind, Stage
from .retry_after import retry_after

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATUSES = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}
_LONGEST = 200  # characters of an address that are shown


def redirect_failure(
    status: int, headers: Mapping[str, str], *, now: float | None
) -> Failure | None:
    """Return the failure for a redirect; None: *status* is none.

    Nothing of use answers at the address that was asked, so that the step moves at once, and a
    retry would be redirected again.
    """
    if status not in _STATUSES:
        return None
    location = _shown(headers.get("location", ""))
    where = f"to {location}" if location else "without saying where"
    return Failure(
        kind=FailureKind.NETWORK,
        status=status,
        code="redirect",
        message=(
            f"answered {status} with a redirect {where}, which is not followed, because the key "
            "and the conversation would go there: if that is the provider, set `baseUrl` to it"
        ),
        retry_after=retry_after(headers, now=now),
        stage=Stage.RESPONSE,
        should_retry=False,
        because=f"status {status}",
    )


def leaves_host(url: str, location: str) -> bool:
    """True if a redirect from *url* to *location* leaves the host, its port or its encryption.

    >>> leaves_host("http://a.example/v1", "https://a.example/v2")
    False
    >>> leaves_host("https://a.example/v1", "//b.example/v1")
    True
    """
    try:
        old, new = urlsplit(url), urlsplit(urljoin(url, location))
        ports = (old.port or _PORTS.get(old.scheme), new.port or _PORTS.get(new.scheme))
    except ValueError:
        return True
    if old.hostname != new.hostname:
        return True
    is_upgrade = (old.scheme, new.scheme, *ports) == ("http", "https", 80, 443)
    return not is_upgrade and (old.scheme, ports[0]) != (new.scheme, ports[1])


def unreadable_redirect(message: str) -> Failure | None:
    """Return the failure if *message* reports a redirect to no address; None: it does not.

    httpx reads the address although the redirect is not followed.
    """
    if not message.startswith("Invalid URL in location header"):
        return None
    return Failure(
        kind=FailureKind.NETWORK,
        code="redirect",
        message="answered with a redirect to something that is no address",
        stage=Stage.RESPONSE,
        should_retry=False,
        because="the address of a redirect",
    )


def _shown(location: str) -> str:
    """Return *location* without what could be a secret: a user, a query, a fragment."""
    try:
        parts = urlsplit(" ".join(location.split()))
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))[:_LONGEST]
    except ValueError:
        return ""
