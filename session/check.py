"""What the configuration in the environment means, and what in it cannot work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ..provider.catalog import VARIABLE as PROVIDERS_VARIABLE
from ..provider.error import ConfigError
from .config import ConfigWarning
from .degraded import reachable
from .source import COORDINATOR_VARIABLE, VARIABLE, find_source, known_providers, load_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from ..provider.catalog import Provider
    from ..provider.route import Route
    from .config import FallbackConfig


def inspect(environ: Mapping[str, str], route: Route | None = None) -> dict[str, Any]:
    """Return what `check` says, as plain data.

    Args:
        route: Explain only the chain from this route; None: from every route of the map.
    """
    source = find_source(environ)
    found: dict[str, Any] = {
        "source": None if source is None else source.name,
        "state": "none",
        "error": None,
        "settings": None,
        "chains": [],
        "warnings": [],
    }
    try:
        config = load_config(environ)
        providers = known_providers(config, environ)
    except ConfigError as error:
        return found | {"state": "wrong", "error": str(error)}
    if config is not None:
        found["state"] = "on" if config.max_fallback_attempts else "off"
        found["settings"] = config.model_dump(mode="json", by_alias=True, exclude={"providers"})
    siblings = config.fallback_models_by_model if config else {}
    routes = list(siblings) if route is None else [route]
    found["chains"] = [_chain(each, siblings) for each in routes]
    warnings = [
        *(config.warnings if config else ()),
        *_warnings(config, environ),
        *_route_warnings(routes, siblings, providers, environ),
    ]
    found["warnings"] = [
        {"code": each.code, "message": each.message, "cure": each.cure} for each in warnings
    ]
    return found


def _chain(route: Route, siblings: Mapping[Route, tuple[Route, ...]]) -> dict[str, Any]:
    """Explain where steps that ask for *route* go."""
    walk = [route, *reachable(route, siblings)]
    return {
        "route": route,
        "siblings": list(siblings.get(route, ())),
        "walk": walk,
        "is_cycle": any(route in siblings.get(other, ()) for other in walk),
    }


def _warnings(config: FallbackConfig | None, environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    if VARIABLE in environ and COORDINATOR_VARIABLE in environ:
        message = f"{VARIABLE} and {COORDINATOR_VARIABLE} are both set"
        yield ConfigWarning("C014", message, f"only {VARIABLE} is read; remove one of the two")
    if config is None:
        return
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


def _route_warnings(
    routes: list[Route],
    siblings: Mapping[Route, tuple[Route, ...]],
    providers: Mapping[str, Provider],
    environ: Mapping[str, str],
) -> Iterator[ConfigWarning]:
    named = dict.fromkeys(each for route in routes for each in (route, *reachable(route, siblings)))
    for route in routes:
        if route not in siblings:
            message = f"{str(route)!r} has no sibling"
            yield ConfigWarning("C017", message, "map it in `fallbackModelsByModel`")
    for name in dict.fromkeys(route.provider for route in named):
        provider = providers.get(name)
        if provider is None:
            message = f"{name!r} is no provider that sidestep's own client knows"
            cure = f"add it to {PROVIDERS_VARIABLE}, unless your agent makes the calls itself"
            yield ConfigWarning("C015", message, cure)
        elif provider.api_key_env and not environ.get(provider.api_key_env):
            message = f"{provider.api_key_env} is not set, so that {name!r} cannot be asked"
            yield ConfigWarning("C016", message, "set it, unless your agent has the key elsewhere")


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
        reason = f"{name} is empty" if name else f"{VARIABLE} is not set"
        console.print(f"no configuration ({reason}): failed calls are retried, and never moved")
        return
    style = "bold green" if found["state"] == "on" else "bold yellow"
    console.print(Text.assemble((found["state"], style), f"  read from {found['source']}"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in found["settings"].items():
        if name != "fallbackModelsByModel":
            table.add_row(f"  {name}", _told(value))
    console.print(table)


def _told(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return "the policy's own" if value is None else str(value)


def _show_chain(console: Console, chain: Mapping[str, Any]) -> None:
    walk = " → ".join(chain["walk"])
    if console.options.ascii_only:
        walk = walk.replace("→", ">")
    end = "and back, two ways" if chain["is_cycle"] else "and no further"
    line = f"{walk}  ({end})" if len(chain["walk"]) > 1 else f"{walk}  (no sibling)"
    console.print(Text(line), soft_wrap=True)
