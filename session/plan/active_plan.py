"""The configuration that is in force: one snapshot, from which a whole step decides."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...provider.catalog.catalog import catalog
from ...provider.catalog.provider import Provider
from ...provider.error import ConfigError
from ...provider.route import Route
from .chain_entry import entry_at
from .config import FallbackConfig
from .limits import Limits, limits_of
from .load import providers_of
from .needs import Needs
from .plan import Plan, RouteOptions
from .retry import RetryPolicy

_logger = logging.getLogger("sidestep")

_MOST_OPTIONS = 1_024
"""How many of the route options of steps without needs are kept; an agent asks for a few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivePlan:
    """One configuration, and everything that a step takes from it.

    A `Sidestep` replaces the whole snapshot in one assignment, so that a step never mixes two
    configurations.

    Args:
        written: The plan as it was configured; None: there is none.
        plan: The plan that moves steps; None: there is none, or it switches itself off.
        limits: What one step may do.
        providers: The providers that the configuration names, for reading their failures.
        environ: Where ``SIDESTEP_PROVIDERS`` is read.
    """

    written: Plan | None
    plan: Plan | None
    limits: Limits
    providers: Mapping[str, Provider]
    environ: Mapping[str, str]
    _options: dict[str, RouteOptions] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, written: Plan | None, policy: RetryPolicy, environ: Mapping[str, str]
    ) -> ActivePlan:
        """Return the snapshot of *written*; *policy* decides what it leaves open."""
        plan = written
        if plan is not None and not plan.config.max_fallback_attempts and not plan.chains:
            plan = None  # switched off
        return cls(
            written=written,
            plan=plan,
            limits=limits_of(plan, policy),
            providers=_configured_providers(written),
            environ=environ,
        )

    @property
    def config(self) -> FallbackConfig | None:
        """The limits and the map; None: no configuration is in force."""
        return None if self.plan is None else self.plan.config

    def all_providers(self) -> dict[str, Provider]:
        """Return the catalog, with what the environment and the configuration say of it.

        Raises:
            ConfigError: What they say of a provider cannot be.
        """
        return providers_of(self.written, self.environ)

    def options_for(
        self, asked: str, needs: Needs | None = None, pinned: Route | None = None
    ) -> RouteOptions:
        """Return where a step that asks for *asked* may go.

        Args:
            pinned: The route on which the conversation stays if it may not move.

        Raises:
            ValueError: *asked* is neither a route nor the name of a chain.
        """
        plan = self.plan
        if plan is None:
            return self._without_plan(asked, needs)
        if needs is not None or (pinned is not None and plan.chains):
            return plan.options_for(asked, needs, pinned=pinned if plan.chains else None)
        options = self._options.get(asked)
        if options is None:
            options = plan.options_for(asked)
            self._keep(asked, options)
        return options

    def _without_plan(self, asked: str, needs: Needs | None) -> RouteOptions:
        """Return the options of a step that has nowhere to go, but may have to stay in bounds."""
        if needs is not None and needs.boundary is not None:
            route = Route(asked)
            provider = self.all_providers().get(route.provider)
            why = entry_at(route, provider).why_out_of_bounds(needs)
            return RouteOptions(requested=route, unfit={} if why is None else {route: why})
        options = self._options.get(asked)
        if options is None:
            options = RouteOptions(requested=Route(asked))
            self._keep(asked, options)
        return options

    def _keep(self, asked: str, options: RouteOptions) -> None:
        if len(self._options) < _MOST_OPTIONS:
            self._options[asked] = options


def _configured_providers(plan: Plan | None) -> Mapping[str, Provider]:
    if plan is None or not (plan.config.providers or plan.providers):
        return {}
    try:
        known = catalog(plan.config.providers)
    except ConfigError as error:
        _logger.warning("%s; what it says of providers is not used", error)
        return plan.providers
    return {name: known[name] for name in plan.config.providers} | dict(plan.providers)
