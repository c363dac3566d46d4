"""The request of one attempt, as httpx sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalog.vendor import vendor_of
from ..failure import Failure, FailureKind, Stage
from ..wire.registry import encoder_of

if TYPE_CHECKING:
    import httpx

    from ..catalog.provider import Provider
    from ..secret import Secret
    from .rendering import Rendering

_BEARERS = frozenset({"openrouter"})
"""Whose facade of Anthropic's wire takes a key as a bearer's only.

Source: openrouter.ai/docs/guides/coding-agents/claude-code-integration, read on 2026-11-29.
"""

_UNLIMITED = {"connect": None, "read": None, "write": None, "pool": None}


def missing_key(provider: Provider, secret: Secret) -> Failure | None:
    """Say that the key which *provider* wants is not there, or cannot stand in a header."""
    variable = provider.api_key_env
    if variable is None or secret.is_sendable:
        return None
    problem = "is not set" if secret.key is None else "holds characters that no key has"
    message = f"{variable} {problem}: set it to a key of {provider.name}"
    return Failure(kind=FailureKind.AUTH, message=message, status=401, stage=Stage.CONNECT)


def _named(provider: Provider, key: str | None) -> dict[str, str]:
    """Return the headers of the wire, with the key where *provider* looks for it."""
    headers = encoder_of(provider.wire).headers(key)
    if key is not None and provider.wire == "anthropic" and vendor_of(provider) in _BEARERS:
        del headers["x-api-key"]
        headers["authorization"] = f"Bearer {key}"
    return headers


def build_request(
    http: httpx.AsyncClient, rendering: Rendering, *, secret: Secret
) -> httpx.Request:
    """Address *rendering*, with what *http* adds to every request.

    Only the connection has a deadline of the transport's; the others are a matter of the reply.
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
            **_named(provider, secret.key),
        },
        # What httpx makes of its `timeout` argument, at a quarter of what the request costs.
        extensions={"timeout": {**_UNLIMITED, "connect": provider.timeouts.connect}},
    )
