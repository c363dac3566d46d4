"""Which description of where a step may go is set, and the plan that it comes to."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.catalog.catalog import catalog, providers_from_env
from ...provider.env_value import decoded, named_path, read_variable
from ...provider.error import ConfigError
from ...provider.secret import masked
from .config import parse_config
from .numbered_variables import FIELDS, written_entries
from .plan import HINT, Plan, asked_route

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ...provider.catalog.catalog import Provider
    from ...provider.route import Route
    from .config import FallbackConfig
    from .plan import Course, Needs

VARIABLE = "SIDESTEP_FALLBACK_CONFIG"
COORDINATOR_VARIABLE = "REPLO_OPENCODE_FALLBACK_CONFIG"
"""What existing coordinators inject; read when `VARIABLE` is unset."""
CONFIG_VARIABLES = frozenset({VARIABLE, COORDINATOR_VARIABLE})
RULES_VARIABLE = "SIDESTEP_ROUTING_RULES"
HINT_VARIABLE = "SIDESTEP_HINT"
NUMBERED = "MODEL_BASE_URL"
"""The first of the numbered variables."""


@dataclass(frozen=True, slots=True)
class Source:
    """One description of where a step may go.

    Args:
        variable: The variable that holds it, or the first of several.
        text: What stands there: the description itself, or ``@path`` of a file.
    """

    variable: str
    text: str

    @property
    def path(self) -> Path | None:
        """The file that ``@path`` names; None where the variable holds the text itself."""
        return named_path(self.text)

    @property
    def name(self) -> str:
        """The variable, and the file if it names one; what looks like a key is masked."""
        return masked(f"{self.variable} ({self.path})") if self.path else self.variable

    def read(self) -> str | bytes:
        """Return what it says.

        Raises:
            ConfigError: The file cannot be read.
        """
        return read_variable(self.text)

    def reads(self, content: str | bytes, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the other variables that what it says depends on.

        Where ``SIDESTEP_PROVIDERS`` names a file, what is written there later is not followed.
        """
        if self.variable == NUMBERED:
            entries = written_entries(environ)
            spelled = (each.variable(name) for each in entries.values() for name in FIELDS)
            return (*spelled, f"MODEL_FALLBACK_{max(entries, default=0) + 1}_BASE_URL")
        if self.variable == HINT_VARIABLE:
            from .variable_expansion import names

            text = content if isinstance(content, str) else content.decode(errors="replace")
            return (PROVIDERS_VARIABLE, *names(text))
        return (PROVIDERS_VARIABLE,) if self.variable == RULES_VARIABLE else ()

    def plan(self, content: str | bytes, environ: Mapping[str, str]) -> Plan | None:
        """Return the plan that *content* comes to; None where it says nothing.

        Raises:
            ConfigError: It is wrong.
        """
        if not content.strip():
            return None
        return _PLANS[self.variable](content, environ)


def find_sources(environ: Mapping[str, str]) -> list[Source]:
    """Return what is set, the one that is used first."""
    found = []
    for name in (VARIABLE, COORDINATOR_VARIABLE):
        text = environ.get(name)
        if text is not None:
            found.append(Source(name, text))
            break
    for name in (RULES_VARIABLE, HINT_VARIABLE):
        text = environ.get(name)
        if text is not None and text.strip():
            found.append(Source(name, text))
    entries = written_entries(environ)
    if entries:
        found.append(Source(NUMBERED, "the MODEL_* variables"))
    # One that is empty stands for the other of its two variables, and for no other way.
    return found[1:] if len(found) > 1 and not found[0].text.strip() else found


def conflict(sources: Sequence[Source]) -> str | None:
    """Say which of several descriptions wins; None where there is one at most."""
    told = [source.name for source in sources if source.text.strip()]
    if len(told) < 2:
        return None
    rest, verb = " and ".join(told[1:]), "is" if len(told) == 2 else "are"
    return f"{told[0]} is used, and {rest} {verb} not: unset all but one"


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
        return source.plan(source.read(), environ)
    except ConfigError as error:
        raise ConfigError(f"{source.name}: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class HintPlan(Plan):
    """A plan whose chain depends on the model that a step asks for.

    Args:
        follow: Returns the plan for that model; None: for a step that names none.
        inherits: An element has no model of its own.
    """

    follow: Callable[[str | None], Plan]
    inherits: bool = False

    def course(
        self, asked: str, needs: Needs | None = None, *, held: Route | None = None
    ) -> Course:
        """Return where a step may go: along the hint, whatever route it asks for."""
        inherited = None if asked == HINT else asked_route(asked, [HINT]).model
        return self.follow(inherited).course(HINT, needs, held=held)


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
    from .hint import hint_plan

    text = decoded(content)
    known = _providers(environ)

    @lru_cache(maxsize=256)
    def follow(inherited: str | None) -> Plan:
        return hint_plan(text, environ, inherited=inherited, known=known)

    # What is wrong with the hint whatever the model is said now, and not at every step.
    sample = follow("model")
    return HintPlan(
        source=HINT_VARIABLE,
        config=sample.config,
        chains=sample.chains,
        is_any_failure=sample.is_any_failure,
        warnings=sample.warnings,
        follow=follow,
        inherits=follow("other").chains != sample.chains,
    )


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
