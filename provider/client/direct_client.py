"""An httpx client that hands a request to its transport, and the response back, as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping


class _NoCookies(httpx.Cookies):
    """Keeps no cookie, and does not look for one, which takes seconds in thousands of headers."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Do nothing."""


class DirectClient(httpx.AsyncClient):
    """A client without deadlines, cookies and redirects, which needs little for a streamed answer.

    Several keys, and several clients of a local address, share one HTTP client, so that what one
    request gets is no other one's business. What httpx does for cookies, redirects and event hooks
    takes eleven objects of each request besides, and while a thousand requests wait, the garbage
    collector looks at each of them.

    Args:
        transport: Sends every request that none of *mounts* does.
        mounts: As httpx has them, for proxies.
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
        """No cookies."""
        return _NoCookies()

    @cookies.setter
    def cookies(self, _cookies: object) -> None:
        """Keep none."""

    def send(
        self, request: httpx.Request, *, stream: bool = False, **options: Any
    ) -> Coroutine[Any, Any, httpx.Response]:
        """Return the response to *request*, unread and without redirects if *stream* is True.

        httpx chooses the proxy, if there is one, and makes a header of a name in the URL.
        """
        if not stream or self._direct is None or request.url.userinfo:
            return super().send(request, stream=stream, **options)
        return self._direct.handle_async_request(request)
