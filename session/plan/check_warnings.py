"""What `check` warns of: what in a configuration cannot work, or does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.route import Route
from .address_warnings import address_warnings
from .config_warning import ConfigWarning
from .hint import HintPlan
from .key_variables import key_warnings, named_providers
from .link_warnings import link_warnings
from .misspelt_key import misspelt_key
from .plan import HINT
from .sibling_map import reachable
from .source import (
    COORDINATOR_VARIABLE,
    LIMITS_VARIABLE,
    RULES_VARIABLE,
    VARIABLE,
    Source,
    find_sources,
)
from .unknown_variable import unknown_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...provider.catalog.provider import Provider
    from .config import FallbackConfig
    from .plan import Plan, RouteOptions


def plan_warnings(
    plan: Plan | None,
    all_options: Mapping[str, RouteOptions],
    providers: Mapping[str, Provider],
    environ: Mapping[str, str],
) -> Iterator[ConfigWarning]:
    """Warn of what cannot work in *plan*, beside what was seen at its loading.

    Args:
        all_options: Where a step may go, by the route or the chain that it asks for.
    """
    if plan is not None:
        yield from _limit_warnings(plan)
    if plan is not None and not plan.chains:
        yield from _key_warnings(all_options.values(), plan.config)
    yield from _chain_warnings(all_options, plan)
    yield from _link_warnings(all_options, plan, providers)
    yield from _provider_warnings(all_options.values(), providers, plan, environ)


def environment_warnings(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    """Warn of variables of ours that are not read, or not known."""
    if VARIABLE in environ and COORDINATOR_VARIABLE in environ:
        message = f"{VARIABLE} and {COORDINATOR_VARIABLE} are both set"
        yield ConfigWarning("C014", message, f"only {VARIABLE} is read; remove one of the two")
    yield from unknown_variables(environ)
    sources = find_sources(environ)
    if environ.get(LIMITS_VARIABLE, "").strip() and not any(map(Source.takes_limits, sources[:1])):
        message = f"{LIMITS_VARIABLE} is set, but only a hint and numbered variables read it"
        homes = {RULES_VARIABLE: "set its keys in [limits] of the rules"}
        home = homes.get(sources[0].variable, "set its keys in the map") if sources else "set one"
        yield ConfigWarning("C028", message, f"{home}, or remove it")


def _limit_warnings(plan: Plan) -> Iterator[ConfigWarning]:
    config, cooldown = plan.config, plan.spelled("cooldownSeconds")
    could_move = not plan.chains or any(len(chain) > 1 for chain in plan.chains.values())
    if config.max_fallback_attempts == 0 and could_move:
        off = "so that no step moves" if plan.chains else "which switches the whole feature off"
        message = f"{plan.spelled('maxFallbackAttempts')} is 0, {off}"
        yield ConfigWarning("C010", message, "write 1 or more, or leave it out for the default")
    if config.cooldown_seconds == 0:
        message = f"{cooldown} is 0, so that every step starts on the route that failed"
        yield ConfigWarning("C011", message, "write 1 or more, or leave it out for 60")
    if config.cooldown_seconds > config.max_cooldown_seconds:
        message = (
            f"{cooldown} is {config.cooldown_seconds}, over {plan.spelled('maxCooldownSeconds')}, "
            f"{config.max_cooldown_seconds}"
        )
        yield ConfigWarning("C012", message, "raise the second, or lower the first")
    if 0 < config.patience_seconds < config.cooldown_seconds:
        patience = plan.spelled("patienceSeconds")
        message = (
            f"{patience} is {config.patience_seconds}, below {cooldown}, "
            f"{config.cooldown_seconds}, so that no step waits for a route that has just failed"
        )
        yield ConfigWarning("C040", message, f"raise {patience}, or leave it out")
    for status in config.fallback_on_errors:
        if not 400 <= status <= 599:
            message = f"{plan.spelled('fallbackOnErrors')} lists {status}, which no failure has"
            yield ConfigWarning("C013", message, "list statuses from 400 to 599")


def _key_warnings(
    all_options: Iterable[RouteOptions], config: FallbackConfig
) -> Iterator[ConfigWarning]:
    for options in all_options:
        warning = misspelt_key(options.requested, config.fallback_models_by_model)
        if warning is not None:
            yield warning


def _chain_warnings(
    all_options: Mapping[str, RouteOptions], plan: Plan | None
) -> Iterator[ConfigWarning]:
    """Warn of what a chain can never do."""
    for name, options in all_options.items():
        route = options.requested
        walk = [route, *reachable(route, options.siblings)]
        if len(walk) == 1 and not (plan and plan.chains):
            message = f"{str(route)!r} has no sibling"
            yield ConfigWarning("C017", message, "map it in `fallbackModelsByModel`")
        if plan is None:
            continue
        if 0 < options.swaps < len(walk) - 1:
            message = (
                f"{name!r} has {len(walk) - 1} routes to move to, and a step makes at most "
                f"{options.swaps} swaps, so that it may not reach {str(walk[-1])!r}"
            )
            yield ConfigWarning(
                "C018",
                message,
                f"raise {plan.spelled('maxFallbackAttempts')}, or shorten the chain",
            )
        back = next((other for other in walk[2:] if route in options.siblings.get(other, ())), None)
        if back is not None:
            message = f"{str(back)!r} leads back to {str(route)!r}, over {len(walk)} routes"
            yield ConfigWarning("C019", message, "leave it out, unless a step is to come back")


def _link_warnings(
    all_options: Mapping[str, RouteOptions], plan: Plan | None, providers: Mapping[str, Provider]
) -> Iterator[ConfigWarning]:
    """Warn of names that a provider does not know, and of links to less capable routes."""
    inherited = dict(_inherited_warnings(all_options, plan))
    yield from inherited.values()
    if plan is not None:
        chains = [chain for name in all_options if (chain := plan.entries_for(name))]
        yield from link_warnings(chains, providers, warned_of=inherited)


def _inherited_warnings(
    all_options: Mapping[str, RouteOptions], plan: Plan | None
) -> Iterator[tuple[Route | int, ConfigWarning]]:
    """Warn of elements that take the model of a step, if that model is missing or named otherwise.

    Each warning comes with its route, or with a number if it is of no route.
    """
    if not isinstance(plan, HintPlan) or not plan.inherits:
        return
    spelled = {entry.route for chain in plan.chains.values() for entry in chain}
    for name, options in all_options.items():
        if name == HINT:
            unnamed = plan.follow(None).warnings
            yield from enumerate(each for each in unnamed if each not in plan.warnings)
            continue
        if "/" not in (model := Route(name).model):
            continue
        for route in (options.requested, *reachable(options.requested, options.siblings)):
            is_inherited = route.model == model and route not in spelled
            if is_inherited and route.provider != Route(name).provider:
                message = f"{str(route)!r} has the name that {Route(name).provider!r} gives a model"
                cure = f'write the element as "{route.provider}:model", unless it has that name too'
                yield route, ConfigWarning("C089", message, cure)


def _provider_warnings(
    all_options: Iterable[RouteOptions],
    providers: Mapping[str, Provider],
    plan: Plan | None,
    environ: Mapping[str, str],
) -> Iterator[ConfigWarning]:
    for name in named_providers(all_options):
        provider = providers.get(name)
        if provider is None:
            message = f"{name!r} is no provider that sidestep's own client knows"
            cure = f"add it to {PROVIDERS_VARIABLE}, unless your agent makes the calls itself"
            yield ConfigWarning("C015", message, cure)
            continue
        yield from address_warnings(provider)
        is_numbered = plan is not None and name in plan.providers  # these warn by themselves
        yield from key_warnings(provider, environ, names_unset=not is_numbered)
