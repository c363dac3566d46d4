"""Routing rules: for each class of tasks, the routes that may take it, in order."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ...provider.catalog.provider import CAPABILITIES
from ...provider.env_value import decoded
from ...provider.error import ConfigError
from ...provider.failure import FailureKind
from ...provider.settings import config_error
from .boundary_warning import outside_warning
from .chain_entry import entry_at
from .config import chain_config
from .config_warning import ConfigWarning
from .plan import IN_RULES, Plan
from .rules_schema import RulesFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...provider.catalog.provider import Provider
    from ...provider.route import Route
    from .chain_entry import ChainEntry
    from .config import FallbackConfig
    from .rules_schema import Rule

SWAP_ON = frozenset({FailureKind.QUOTA})
"""Kinds that swap whatever their status: Anthropic reports spent money with a 400."""

NEVER_SWAP_ON = frozenset({FailureKind.AUTH, FailureKind.NOT_FOUND})
"""Kinds that never swap whatever their status: the configuration of the route is wrong."""

_EXAMPLES: dict[str, str] = {
    "rules": "[[rules]], and below it its keys",
    "task_class": 'task_class = "coding"',
    "candidates": "[[rules.candidates]], and below it its keys",
    "provider": 'provider = "anthropic"',
    "model": 'model = "claude-sonnet-5"',
    "boundary": 'boundary = "eu"',
    "capabilities": 'capabilities = ["tool_calling", "images"]',
    **dict.fromkeys(CAPABILITIES, "true or false"),
    "context_window_tokens": "context_window_tokens = 200000",
    "idempotent_tools": 'idempotent_tools = ["read_file"]',
    "fallback_on_errors": "fallback_on_errors = [429, 503]",
    "on_partial": 'on_partial = "interrupt"',
    "move_policy": 'move_policy = "rebuild"',
    "return_policy": 'return_policy = "turn"',
}


def rules_plan(text: str | bytes, *, providers: Mapping[str, Provider]) -> Plan:
    """Return the plan that *text* describes: routing rules in TOML.

    An agent asks for a ``task_class``. Its chain holds every candidate in order; a candidate that
    cannot take a step is passed over in that step, with the reason.

    Args:
        providers: The providers of this process.

    Raises:
        ConfigError: *text* is not TOML, or a value in it is wrong; the message says where, and
            what to write.
    """
    file = _read(text)
    is_default = file.limits.fallback_on_errors is None
    chains: dict[str, tuple[ChainEntry, ...]] = {}
    warnings: list[ConfigWarning] = []
    for number, rule in enumerate(file.rules):
        where = f"rules[{number}]"
        _check(rule, file, chains, where)
        chains[rule.task_class] = chain = tuple(_entries(rule, providers))
        warnings += _candidate_warnings(rule, where)
        boundary = file.boundary if rule.boundary is None else rule.boundary
        warnings += _chain_warnings(chain, boundary, providers, f"{where} ({rule.task_class!r})")
    return Plan(
        source="routing rules",
        config=_config(file, siblings=max(0, max(map(len, chains.values())) - 1)),
        chains=chains,
        configured_providers=providers,
        boundary=file.boundary,
        boundaries={rule.task_class: rule.boundary for rule in file.rules if rule.boundary},
        swap_on=SWAP_ON if is_default else frozenset(),
        never_swap_on=NEVER_SWAP_ON if is_default else frozenset(),
        limits_in=IN_RULES,
        warnings=tuple(warnings),
    )


def _read(text: str | bytes) -> RulesFile:
    source = decoded(text).removeprefix("\ufeff")
    try:
        data = tomllib.loads(source)
    except (ValueError, RecursionError) as error:
        end = f"at the end, line {source.count(chr(10)) + 1}"
        why = str(error).replace("at end of document", end)
        raise ConfigError(f"not TOML: {why}: write [[rules]] and its keys as TOML") from None
    try:
        return RulesFile.model_validate(data)
    except ValidationError as error:
        raise _explain(error) from None


def _explain(error: ValidationError) -> ConfigError:
    """Return an error that says where *error* is, and what to write there."""
    message = str(config_error(error, where="", model=RulesFile))
    names = [step for step in error.errors()[0]["loc"] if isinstance(step, str)]
    example = _EXAMPLES.get(names[-1]) if names else None
    if example is None or ("write" in message and not message.endswith("write it")):
        return ConfigError(message)
    return ConfigError(f"{message.removesuffix(': write it')}: write {example}")


def _check(rule: Rule, file: RulesFile, earlier: Mapping[str, object], where: str) -> None:
    if rule.task_class in earlier:
        raise ConfigError(
            f"{where}.task_class is {rule.task_class!r}, as in an earlier rule: write one rule "
            "with the candidates of both"
        )
    if None not in (rule.boundary, file.boundary) and rule.boundary != file.boundary:
        raise ConfigError(
            f"{where}.boundary is {rule.boundary!r}, but `boundary` of the whole file is "
            f"{file.boundary!r}, so no route fits both: write the same in both, or remove one"
        )


def _entries(rule: Rule, providers: Mapping[str, Provider]) -> Iterator[ChainEntry]:
    """Return the chain of *rule*; a route that is named twice keeps its first place."""
    seen: set[Route] = set()
    for candidate in rule.candidates:
        if candidate.route in seen:
            continue
        seen.add(candidate.route)
        yield entry_at(
            candidate.route,
            providers.get(candidate.provider),
            capabilities=candidate.capabilities.words,
            context_window=candidate.context_window,
            boundary=candidate.boundary,
        )


def _config(file: RulesFile, *, siblings: int) -> FallbackConfig:
    limits = file.limits.model_dump(exclude_none=True)
    tools = [*file.idempotent_tools, *limits.pop("idempotent_tools", ())]
    settings = {"move_policy": "idempotent", **limits, "idempotent_tools": (*dict.fromkeys(tools),)}
    return chain_config(settings, siblings=siblings)


def _candidate_warnings(rule: Rule, where: str) -> Iterator[ConfigWarning]:
    first: dict[Route, int] = {}
    for place, candidate in enumerate(rule.candidates):
        here = f"{where}.candidates[{place}]"
        before = first.setdefault(candidate.route, place)
        if before != place:
            message = f"{here} repeats {str(candidate.route)!r}, so no step reaches it"
            yield ConfigWarning("C051", message, f"remove it, or {where}.candidates[{before}]")
        for word in candidate.capabilities.unknown:
            message = f"{here}.capabilities has the unknown word {word!r}"
            yield ConfigWarning("C053", message, f"write one of {', '.join(CAPABILITIES)}")


def _chain_warnings(
    chain: Sequence[ChainEntry],
    boundary: str | None,
    providers: Mapping[str, Provider],
    where: str,
) -> Iterator[ConfigWarning]:
    if not chain:
        message = f"{where} has no candidate, so no step can ask for it"
        yield ConfigWarning("C052", message, "write [[rules.candidates]] below it")
        return
    usable = 0
    like = "its first candidate" if boundary is None else ""
    boundary = chain[0].boundary if boundary is None else boundary
    for entry in chain:
        if entry.route.provider not in providers:
            message = f"{where} names {str(entry.route)!r}, but this process has no such provider"
            yield ConfigWarning("C050", message, "configure the provider, or remove the candidate")
            continue
        outside = outside_warning(
            entry, boundary, who=where, like=like, name=repr(str(entry.route)),
            cure="write its `boundary`", link="candidate",
        )  # fmt: skip
        if outside is not None:
            yield outside
        else:
            usable += 1
    if not usable:
        message = f"{where} has no candidate that can be used, so each of its steps fails"
        yield ConfigWarning("C052", message, "add a usable candidate, or remove the rule")
    elif usable == 1:
        message = f"{where} has only one candidate that can be used, so its failure ends a step"
        yield ConfigWarning("C055", message, "add another candidate, unless one is enough")
