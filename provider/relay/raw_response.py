"""Send a client's own request, with nothing added that its client did not send."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

    from .own_request import OwnRequest

_DEFAULTS = ("user-agent", "accept", "connection")
"""The headers that httpx adds by itself, beside those that HTTP needs."""


async def send(http: httpx.AsyncClient, request: OwnRequest) -> httpx.Response:
    """Return the response to *request*; its body is not read yet, and no redirect is followed."""
    lines = [*request.lines, ("accept-encoding", "identity")]
    sent = http.build_request(
        request.method,
        request.url,
        headers=lines,
        content=request.content,
        extensions={
            "timeout": {
                "connect": request.provider.timeouts.connect,
                "read": None,
                "write": None,
                "pool": None,
            }
        },
    )
    named = {name for name, _ in lines}
    for name in _DEFAULTS:
        if name not in named and name in sent.headers:
            del sent.headers[name]
    return await http.send(sent, stream=True, follow_redirects=False)
