"""Send a client's own request, with nothing added that its client did not send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from ..client.http_request import only_connect_limited

if TYPE_CHECKING:
    from .own_request import OwnRequest


async def send(http: httpx.AsyncClient, request: OwnRequest) -> httpx.Response:
    """Return the response to *request*; its body is not read yet, and no redirect is followed.

    A header goes out in the bytes in which it came, which need not be ASCII. `http.build_request`
    would add headers of its own, and takes seconds for thousands of headers.
    """
    lines = [*request.lines, ("accept-encoding", "identity")]
    sent = httpx.Request(
        request.method,
        request.url,
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in lines],
        content=request.content,
        extensions=only_connect_limited(request.provider),
    )
    return await http.send(sent, stream=True, follow_redirects=False)
