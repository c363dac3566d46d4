"""The route that a framework's model is built for, with the key that the model sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ...provider.route import Route

if TYPE_CHECKING:
    from collections.abc import Mapping


class ModelRoute(Route):
    """A route, and the key to build its model with.

    It prints, compares and is copied like its route, without the key.

    Attributes:
        api_key_env: The environment variable of the key; None: the provider needs no key, or
            sidestep does not know it.
    """

    __slots__ = ("_environ", "api_key_env")

    _environ: Mapping[str, str]
    api_key_env: str | None

    def __new__(cls, text: str, api_key_env: str | None = None) -> Self:
        route = str.__new__(cls, Route(text))
        route.api_key_env = api_key_env
        route._environ = {}
        return route

    @classmethod
    def within(cls, environ: Mapping[str, str], route: Route, api_key_env: str | None) -> Self:
        """Return *route* with the key that *environ* has in the variable *api_key_env*."""
        keyed = cls(route, api_key_env)
        keyed._environ = environ
        return keyed

    @property
    def api_key(self) -> str | None:
        """The key itself, read when it is asked for; None: it is not set, or there is none."""
        name = self.api_key_env
        return None if name is None else self._environ.get(name, "").strip() or None

    def __reduce__(self) -> tuple[type[Route], tuple[str]]:
        """Copy and pickle the route alone."""
        return Route, (str(self),)
