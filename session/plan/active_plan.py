"""The configuration in force, as one snapshot that a step uses from start to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.catalog.catalog import catalog
from ...provider.catalog.provider import Provider
from ...provider.error import ConfigError
from ...provider.log import logger
from ...provider.route import Route
from ...provider.secret import key_redactor
from .chain_entry import entry_at
from .keyed_route import KeyedRoute, KeyRing
from .limits import CooldownLimits, Limits, cooldowns_of, limits_of
from .load import providers_of
from .misspelt_key import misspelt_key
from .needs import Needs
from .plan import Plan, RouteOptions
from .retry import RetryPolicy

if TYPE_CHECKING:
    from .config import FallbackConfig

_MOST_OPTIONS = 1_024
"""How many route options of steps without needs are cached; an agent asks for few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivePlan:
    """One configuration, and everything that a step reads from it.

    A `Sidestep` replaces the whole snapshot in one assignment, so that a step never mixes two
    configurations.

    Args:
        configured: The plan as it was configured; None: there is none.
        plan: The plan that steps follow; None: there is none, or `maxFallbackAttempts` of its map
            is 0.
        limits: What one step may do.
        providers: The providers that the configuration defines, for classifying failures.
        environ: Where ``SIDESTEP_PROVIDERS`` is read, and the keys.
        keys: The keys of each route.
    """

    configured: Plan | None
    plan: Plan | None
    limits: Limits
    providers: Mapping[str, Provider]
    environ: Mapping[str, str] = field(repr=False)
    keys: KeyRing
    _options: dict[str, RouteOptions] = field(default_factory=dict, repr=False, compare=False)
    _looked_up: dict[Route, object] = field(default_factory=dict, repr=False, compare=False)
    _variables: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, configured: Plan | None, policy: RetryPolicy, environ: Mapping[str, str]
    ) -> ActivePlan:
        """Return the snapshot of *configured*; *policy* supplies the limits it leaves open."""
        plan = configured
        if plan is not None and not plan.config.max_fallback_attempts and not plan.chains:
            plan = None  # switched off
        return cls(
            configured=configured,
            plan=plan,
            limits=limits_of(plan, policy),
            providers=_configured_providers(configured),
            environ=environ,
            keys=KeyRing(_several_keys(configured, environ), environ, _planned(configured)),
        )

    def variable_of(self, key: KeyedRoute) -> str | None:
        """Return the variable of *key*; None: its provider needs no key, or is not known."""
        if key.api_key_env is not None:
            return key.api_key_env
        return next(iter(self._known_variables().get(key.route.provider, ())), None)

    def redactor(self) -> Callable[[str], str]:
        """Return what removes every provider's key from a text.

        An SDK may quote a key, and an agent may send the key of another provider by mistake.
        """
        variables = chain.from_iterable(self._known_variables().values())
        return key_redactor({self.environ.get(name, "") for name in variables})

    def _known_variables(self) -> Mapping[str, tuple[str, ...]]:
        """Return the variables of each provider's keys, which are worked out once."""
        if not self._variables:
            with suppress(ConfigError):  # the error is raised where providers are used
                providers = self.all_providers().values()
                self._variables.update({each.name: each.key_variables for each in providers})
        return self._variables

    @property
    def cooldowns(self) -> CooldownLimits:
        """How long cooldowns are, also if there is no map, or one that is switched off."""
        return cooldowns_of(self.configured)

    @property
    def config(self) -> FallbackConfig | None:
        """The limits and the map; None: no configuration is in force."""
        return None if self.plan is None else self.plan.config

    def all_providers(self) -> dict[str, Provider]:
        """Return the catalog, changed by the environment and the configuration.

        Raises:
            ConfigError: A setting of a provider is wrong.
        """
        return providers_of(self.configured, self.environ)

    def window_of(self, route: Route) -> int | None:
        """Return the window in tokens that is declared for *route*; None: unknown."""
        window = None if self.configured is None else self.configured.window_of(route)
        if window is not None:
            return window
        try:
            provider = self.all_providers().get(route.provider)
        except ConfigError:
            return None  # the error is raised where providers are used
        return None if provider is None else provider.context_window

    def options_for(
        self, asked: str, needs: Needs | None = None, pinned: Route | None = None
    ) -> RouteOptions:
        """Return where a step that asks for *asked* may go.

        Args:
            pinned: The route on which the conversation stays if it may not move.

        Raises:
            ValueError: *asked* is neither a route nor the name of a chain.
        """
        if needs is None and pinned is None and (cached := self._options.get(asked)) is not None:
            return cached  # nearly every step
        plan = self.plan
        if plan is None:
            return self._without_plan(asked, needs)
        is_bounded = needs is not None and needs.boundary is not None
        if is_bounded or (plan.depends_on_needs and not (needs is None and pinned is None)):
            options = plan.options_for(asked, needs, pinned=pinned)
            self._log_misspelt_key(plan, options.requested)
            return options
        cached = self._options.get(asked)
        if cached is None:
            cached = self._cached(asked, plan.options_for(asked))
            self._log_misspelt_key(plan, cached.requested)
        return cached

    def _without_plan(self, asked: str, needs: Needs | None) -> RouteOptions:
        """Return the options of a step that cannot swap; its boundary is checked all the same."""
        if needs is not None and needs.boundary is not None:
            route = Route(asked)
            provider = None
            with suppress(ConfigError):  # then its boundary is unknown
                provider = self.all_providers().get(route.provider)
            why = entry_at(route, provider).why_out_of_bounds(needs)
            return RouteOptions(requested=route, unfit={} if why is None else {route: why})
        options = self._options.get(asked)
        return options or self._cached(asked, RouteOptions(requested=Route(asked)))

    def _log_misspelt_key(self, plan: Plan, requested: Route) -> None:
        """Log once if the map has an entry that is spelled almost like *requested*."""
        siblings = plan.config.fallback_models_by_model
        if plan.chains or requested in siblings or requested in self._looked_up:
            return
        if len(self._looked_up) >= _MOST_OPTIONS:
            return
        mine = object()  # if several threads come here, the first one logs
        is_first = self._looked_up.setdefault(requested, mine) is mine
        if is_first and (warning := misspelt_key(requested, siblings)) is not None:
            logger.warning("fallback configuration: %s", warning)

    def _cached(self, asked: str, options: RouteOptions) -> RouteOptions:
        """Return *options* with the usual start of a step without needs, and cache them."""
        is_open = options.unfit or options.uncounted or options.is_chain
        if not is_open and options.swaps == self.limits.max_swaps:
            options = replace(options, usual_start=self.keys.of(options.requested)[0])
        if len(self._options) < _MOST_OPTIONS:
            self._options[asked] = options
        return options


def _configured_providers(plan: Plan | None) -> Mapping[str, Provider]:
    if plan is None or not (plan.config.providers or plan.providers):
        return {}
    try:
        providers = catalog(plan.config.providers)
    except ConfigError as error:
        logger.warning("%s; its provider settings are not used", error)
        return plan.providers
    return {name: providers[name] for name in plan.config.providers} | dict(plan.providers)


def _planned(plan: Plan | None) -> frozenset[str]:
    """Return the routes that *plan* names, and their providers."""
    if plan is None:
        return frozenset()
    siblings = plan.config.fallback_models_by_model
    chains = (entry.route for each in plan.chains.values() for entry in each)
    routes = frozenset(chain(chains, siblings, *siblings.values()))
    return routes | {route.provider for route in routes}


def _several_keys(plan: Plan | None, environ: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """Return the variables of each provider that has several keys."""
    is_configured = plan is not None and (plan.config.providers or plan.providers)
    if not (is_configured or environ.get(PROVIDERS_VARIABLE)):
        return {}  # the catalog names one each
    try:
        providers = providers_of(plan, environ)
    except ConfigError:
        return {}  # the error is raised where providers are used
    several = {name: each.key_variables for name, each in providers.items()}
    return {name: variables for name, variables in several.items() if len(variables) > 1}
