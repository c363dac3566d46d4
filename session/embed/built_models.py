"""The models that an agent builds for its routes and keys, each built once and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ...provider.error import ConfigError
from ...provider.secret import redact_shapes
from ..callback import shown
from ..step.middleware import Sidestep
from .model_route import ModelRoute

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...provider.route import Route
    from ..plan.keyed_route import KeyedRoute
    from ..step.base_attempt import BaseAttempt

Model = TypeVar("Model")


class BuiltModels(Generic[Model]):
    """Return the model of a route and a key, as the agent's `build` makes it.

    Args:
        middleware: What the agent passed as its `Sidestep`; it is checked here.
        build: Returns the model of a route; called once for each route and key.
        kind: The class that `build` has to return.
        example: How to write such a model, for messages.
        adapt: Changes each model that was built; None: models stay as they are.

    Raises:
        TypeError: *middleware* is no `Sidestep`, or *build* cannot be called.
    """

    def __init__(
        self,
        middleware: Sidestep,
        build: Callable[[ModelRoute], Model],
        kind: type[Model],
        example: str,
        *,
        adapt: Callable[[Model], Model] | None = None,
    ) -> None:
        given: object = middleware
        if not isinstance(given, Sidestep):
            raise TypeError(
                f"`middleware` is {shown(given)}: pass a `Sidestep`, such as "
                "`sidestep.Sidestep.from_env()`, the same one everywhere in the process"
            )
        if not callable(build):
            raise TypeError(
                f"`build` is {shown(build)}: pass a function that takes a route and returns its "
                f"model, such as {example}"
            )
        self._build = build
        self._kind = kind
        self._example = example
        self._adapt = adapt
        self._middleware = middleware
        self._built: dict[KeyedRoute, Model] = {}

    @property
    def built(self) -> list[Model]:
        """The models that were built so far."""
        return list(self._built.values())

    def of(self, attempt: BaseAttempt) -> Model:
        """Return the model that sends the request of *attempt*, with its key.

        Raises:
            ConfigError: `build` raised, or returned something else.
        """
        return self._of(attempt.key)

    def of_route(self, route: Route) -> Model:
        """Return the model of *route*, with the first key of its provider.

        Raises:
            ConfigError: `build` raised, or returned something else.
        """
        return self._of(self._middleware.active.keys.of(route)[0])

    def _of(self, key: KeyedRoute) -> Model:
        model = self._built.get(key)
        if model is None:
            active = self._middleware.active
            variable = active.variable_of(key)
            route = ModelRoute.within(active.environ, key.route, variable)
            model = self._built[key] = self._checked(route)
        return model

    def serves(self, route: Route) -> bool | str:
        """Return whether there is a model for *route*, or why not, as `Sidestep.step` asks it."""
        try:
            self.of_route(route)
        except ConfigError as error:
            return str(error)
        return True

    def _checked(self, route: ModelRoute) -> Model:
        try:
            built: object = self._build(route)
        except Exception as error:
            why = redact_shapes(f"{type(error).__name__}: {error}")
            raise ConfigError(
                f"`build({str(route)!r})` raised {why}: return the model of this route, "
                f"such as {self._example}, or leave the route out of the siblings"
            ) from error
        if not isinstance(built, self._kind):
            raise ConfigError(
                f"`build({str(route)!r})` returned {shown(built)}: return {self._example}"
            )
        return built if self._adapt is None else self._adapt(built)
