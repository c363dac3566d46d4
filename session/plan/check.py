"""What the configuration in the environment means, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...provider.error import ConfigError
from ...provider.route import Route
from ...provider.secret import redact_shapes
from .check_warnings import environment_warnings, plan_warnings
from .hint import HintPlan
from .key_variables import named_providers, set_keys
from .load import load_plan, providers_of
from .plan import RouteOptions
from .sibling_map import reachable
from .source import HINT_VARIABLE, NUMBERED, RULES_VARIABLE, VARIABLE, find_sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .config_warning import ConfigWarning
    from .plan import Plan

VARIABLES = (VARIABLE, RULES_VARIABLE, HINT_VARIABLE, NUMBERED)

_ANY_ROUTE = "PROVIDER/MODEL"
"""Stands for the route of a step if a hint takes the step's model and none is known."""


def inspect(
    environ: Mapping[str, str],
    model: str | None = None,
    *,
    further: Iterable[ConfigWarning] = (),
) -> dict[str, Any]:
    """Return what the configuration in *environ* means, as plain data.

    ``error`` says why it cannot be used, ``stuck`` why no step can move with it, ``keys`` which
    variables of each provider's keys are set.

    Args:
        model: Explain only the chain from this route, or of this name; None: every one.
        further: What else is wrong with the environment.
    """
    source = _source(environ)
    found: dict[str, Any] = {
        "source": source,
        "state": "none",
        "error": None,
        "stuck": None,
        "settings": None,
        "chains": [],
        "keys": {},
        "warnings": [],
    }
    try:
        plan = load_plan(environ)
        providers = providers_of(plan, environ)
    except ConfigError as error:
        return found | {"state": "wrong", "error": str(error)}
    try:
        all_options = {name: _options_for(plan, name) for name in _names(plan, model)}
    except ConfigError as error:
        return found | {"state": "wrong", "error": f"{source}: {error}"}
    except ValueError as error:
        return found | {"state": "wrong", "error": redact_shapes(f"--model: {error}")}
    warnings = [
        *(plan.warnings if plan else ()),
        *environment_warnings(environ),
        *further,
        *plan_warnings(plan, all_options, providers, environ),
    ]
    return found | {
        "state": _state(plan),
        "stuck": None if plan is None else _why_stuck(plan),
        "settings": None if plan is None else _settings(plan),
        "chains": [_chain(name, options) for name, options in all_options.items()],
        "keys": set_keys(named_providers(all_options.values()), providers, environ),
        "warnings": [
            {"code": each.code, "message": each.message, "fix": each.fix} for each in warnings
        ],
    }


def _state(plan: Plan | None) -> str:
    if plan is None:
        return "none"
    return "on" if plan.config.max_fallback_attempts or plan.chains else "off"


def _why_stuck(plan: Plan) -> str | None:
    """Return why no step can move along the map of *plan*.

    None: one can, or the map is switched off on purpose, or there is none.
    """
    if plan.source != VARIABLE or not plan.config.max_fallback_attempts:
        return None
    siblings = plan.config.fallback_models_by_model
    if not siblings:
        return "no step can move: `fallbackModelsByModel` has no usable entry, map a route to one"
    reasons = [_why_stuck_at(route, plan) for route in siblings]
    if None in reasons:
        return None
    return f"no step can move: {reasons[0]}; map a route to one inside its boundary"


def _why_stuck_at(route: Route, plan: Plan) -> str | None:
    """Return why a step that asks for *route* may not leave it, by the boundary declared there."""
    options = plan.options_for(route)
    ahead = list(reachable(route, options.siblings))
    if any(sibling not in options.unfit for sibling in ahead):
        return None
    return f"from {str(route)!r} not to {str(ahead[0])!r}, because {options.unfit[ahead[0]]}"


def _source(environ: Mapping[str, str]) -> str | None:
    """Return the variable that is read; else one that is set but empty; else None."""
    sources = find_sources(environ)
    if sources:
        return sources[0].name
    return next((name for name in VARIABLES if name in environ), None)


def _names(plan: Plan | None, name: str | None) -> list[str]:
    if name is not None:
        return [name]
    if plan is None:
        return []
    if isinstance(plan, HintPlan) and plan.inherits:
        return [_ANY_ROUTE]
    if plan.chains:
        return [name for name, chain in plan.chains.items() if chain]
    return list(plan.config.fallback_models_by_model)


def _options_for(plan: Plan | None, name: str) -> RouteOptions:
    return RouteOptions(requested=Route(name)) if plan is None else plan.options_for(name)


def _settings(plan: Plan) -> dict[str, Any]:
    """Return the settings; a plan of chains has no map."""
    hidden = {"providers"} | ({"fallback_models_by_model"} if plan.chains else set())
    settings: dict[str, Any] = plan.config.model_dump(mode="json", by_alias=True, exclude=hidden)
    if plan.swap_on_any_failure:
        settings["fallbackOnErrors"] = "every failure of a route"
    return settings


def _chain(name: str, options: RouteOptions) -> dict[str, Any]:
    """Explain where steps that ask for *name* go."""
    route = options.requested
    walk = [route, *reachable(route, options.siblings)]
    return {
        "route": name,
        "siblings": list(options.siblings.get(route, ())),
        "walk": walk,
        "is_cycle": any(route in options.siblings.get(other, ()) for other in walk),
        "unfit": {str(each): why for each, why in options.unfit.items()},
    }
