"""An httpx client that passes a streamed request directly to its transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping


class _NoCookies(httpx.Cookies):
    """Keeps no cookie, and looks for none, because that takes seconds in thousands of headers."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Do nothing."""


class DirectClient(httpx.AsyncClient):
    """A client without deadlines, and without cookies, redirects and event hooks for a stream.

    No cookie is kept, because several keys, and several clients of a local address, share this HTTP
    client. A stream passes by what httpx does for cookies, redirects and event hooks, because that
    takes eleven objects for each request. While a thousand requests wait, the garbage collector
    looks at all of these.

    Args:
        transport: Sends each request that has no transport in *mounts*.
        mounts: The transports of proxies, in the form of httpx.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport,
        mounts: Mapping[str, httpx.AsyncBaseTransport | None],
    ) -> None:
        super().__init__(transport=transport, mounts=mounts, timeout=None, trust_env=False)
        self._direct = None if mounts else transport

    @property
    def cookies(self) -> httpx.Cookies:
        """Always empty."""
        return _NoCookies()

    @cookies.setter
    def cookies(self, _cookies: object) -> None:
        """Keep none."""

    def send(
        self, request: httpx.Request, *, stream: bool = False, **options: Any
    ) -> Coroutine[Any, Any, httpx.Response]:
        """Return the response to *request*, unread and without redirects if *stream* is True.

        If there are proxies, or if the URL has a user name, httpx sends the request itself, because
        it chooses the proxy, and makes a header of the name.
        """
        if not stream or self._direct is None or request.url.userinfo:
            return super().send(request, stream=stream, **options)
        return self._direct.handle_async_request(request)
