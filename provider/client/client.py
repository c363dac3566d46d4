"""The client for all providers: it chooses the address and the key of each request."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Self

from ..catalog.catalog import catalog, providers_from_env, unknown_provider
from ..catalog.provider import Provider
from ..conversation import Conversation
from ..cure import Cure
from ..error import ConfigError
from ..native_cancel import run_in_child_task
from ..route import Route
from ..secret import Secret
from .credential import has_key, missing_key, secret_of
from .rendering import RenderedRequest, render
from .reply import Reply
from .shared_http import HttpClient, SharedHttp


class Client:
    """Sends requests to providers, with one pool of connections for all routes.

    Several event loops can use one client one after another, each with its own connections. Loops
    that run at the same time need one client each.

    Args:
        http: The client to send with, an ``httpx.AsyncClient`` or an ``httpx2.AsyncClient``; it
            stays open. None: a new one of httpx, which is closed with this client.
        providers: The known providers; None: the catalog and ``SIDESTEP_PROVIDERS``.
        environ: The source of keys, read at every request; None: `os.environ`.
        wall_clock: Epoch seconds; a ``retry-after`` date is counted from it.

    Raises:
        ConfigError: ``SIDESTEP_PROVIDERS`` has a wrong value.
        TypeError: *http* is no asynchronous client.
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
        if http is not None and not hasattr(http, "aclose"):
            raise TypeError(
                f"`http` must be an AsyncClient of httpx or httpx2, got {type(http).__name__}: "
                "a `Client` sends in an event loop"
            )
        self._http = SharedHttp(http)
        self._wall_clock = wall_clock

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; leave a client that was passed in open."""
        await self._http.aclose()

    def serves(self, route: Route) -> bool:
        """True if *route* can be called: its provider is known, and its key is set."""
        return self.why_unserved(route) is None

    def why_unserved(self, route: Route) -> str | None:
        """Return why *route* cannot be called, as half a sentence; None: it can."""
        provider = self._providers.get(route.provider)
        if provider is None:
            return f"no provider {route.provider!r} is known"
        return None if has_key(provider, self._environ) else provider.why_keyless()

    def render(
        self, route: Route, conversation: Conversation, cures: Iterable[Cure] = ()
    ) -> RenderedRequest:
        """Return the request for *route* to continue *conversation*.

        Args:
            cures: Changes that earlier refusals of this route asked for: `Failure.cure`.

        Raises:
            ConfigError: The provider of *route* is not known.
        """
        provider = self._providers.get(route.provider)
        if provider is None:
            why = unknown_provider(route.provider, self._providers)
            raise ConfigError(f"route {route!r}: {why}, or pass it in `providers`")
        return render(conversation, provider, route, cures)

    def send(
        self,
        rendering: RenderedRequest,
        *,
        api_key_env: str | None = None,
        is_sheltered: bool = False,
    ) -> Reply:
        """Return the reply to a request from `render`; each call sends it again.

        Args:
            api_key_env: The variable with the key to send, of the provider's; None: the first of
                them that is set.
            is_sheltered: The reply is read in one task, which only scopes of anyio cancel, and no
                code of the agent yields meanwhile; see `Reply`. This costs less.

        Raises:
            ValueError: *api_key_env* is no variable of the provider's keys.
        """
        return Reply(
            self._http,
            rendering,
            secret=secret_of(rendering.provider, self._environ, api_key_env),
            wall_clock=self._wall_clock,
            is_sheltered=is_sheltered,
        )

    async def count(
        self, rendering: RenderedRequest, *, api_key_env: str | None = None
    ) -> int | None:
        """Return the provider's count of the tokens of a request from `render`, without its answer.

        None: the provider does not count, or not within five seconds. Anthropic, OpenAI's Responses
        and Gemini count.

        Args:
            api_key_env: The variable with the key to send; None: the first that is set.

        Raises:
            ValueError: *api_key_env* is no variable of the provider's keys.
        """
        from .token_count import count_tokens

        secret = secret_of(rendering.provider, self._environ, api_key_env)
        if missing_key(rendering.provider, secret) is not None:
            return None
        count = partial(count_tokens, self._http.client(), rendering, secret=secret)
        return await run_in_child_task(count)

    def stream(self, route: Route, conversation: Conversation) -> Reply:
        """Return the reply of *route* to *conversation*.

        Raises:
            ConfigError: The provider of *route* is not known.
        """
        return self.send(self.render(route, conversation))

    @property
    def providers(self) -> Mapping[str, Provider]:
        """The known providers, by name."""
        return self._providers

    def secret(self, provider: Provider, *, api_key_env: str | None = None) -> Secret:
        """Return the key of *provider*, if it is set.

        Args:
            api_key_env: The variable to read; None: the provider's first that is set.

        Raises:
            ValueError: *api_key_env* is no variable of the provider's keys.
        """
        return secret_of(provider, self._environ, api_key_env)

    @property
    def shared_http(self) -> SharedHttp:
        """What sends every request, in any event loop."""
        return self._http
