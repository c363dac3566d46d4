"""The request of one attempt, as httpx sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import anthropic, openai_chat
from .failure import Failure, FailureKind, Stage
from .wire import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from .catalog import Provider
    from .part import Conversation
    from .route import Route
    from .secret import Secret
    from .wire import Adapter, Wire

_ADAPTERS: Mapping[Wire, Adapter] = {"anthropic": anthropic, "openai-chat": openai_chat}
_UNLIMITED = {"connect": None, "read": None, "write": None, "pool": None}


def missing_key(provider: Provider, secret: Secret) -> Failure | None:
    """Say that the key which *provider* wants is not there, or cannot stand in a header."""
    variable = provider.api_key_env
    if variable is None or secret.is_sendable:
        return None
    problem = "is not set" if secret.key is None else "holds characters that no key has"
    message = f"{variable} {problem}: set it to a key of {provider.name}"
    return Failure(kind=FailureKind.AUTH, message=message, status=401, stage=Stage.CONNECT)


def build_request(
    http: httpx.AsyncClient,
    provider: Provider,
    route: Route,
    conversation: Conversation,
    *,
    secret: Secret,
) -> httpx.Request:
    """Spell *conversation* in the wire of *provider*, with what *http* adds to every request.

    Only the connection has a deadline of the transport's; the others are a matter of the reply.
    """
    adapter = _ADAPTERS[provider.wire]
    return http.build_request(
        "POST",
        provider.base_url.rstrip("/") + adapter.PATH,
        content=write_json(adapter.encode(conversation, route)),
        headers={
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            **adapter.headers(secret.key),
        },
        # What httpx makes of its `timeout` argument, at a quarter of what the request costs.
        extensions={"timeout": {**_UNLIMITED, "connect": provider.timeouts.connect}},
    )
