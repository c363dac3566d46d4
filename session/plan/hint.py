"""Read a hint into a plan: ``"zai:glm-5.2,anthropic:claude-opus-4-8"``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ...provider.error import ConfigError
from ...provider.route import Route
from ...provider.secret import redact_shapes
from .boundary_warning import outside_warning, provider_cure
from .chain_entry import entry_at
from .config import chain_config
from .config_warning import ConfigWarning
from .limit_settings import NO_LIMITS, SetLimits, limits_from_env
from .plan import HINT, Plan, RouteOptions, asked_route
from .source import HINT_VARIABLE, LIMITS_VARIABLE
from .variable_expansion import expand, unset

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ...provider.catalog.provider import Provider
    from .chain_entry import ChainEntry
    from .needs import Needs


@dataclass(frozen=True, slots=True, kw_only=True)
class HintPlan(Plan):
    """A plan with a chain that depends on the model that a step asks for.

    Args:
        follow: Returns the plan for that model; None: the step names no model.
        inherits: An element has no model of its own, and takes the model of the step.
    """

    follow: Callable[[str | None], Plan]
    inherits: bool = False

    def options_for(
        self, asked: str, needs: Needs | None = None, *, pinned: Route | None = None
    ) -> RouteOptions:
        """Return the chain of the hint, for whatever route the step asks.

        Raises:
            ValueError: *asked* is neither a route nor the name of the chain, or no element of the
                hint can be used for it.
        """
        return self._followed(asked).options_for(HINT, needs, pinned=pinned)

    def entries_for(self, asked: str) -> tuple[ChainEntry, ...]:
        """Return the chain of the hint, for whatever route the step asks.

        Raises:
            ValueError: As `options_for`.
        """
        return self._followed(asked).chains[HINT]

    def _followed(self, asked: str) -> Plan:
        inherited = None if asked == HINT else asked_route(asked, [HINT]).model
        try:
            return self.follow(inherited)
        except ConfigError as error:
            raise ValueError(f"{asked!r} leads nowhere: {HINT_VARIABLE}: {error}") from None


def following_plan(
    text: str, environ: Mapping[str, str], providers: Mapping[str, Provider]
) -> HintPlan:
    """Return the plan of the hint *text*, for whatever model a step asks for.

    Args:
        providers: The providers of this process.

    Raises:
        ConfigError: A variable is not closed, no element can be used, or ``SIDESTEP_LIMITS`` is
            wrong.
    """
    limits = limits_from_env(environ)

    @lru_cache(maxsize=256)
    def follow(inherited: str | None) -> Plan:
        return hint_plan(text, environ, inherited=inherited, providers=providers, limits=limits)

    # Report errors that do not depend on the model once, here, and not at every step.
    sample = follow("model")
    return HintPlan(
        source=HINT_VARIABLE,
        config=sample.config,
        chains=sample.chains,
        swap_on_any_failure=sample.swap_on_any_failure,
        limits_in=sample.limits_in,
        warnings=sample.warnings,
        follow=follow,
        inherits=follow("other").chains != sample.chains,
    )


def hint_plan(
    text: str,
    environ: Mapping[str, str],
    *,
    inherited: str | None,
    providers: Mapping[str, Provider],
    limits: SetLimits = NO_LIMITS,
) -> Plan:
    """Return the plan of the hint *text*: its elements in order, and every failure swaps.

    Variables are expanded first, so that a variable may hold several elements. An element that is
    malformed, or names an unknown provider, is left out with a warning.

    Args:
        inherited: The model for elements that name none; None: such elements are malformed.
        providers: The providers of this process.
        limits: If it has statuses, only these move a step; otherwise every failure does.

    Raises:
        ConfigError: A variable is not closed, or no element can be used.
    """
    try:
        elements = [element.strip() for element in expand(text, environ).split(",")]
    except ConfigError as error:
        raise ConfigError(f"C172: {error}") from None
    warnings: list[ConfigWarning] = []
    # The value of a variable is not quoted, because it may be a secret set by mistake.
    quotes = [f" ({each!r})" if "$" not in text and each else "" for each in elements]
    unexpanded = text.split(",")
    if len(unexpanded) != len(elements):  # a variable holds several
        unexpanded = [""] * len(elements)
    chain: dict[Route, str] = {}
    for number, element in enumerate(elements, 1):
        where = f"element {number} of the hint{quotes[number - 1]}"
        route = _route(element, where, inherited, providers)
        if not element and (missing := unset(unexpanded[number - 1], environ)):
            message = f"{where} is empty, because there is no value in {' and '.join(missing)}"
            fix = f"set {missing[0]}, or write ${{{missing[0]}:-default}}"
            route = ConfigWarning("C172", message, fix)
        if isinstance(route, ConfigWarning):
            warnings.append(route)
        elif route in chain:
            message = f"{where} repeats the route of {chain[route]}, and has no effect"
            warnings.append(ConfigWarning("C088", message, "remove it"))
        else:
            chain[route] = f"element {number}"
    if not chain:
        raise ConfigError(f"no element of the hint can be used: {'; '.join(map(str, warnings))}")
    if len(elements) > 1 and len(chain) == 1 and not any(w.code == "C088" for w in warnings):
        message = "the hint has several elements, but only one that can be used"
        warnings.append(ConfigWarning("C088", message, "fix another, or leave only that one"))
    return _plan(chain, providers, warnings, limits)


def _plan(
    names: Mapping[Route, str],
    providers: Mapping[str, Provider],
    warnings: list[ConfigWarning],
    limits: SetLimits,
) -> Plan:
    routes = list(names)
    entries = tuple(entry_at(route, providers[route.provider]) for route in routes)
    outside = (
        outside_warning(
            entry, entries[0].boundary, who="a step of the hint", like=names[routes[0]],
            name=names[entry.route], cure=provider_cure(entry), link="element",
        )
        for entry in entries[1:]
    )  # fmt: skip
    return Plan(
        source="the hint",
        config=chain_config(limits.settings, siblings=len(routes) - 1),
        chains={HINT: entries, str(routes[0]): entries},
        swap_on_any_failure="fallback_on_errors" not in limits.settings,
        limits_in=LIMITS_VARIABLE,
        warnings=(*warnings, *filter(None, outside), *limits.warnings),
    )


def _route(
    element: str, where: str, inherited: str | None, providers: Collection[str]
) -> Route | ConfigWarning:
    """Return the route that *element* names, or a warning of what is wrong with it."""
    provider, colon, model = element.partition(":")
    if not colon:
        model = inherited or ""
    problem = _malformed(element, provider, has_colon=bool(colon), model=model)
    if problem is not None:
        fix = 'write it as "provider:model"'
        if not colon and inherited is None:
            fix += ", or ask for a route, so that the element takes its model"
        return ConfigWarning("C172", f"{where} {problem}", fix)
    if provider not in providers:
        close = difflib.get_close_matches(provider.lower(), providers, n=1)
        fix = f"write {close[0]!r}" if close else f"take one of {', '.join(sorted(providers))}"
        return ConfigWarning("C087", f"{where} names no provider that is known", fix)
    return Route(f"{provider}/{model}")


def _malformed(element: str, provider: str, *, has_colon: bool, model: str) -> str | None:
    """Return what is wrong with the form of *element*, as a predicate; None: nothing."""
    if not element:
        return "is empty"
    if element.split() != [element]:
        return "has white space inside"
    if redact_shapes(element) != element:
        return "looks like a key"
    if not provider:
        return "has no provider before its colon"
    if "/" in provider:
        return "has a slash where its provider ends with a colon"
    if has_colon and not model:
        return "has no model after its colon"
    if not model:
        return "has no model, and the step names none that it could inherit"
    return None if model.split() == [model] else "would inherit a model with white space in it"
