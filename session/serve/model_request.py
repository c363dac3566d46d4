"""A request for a model's answer, or for a count of tokens, and the client's own bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from ...provider.client.decompression import decompressor_of
from ...provider.error import ProviderError
from ...provider.failure import Failure, FailureKind
from ...provider.json_value import JsonTooLarge, read_json, write_body
from ...provider.relay.own_request import (
    OwnRequest,
    address_of,
    kept_headers,
    model_path,
    query_without,
)
from ...provider.route import Route
from ...provider.secret import Secret

if TYPE_CHECKING:
    from ...provider.catalog.provider import Provider
    from ...provider.server.call_path import CallPath
    from ...provider.server.connection import HttpRequest
    from ...provider.wire_name import Wire
    from ..step.middleware import Sidestep
    from .access import Caller
    from .served_path import ServedPath

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request's body, also once it is decompressed."""

MAX_NAME = 1_000
"""Characters of a model's name, because the state of each route is kept under its name."""

EVENTS = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
JSON = (("content-type", "application/json"),)

_OWN: Mapping[Wire, str] = {
    "anthropic": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai",
    "gemini": "gemini",
}
"""The provider that a bare path means, if the model names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request for a model's answer, or for a count of tokens.

    Args:
        name: The route, or the name of a chain, that a step asks for.
        requested: The route that is asked first.
        model: The model as the client wrote it.
        content: The body, decompressed.
    """

    path: ServedPath
    call: CallPath
    name: str
    requested: Route
    model: str
    content: bytes
    body: Mapping[str, Any]
    is_stream: bool
    http: HttpRequest

    @classmethod
    def of(
        cls,
        http: HttpRequest,
        path: ServedPath,
        call: CallPath,
        *,
        middleware: Sidestep,
        providers: Mapping[str, Provider],
    ) -> ModelRequest:
        """Return what *http* asks for.

        Raises:
            ProviderError: It cannot be read, or names no route.
        """
        content = _decompressed(http)
        body = _object(content)
        model = call.model if call.model is not None else body.get("model")
        if not isinstance(model, str) or not model:
            raise bad_request("model is missing: write the name of a model")
        if len(model) > MAX_NAME:
            raise bad_request(f"the name of the model has more than {MAX_NAME} characters")
        name = _name(path, call, model, middleware, providers)
        try:
            requested = middleware.requested(name)
        except ValueError as error:
            raise bad_request(str(error)) from None
        is_stream = body.get("stream") is True if call.is_stream is None else call.is_stream
        return cls(
            path=path, call=call, name=name, requested=requested, model=model, content=content,
            body=body, is_stream=is_stream, http=http,
        )  # fmt: skip

    @property
    def is_array(self) -> bool:
        """True if the client wants a stream as one JSON array, without events, as Gemini has it."""
        if not self.is_stream or self.call.wire != "gemini":
            return False
        query = parse_qs(self.http.target.partition("?")[2])
        return "sse" not in query.get("alt", [])

    @property
    def stream_headers(self) -> tuple[tuple[str, str], ...]:
        """The headers of a streamed answer."""
        return JSON if self.is_array else EVENTS

    def own_request(self, provider: Provider, caller: Caller, secret: Secret) -> OwnRequest | None:
        """Return the client's own bytes as a request to *provider*, the one of `requested`.

        None: the provider speaks another wire than the client, which has not named the provider in
        its path.

        Args:
            secret: Our key, if it takes the place of the client's.
        """
        if self.path.provider is None and provider.wire != self.call.wire:
            return None
        content, path = self.content, self.path.rest
        if self.model != self.requested.model:
            if self.call.model is None:
                content = _with_model(self, self.requested.model)
            else:
                method = path.rpartition(":")[2]
                path = f"/v1beta{model_path(self.requested.model, method)}"
        query = query_without(self.http.target.partition("?")[2], caller.hidden)
        return OwnRequest(
            provider=replace(provider, wire=self.call.wire),
            method="POST",
            url=address_of(provider, path, query),
            headers=kept_headers(self.http.lines, without=caller.hidden),
            content=content,
            secret=secret,
            asks_stream=self.is_stream,
        )


def bad_request(message: str, status: int = 400) -> ProviderError:
    """Return the error for a request that nobody can answer as it is."""
    return ProviderError(
        Failure(kind=FailureKind.BAD_REQUEST, message=message, status=status, should_retry=False)
    )


def _name(
    path: ServedPath,
    call: CallPath,
    model: str,
    middleware: Sidestep,
    providers: Mapping[str, Provider],
) -> str:
    if path.provider is not None:
        return f"{path.provider}/{model}"
    plan = middleware.plan
    if plan is not None and model in plan.chains:
        return model
    provider, slash, _ = model.partition("/")
    return model if slash and provider in providers else f"{_OWN[call.wire]}/{model}"


def _decompressed(http: HttpRequest) -> bytes:
    assert http.body is not None  # noqa: S101 - it was refused before
    coding = http.headers.get("content-encoding", "")
    decompress = decompressor_of(coding) if coding else None
    if decompress is None:
        return http.body
    found = bytearray()
    try:
        for piece in decompress(http.body):
            found += piece
            if len(found) > MAX_BODY:
                break
    except Exception:  # noqa: BLE001 - zlib's and httpx's own
        message = f"a body with the encoding {coding!r} cannot be read: send it as it is"
        raise bad_request(message, 415) from None
    if len(found) > MAX_BODY:
        raise bad_request(f"the decompressed body has more than {MAX_BODY} bytes", 413)
    return bytes(found)


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        body = read_json(content)
    except JsonTooLarge as error:
        raise bad_request(f"the body cannot be read, because {error}") from None
    except ValueError:
        raise bad_request("the body is not JSON: send an object") from None
    if not isinstance(body, dict):
        raise bad_request("the body is not a JSON object: send an object")
    return body


def _with_model(request: ModelRequest, model: str) -> bytes:
    """Return the body with *model* in place of the client's name, and nothing else changed."""
    written = re.escape(json.dumps(request.model, ensure_ascii=False).encode())
    pattern = re.compile(rb'("model"\s*:\s*)' + written)
    if len(pattern.findall(request.content)) != 1:
        return write_body({**request.body, "model": model})
    name = json.dumps(model, ensure_ascii=False).encode()
    return pattern.sub(lambda found: found[1] + name, request.content)
