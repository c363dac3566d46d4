"""Read the configuration once: from the environment to a plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

from ...provider.catalog.catalog import catalog, providers_from_env
from ...provider.catalog.provider import Provider
from ...provider.env_value import decoded
from ...provider.error import ConfigError
from .config import FallbackConfig, parse_config
from .plan import Plan
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


def load_config(environ: Mapping[str, str] | None = None) -> FallbackConfig | None:
    """Return the configuration in the environment, or None where there is none.

    Args:
        environ: None: `os.environ`.

    Raises:
        ConfigError: It is wrong, or its file cannot be read.
    """
    environ = os.environ if environ is None else environ
    source = next(iter(find_sources(environ)), None)
    if source is None or source.variable not in CONFIG_VARIABLES or not source.text.strip():
        return None
    try:
        return parse_config(source.read())
    except ConfigError as error:
        raise ConfigError(f"{source.name}: {error}") from None


def load_plan(environ: Mapping[str, str] | None = None) -> Plan | None:
    """Return the plan that the environment describes; None where it describes none.

    Args:
        environ: None: `os.environ`.

    Raises:
        ConfigError: It is wrong, its file cannot be read, or there is more than one.
    """
    environ = os.environ if environ is None else environ
    sources = find_sources(environ)
    if not sources:
        return None
    if (told := conflict(sources)) is not None:
        raise ConfigError(f"more than one configuration is set: {told}")
    source = sources[0]
    try:
        return plan_from(source, source.read(), environ)
    except ConfigError as error:
        raise ConfigError(f"{source.name}: {error}") from None


def plan_from(source: Source, content: str | bytes, environ: Mapping[str, str]) -> Plan | None:
    """Return the plan that *content*, read from *source*, describes; None: it is empty.

    Raises:
        ConfigError: The description is wrong.
    """
    if not content.strip():
        return None
    return _PLANS[source.variable](content, environ)


def map_plan(config: FallbackConfig, environ: Mapping[str, str] = MappingProxyType({})) -> Plan:
    """Return the plan that a map of siblings comes to.

    Args:
        environ: Where ``SIDESTEP_PROVIDERS`` may say more of its providers; what is wrong there
            is left to those who need it.

    Raises:
        ConfigError: What *config* says of a provider cannot be.
    """
    known = catalog(config.providers) if config.providers else {}
    with suppress(ConfigError):
        if more := providers_from_env(environ):
            known = catalog(config.providers, more)
    told = {name: provider for name, provider in known.items() if provider.says_what_it_takes}
    return Plan(source=VARIABLE, config=config, known=told, warnings=config.warnings)


def _config_plan(content: str | bytes, environ: Mapping[str, str]) -> Plan:
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
    """Return the providers of the catalog, as *plan* and the environment change and add to them.

    Raises:
        ConfigError: What they say of a provider cannot be.
    """
    configured = plan.config.providers if plan else {}
    known = catalog(configured, providers_from_env(environ))
    return known if plan is None else {**known, **plan.providers}
