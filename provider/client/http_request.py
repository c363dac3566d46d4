"""The request of one attempt, as httpx sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalog.vendor import vendor_of
from ..wire.registry import encoder_of

if TYPE_CHECKING:
    import httpx

    from ..catalog.provider import Provider
    from ..secret import Secret
    from .rendering import RenderedRequest

_BEARERS = frozenset({"openrouter"})
"""Vendors with a facade of Anthropic's wire that takes a key only as a bearer token.

Source: openrouter.ai/docs/guides/coding-agents/claude-code-integration, read on 2026-11-29.
"""

_UNLIMITED = {"connect": None, "read": None, "write": None, "pool": None}


def _headers(provider: Provider, key: str | None) -> dict[str, str]:
    """Return the headers of the wire, with the key in the header that *provider* reads."""
    headers = encoder_of(provider.wire).headers(key)
    if key is not None and provider.wire == "anthropic" and vendor_of(provider) in _BEARERS:
        del headers["x-api-key"]
        headers["authorization"] = f"Bearer {key}"
    return headers


def key_headers(provider: Provider, key: str) -> dict[str, str]:
    """Return only the headers that carry *key* to *provider*."""
    others = _headers(provider, None)
    return {name: value for name, value in _headers(provider, key).items() if name not in others}


def build_request(
    http: httpx.AsyncClient, rendering: RenderedRequest, *, secret: Secret
) -> httpx.Request:
    """Return the HTTP request for *rendering*, with what *http* adds to every request.

    The transport limits only the time to connect; the `Reply` has the other deadlines.
    """
    provider = rendering.provider
    return http.build_request(
        "POST",
        provider.base_url.rstrip("/") + rendering.path,
        content=rendering.content,
        headers={
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **_headers(provider, secret.key),
        },
        extensions=only_connect_limited(provider),
    )


def only_connect_limited(provider: Provider) -> dict[str, dict[str, float | None]]:
    """Return the extensions of a request that limit only its time to connect to *provider*.

    httpx turns its `timeout` argument into this, at a quarter of the cost of the request.
    """
    return {"timeout": {**_UNLIMITED, "connect": provider.timeouts.connect}}
