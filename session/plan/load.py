"""Read the configuration once: from the environment to a plan."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.catalog.catalog import catalog, providers_from_env
from ...provider.catalog.provider import Provider
from ...provider.env_value import decoded
from ...provider.error import ConfigError
from ...provider.fork import before_fork
from .boundary_warning import outside_warning, provider_cure
from .chain_entry import entry_at
from .config_warning import ConfigWarning
from .plan import Plan
from .sibling_map import reachable
from .source import (
    CONFIG_VARIABLES,
    COORDINATOR_VARIABLE,
    HINT_VARIABLE,
    NUMBERED,
    RULES_VARIABLE,
    VARIABLE,
    Source,
    conflict,
    find_sources,
)

if TYPE_CHECKING:
    from .config import FallbackConfig


def load_config(environ: Mapping[str, str] | None = None) -> FallbackConfig | None:
    """Return the configuration in the environment; None: there is none.

    Args:
        environ: None: `os.environ`.

    Raises:
        ConfigError: The configuration is wrong, or its file cannot be read.
    """
    environ = os.environ if environ is None else environ
    source = next(iter(find_sources(environ)), None)
    if source is None or source.variable not in CONFIG_VARIABLES or not source.text.strip():
        return None
    from .config import parse_config  # at first use, because its models cost 50 ms

    try:
        return parse_config(source.read())
    except ConfigError as error:
        raise ConfigError(f"{source.name}: {error}") from None


def load_plan(environ: Mapping[str, str] | None = None) -> Plan | None:
    """Return the plan that the environment describes; None: it describes none.

    Args:
        environ: None: `os.environ`.

    Raises:
        ConfigError: The configuration is wrong, its file cannot be read, or several are set.
    """
    environ = os.environ if environ is None else environ
    sources = find_sources(environ)
    if not sources:
        return None
    if (conflicts := conflict(sources)) is not None:
        raise ConfigError(f"more than one configuration is set: {conflicts}")
    source = sources[0]
    try:
        return plan_from(source, source.read(), environ)
    except ConfigError as error:
        raise ConfigError(f"{source.name}: {error}") from None


def plan_from(source: Source, content: str | bytes, environ: Mapping[str, str]) -> Plan | None:
    """Return the plan that *content*, read from *source*, describes; None: it is empty.

    Raises:
        ConfigError: *content* is wrong, or it is the content of an empty file.
    """
    if not content.strip():
        if source.path is None:
            return None
        raise ConfigError(
            "the file is empty: write a configuration in it, or unset the variable for none"
        )
    return _PLANS[source.variable](content, environ)


def map_plan(config: FallbackConfig, environ: Mapping[str, str] = MappingProxyType({})) -> Plan:
    """Return the plan of a configuration with a map of siblings.

    Args:
        environ: Where ``SIDESTEP_PROVIDERS`` is read; an error in it is only a warning here,
            because `providers_of` raises it.

    Raises:
        ConfigError: A provider setting in *config* is wrong.
    """
    providers = catalog(config.providers) if config.providers else {}
    wrong: list[ConfigWarning] = []
    try:
        if more := providers_from_env(environ):
            providers = catalog(config.providers, more)
    except ConfigError as error:
        message = f"no boundary, window or capability of {PROVIDERS_VARIABLE} counts"
        wrong.append(ConfigWarning("C029", message, str(error)))
    limited = {name: each for name, each in providers.items() if each.has_limits}
    return Plan(
        source=VARIABLE,
        config=config,
        provider_facts=limited,
        warnings=(*config.warnings, *wrong, *_outside_warnings(config, limited)),
    )


def _outside_warnings(
    config: FallbackConfig, providers: Mapping[str, Provider]
) -> Iterator[ConfigWarning]:
    """Warn of siblings outside the boundary that the requested route's provider declares."""
    if not any(provider.boundary for provider in providers.values()):
        return
    siblings = config.fallback_models_by_model
    for requested in siblings:
        head, *links = (
            entry_at(route, providers.get(route.provider))
            for route in (requested, *reachable(requested, siblings))
        )
        who = f"a step that asks for {str(requested)!r}"
        for link in links:
            warning = outside_warning(
                link, head.boundary, who=who, like="that route",
                name=repr(str(link.route)), cure=provider_cure(link), link="sibling",
            )  # fmt: skip
            if warning is not None:
                yield warning


def _config_plan(content: str | bytes, environ: Mapping[str, str]) -> Plan:
    from .config import parse_config

    return map_plan(parse_config(content), environ)


def _rules_plan(content: str | bytes, environ: Mapping[str, str]) -> Plan:
    from .rules import rules_plan

    return rules_plan(content, providers=_providers(environ))


def _numbered_plan(_content: str | bytes, environ: Mapping[str, str]) -> Plan | None:
    from .numbered import numbered_plan

    return numbered_plan(environ)


def _hint_plan(content: str | bytes, environ: Mapping[str, str]) -> Plan:
    from .hint import following_plan

    return following_plan(decoded(content), environ, _providers(environ))


def _providers(environ: Mapping[str, str]) -> dict[str, Provider]:
    return catalog(providers_from_env(environ))


_PLANS: Mapping[str, Callable[[str | bytes, Mapping[str, str]], Plan | None]] = {
    VARIABLE: _config_plan,
    COORDINATOR_VARIABLE: _config_plan,
    RULES_VARIABLE: _rules_plan,
    HINT_VARIABLE: _hint_plan,
    NUMBERED: _numbered_plan,
}


def providers_of(plan: Plan | None, environ: Mapping[str, str]) -> dict[str, Provider]:
    """Return the catalog, changed by *plan* and the environment.

    Raises:
        ConfigError: A setting of a provider is wrong.
    """
    configured = plan.config.providers if plan else {}
    providers = catalog(configured, providers_from_env(environ))
    return providers if plan is None else {**providers, **plan.providers}


def _import_models() -> None:
    """Import the models of a configuration before a fork if any program code uses pydantic.

    Then they are built before the fork as well. A child that builds them waits for pydantic's
    lock, which a thread that is not in the child may hold.
    """
    if "pydantic.main" in sys.modules:
        from . import config  # noqa: F401 - its import alone counts


before_fork(_import_models)
