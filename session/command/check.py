"""What the configuration in the environment means, and what in it cannot work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.error import ConfigError
from ...provider.route import Route
from ...provider.secret import Secret, masked
from ..journal.file_check import why_unopenable
from ..journal.journal import VARIABLE as JOURNAL_VARIABLE
from ..plan.config_warning import ConfigWarning
from ..plan.hint import HintPlan
from ..plan.load import load_plan, providers_of
from ..plan.plan import HINT
from ..plan.sibling_map import reachable
from ..plan.source import (
    COORDINATOR_VARIABLE,
    HINT_VARIABLE,
    NUMBERED,
    RULES_VARIABLE,
    VARIABLE,
    find_sources,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import Console

    from ...provider.catalog.provider import Provider
    from ..plan.config import FallbackConfig
    from ..plan.plan import Plan, RouteOptions

_VARIABLES = (VARIABLE, RULES_VARIABLE, HINT_VARIABLE, NUMBERED)

_ANY_ROUTE = "PROVIDER/MODEL"
"""What a step asks for whose model a hint takes, while nobody has said which."""


def inspect(environ: Mapping[str, str], asked: str | None = None) -> dict[str, Any]:
    """Return what `check` says, as plain data.

    Args:
        asked: Explain only the chain from this route, or of this name; None: every one.
    """
    source = _source(environ)
    found: dict[str, Any] = {
        "source": source,
        "state": "none",
        "error": None,
        "settings": None,
        "chains": [],
        "warnings": [],
    }
    try:
        plan = load_plan(environ)
        providers = providers_of(plan, environ)
    except ConfigError as error:
        return found | {"state": "wrong", "error": str(error)}
    try:
        courses = {name: _course(plan, name) for name in _names(plan, asked)}
    except ConfigError as error:
        return found | {"state": "wrong", "error": f"{source}: {error}"}
    except ValueError as error:
        return found | {"state": "wrong", "error": masked(f"--model: {error}")}
    if plan is not None:
        is_on = bool(plan.config.max_fallback_attempts) or bool(plan.chains)
        found["state"] = "on" if is_on else "off"
        found["settings"] = _settings(plan)
    found["chains"] = [_chain(name, course) for name, course in courses.items()]
    warnings = [
        *(plan.warnings if plan else ()),
        *_warnings(plan, environ),
        *_course_warnings(courses, plan),
        *_inherited_warnings(courses, plan),
        *_provider_warnings(courses.values(), providers, plan, environ),
    ]
    found["warnings"] = [
        {"code": each.code, "message": each.message, "cure": each.cure} for each in warnings
    ]
    return found


def _source(environ: Mapping[str, str]) -> str | None:
    """Return what is read, or else what is there and says nothing."""
    sources = find_sources(environ)
    if sources:
        return sources[0].name
    return next((name for name in _VARIABLES if name in environ), None)


def _names(plan: Plan | None, asked: str | None) -> list[str]:
    if asked is not None:
        return [asked]
    if plan is None:
        return []
    if isinstance(plan, HintPlan) and plan.inherits:
        return [_ANY_ROUTE]
    if plan.chains:
        return [name for name, chain in plan.chains.items() if chain]
    return list(plan.config.fallback_models_by_model)


def _course(plan: Plan | None, name: str) -> RouteOptions:
    from ..plan.plan import RouteOptions

    return RouteOptions(requested=Route(name)) if plan is None else plan.options_for(name)


def _settings(plan: Plan) -> dict[str, Any]:
    """Return the settings; a plan of chains has no map."""
    hidden = {"providers"} | ({"fallback_models_by_model"} if plan.chains else set())
    return plan.config.model_dump(mode="json", by_alias=True, exclude=hidden)


def _chain(name: str, course: RouteOptions) -> dict[str, Any]:
    """Explain where steps that ask for *name* go."""
    route = course.requested
    walk = [route, *reachable(route, course.siblings)]
    return {
        "route": name,
        "siblings": list(course.siblings.get(route, ())),
        "walk": walk,
        "is_cycle": any(route in course.siblings.get(other, ()) for other in walk),
        "unfit": {str(each): why for each, why in course.unfit.items()},
    }


def _warnings(plan: Plan | None, environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    if VARIABLE in environ and COORDINATOR_VARIABLE in environ:
        message = f"{VARIABLE} and {COORDINATOR_VARIABLE} are both set"
        yield ConfigWarning("C014", message, f"only {VARIABLE} is read; remove one of the two")
    yield from _journal_warnings(environ)
    if plan is not None and not plan.chains:
        yield from _config_warnings(plan.config)


def _journal_warnings(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    path = os.path.expanduser(environ.get(JOURNAL_VARIABLE, "").strip())
    why = why_unopenable(path) if path else None
    if why is not None:
        message = f"{JOURNAL_VARIABLE} names {path!r}, which cannot be opened ({why})"
        cure = "set it to a file that can be written, for as it is nothing is put on record"
        yield ConfigWarning("C021", message, cure)


def _config_warnings(config: FallbackConfig) -> Iterator[ConfigWarning]:
    if config.max_fallback_attempts == 0:
        message = "`maxFallbackAttempts` is 0, which switches the whole feature off"
        yield ConfigWarning("C010", message, "write 1 or more, or leave it out for 2")
    if config.cooldown_seconds == 0:
        message = "`cooldownSeconds` is 0, so that every step starts on the route that failed"
        yield ConfigWarning("C011", message, "write 1 or more, or leave it out for 60")
    if config.cooldown_seconds > config.max_cooldown_seconds:
        message = (
            f"`cooldownSeconds` is {config.cooldown_seconds}, over `maxCooldownSeconds`, "
            f"{config.max_cooldown_seconds}"
        )
        yield ConfigWarning("C012", message, "raise the second, or lower the first")
    for status in config.fallback_on_errors:
        if not 400 <= status <= 599:
            message = f"`fallbackOnErrors` lists {status}, which no failure has"
            yield ConfigWarning("C013", message, "list statuses from 400 to 599")


def _course_warnings(
    courses: Mapping[str, RouteOptions], plan: Plan | None
) -> Iterator[ConfigWarning]:
    """Warn of what a chain can never do."""
    for name, course in courses.items():
        route = course.requested
        walk = [route, *reachable(route, course.siblings)]
        if len(walk) == 1 and not (plan and plan.chains):
            message = f"{str(route)!r} has no sibling"
            yield ConfigWarning("C017", message, "map it in `fallbackModelsByModel`")
        if plan is None or isinstance(plan, HintPlan):
            continue
        if 0 < course.swaps < len(walk) - 1:
            message = (
                f"{name!r} has {len(walk) - 1} routes to move to, and a step makes at most "
                f"{course.swaps} swaps, so that it may not reach {str(walk[-1])!r}"
            )
            yield ConfigWarning(
                "C018", message, "raise `maxFallbackAttempts`, or shorten the chain"
            )
        back = next((other for other in walk[2:] if route in course.siblings.get(other, ())), None)
        if back is not None:
            message = f"{str(back)!r} leads back to {str(route)!r}, over {len(walk)} routes"
            yield ConfigWarning("C019", message, "leave it out, unless a step is to come back")


def _inherited_warnings(
    courses: Mapping[str, RouteOptions], plan: Plan | None
) -> Iterator[ConfigWarning]:
    """Warn of elements whose model is the step's: it has none, or one that is named otherwise."""
    if not isinstance(plan, HintPlan) or not plan.inherits:
        return
    spelled = {entry.route for chain in plan.chains.values() for entry in chain}
    for name, course in courses.items():
        if name == HINT:
            yield from (each for each in plan.follow(None).warnings if each not in plan.warnings)
            continue
        if "/" not in (model := Route(name).model):
            continue
        for route in (course.requested, *reachable(course.requested, course.siblings)):
            is_inherited = route.model == model and route not in spelled
            if is_inherited and route.provider != Route(name).provider:
                message = f"{str(route)!r} has the name that {Route(name).provider!r} gives a model"
                cure = f'write the element as "{route.provider}:model", unless it has that name too'
                yield ConfigWarning("C089", message, cure)


def _provider_warnings(
    courses: Iterable[RouteOptions],
    providers: Mapping[str, Provider],
    plan: Plan | None,
    environ: Mapping[str, str],
) -> Iterator[ConfigWarning]:
    named = dict.fromkeys(
        each
        for course in courses
        for each in (course.requested, *reachable(course.requested, course.siblings))
    )
    for name in dict.fromkeys(route.provider for route in named):
        provider = providers.get(name)
        if provider is None:
            message = f"{name!r} is no provider that sidestep's own client knows"
            cure = f"add it to {PROVIDERS_VARIABLE}, unless your agent makes the calls itself"
            yield ConfigWarning("C015", message, cure)
            continue
        key = environ.get(provider.api_key_env, "") if provider.api_key_env else None
        if key == "" and not (plan and name in plan.providers):  # numbered ones say it themselves
            message = f"{provider.api_key_env} is not set, so that {name!r} cannot be asked"
            yield ConfigWarning("C016", message, "set it, unless your agent has the key elsewhere")
        elif key and not Secret(key).is_sendable:
            message = f"{provider.api_key_env} holds characters that no key has"
            yield ConfigWarning("C016", message, f"set it to a key of {name}")


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print what `inspect` found, where there is no error."""
    _show_state(console, found)
    for chain in found["chains"]:
        _show_chain(console, chain)
    for warning in found["warnings"]:
        console.print(
            Text.assemble(
                (warning["code"], "bold yellow"), f"  {warning['message']}: {warning['cure']}"
            ),
            soft_wrap=True,
        )


def _show_state(console: Console, found: Mapping[str, Any]) -> None:
    if found["state"] == "none":
        name = found["source"]
        unset = f"no {', '.join(_VARIABLES[:-1])} or {_VARIABLES[-1]} is set"
        reason = f"{name} is empty" if name else unset
        console.print(f"no configuration ({reason}): failed calls are retried, and never moved")
        return
    style = "bold green" if found["state"] == "on" else "bold yellow"
    console.print(Text.assemble((found["state"], style), f"  read from {found['source']}"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in found["settings"].items():
        if name != "fallbackModelsByModel":
            table.add_row(f"  {name}", Text(masked(_told(value))))
    console.print(table)


def _told(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return "the policy's own" if value is None else str(value)


def _show_chain(console: Console, chain: Mapping[str, Any]) -> None:
    walk = " → ".join(chain["walk"])
    if chain["route"] != chain["walk"][0]:
        walk = f"{chain['route']}: {walk}"
    if console.options.ascii_only:
        walk = walk.replace("→", ">")
    back = "and back, two ways" if len(chain["walk"]) == 2 else "and back to the first"
    end = back if chain["is_cycle"] else "and no further"
    line = f"{walk}  ({end})" if len(chain["walk"]) > 1 else f"{walk}  (no sibling)"
    console.print(Text(masked(line)), soft_wrap=True)
    for route, why in chain["unfit"].items():
        console.print(Text(masked(f"  {route} is passed over: {why}")), soft_wrap=True)
