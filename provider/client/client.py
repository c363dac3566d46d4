"""The one client for all providers: where a request goes, and with which key."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from ..catalog.catalog import catalog, providers_from_env
from ..catalog.provider import Provider
from ..conversation import Conversation
from ..cure import Cure
from ..error import ConfigError
from ..route import Route
from ..secret import Secret
from .http_request import missing_key
from .rendering import Rendering, render
from .reply import Reply
from .shared_http import HttpClient, SharedHttp


class Client:
    """Speak to the providers: one pool of connections for all routes.

    Event loops may use one client one after another, each with connections of its own; two that
    run at once need one client each.

    Args:
        http: The client to send with, an ``httpx.AsyncClient`` or an ``httpx2.AsyncClient``; it
            is left open. None makes one of httpx, which is closed with this client.
        providers: Those that are known; None takes the catalog and ``SIDESTEP_PROVIDERS``.
        environ: Where keys are read from, at every request; None: `os.environ`.
        wall_clock: Epoch seconds; a ``retry-after`` date is counted from it.

    Raises:
        ConfigError: ``SIDESTEP_PROVIDERS`` says something that cannot be.
    """

    def __init__(
        self,
        *,
        http: HttpClient | None = None,
        providers: Mapping[str, Provider] | None = None,
        environ: Mapping[str, str] | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._providers = catalog(providers_from_env(environ)) if providers is None else providers
        self._http = SharedHttp(http)
        self._wall_clock = wall_clock

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; not those of a client that was passed in."""
        await self._http.aclose()

    def serves(self, route: Route) -> bool:
        """Say whether *route* can be asked: its provider is known, and so is the key it wants."""
        return self.why_unserved(route) is None

    def why_unserved(self, route: Route) -> str | None:
        """Say why *route* cannot be asked, in half a sentence; None: it can."""
        provider = self._providers.get(route.provider)
        if provider is None:
            return f"no provider {route.provider!r} is known"
        if provider.api_key_env is None or self._key(provider) is not None:
            return None
        return f"{provider.api_key_env} is not set"

    def _key(self, provider: Provider) -> str | None:
        return self._environ.get(provider.api_key_env or "", "").strip() or None

    def render(
        self, route: Route, conversation: Conversation, cures: Iterable[Cure] = ()
    ) -> Rendering:
        """Return the request that asks *route* to go on with *conversation*.

        Args:
            cures: What earlier refusals of this route asked to be changed: `Failure.cure`.

        Raises:
            ConfigError: The provider of *route* is not known.
        """
        provider = self._providers.get(route.provider)
        if provider is None:
            raise ConfigError(
                f"route {route!r} has a provider that is not known: take one of "
                f"{', '.join(sorted(self._providers))}, or add it to `providers`"
            )
        return render(conversation, provider, route, cures)

    def send(self, rendering: Rendering) -> Reply:
        """Send what `render` returned, as often as it is called."""
        return Reply(
            self._http,
            rendering,
            key=self._key(rendering.provider),
            wall_clock=self._wall_clock,
        )

    async def count(self, rendering: Rendering) -> int | None:
        """Ask how many tokens what `render` returned would take, its answer not counted.

        None where the provider does not count, or not within five seconds. Anthropic, OpenAI's
        Responses and Gemini do.
        """
        from .token_count import count_tokens

        secret = Secret(self._key(rendering.provider))
        if missing_key(rendering.provider, secret) is not None:
            return None
        return await count_tokens(self._http.client(), rendering, secret=secret)

    def stream(self, route: Route, conversation: Conversation) -> Reply:
        """Ask *route* to go on with *conversation*.

        Raises:
            ConfigError: The provider of *route* is not known.
        """
        return self.send(self.render(route, conversation))
