"""Read the numbered variables into a plan: ``MODEL_*`` and ``MODEL_FALLBACK_<n>_*``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...provider.catalog.catalog import catalog
from ...provider.catalog.settings import provider_settings
from ...provider.error import ConfigError
from ...provider.route import Route
from ...provider.secret import redact_shapes
from .chain_entry import ChainEntry
from .config import chain_config
from .config_warning import ConfigWarning
from .limit_settings import limits_from_env
from .numbered_variables import gaps, look_alikes, misnumbered, numbered_entries
from .plan import Plan
from .source import LIMITS_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...provider.catalog.provider import Provider
    from .config import FallbackConfig
    from .numbered_variables import NumberedEntry

TIERS = ("fast", "balanced", "deep")

_ENDPOINT = "/chat/completions"
"""The path that the wire appends to every base URL."""

_GEMINI_HOST = "generativelanguage.googleapis.com"


def numbered_plan(environ: Mapping[str, str]) -> Plan | None:
    """Return the plan that the ``MODEL_*`` variables describe; None: none of them is set.

    A session asks for ``fast``, ``balanced`` or ``deep``. The chain of a tier holds the entries
    that have it: the primary, then the fallbacks by number. A fallback that cannot be used is left
    out with a warning. A primary without fallbacks gives a plan that changes nothing.

    Raises:
        ConfigError: There is no usable primary; the message names its variables.
    """
    entries = numbered_entries(environ)
    warnings = list(misnumbered(environ))
    if not entries and not warnings:
        return None
    if 0 not in entries:
        raise ConfigError(_no_primary(entries, warnings))
    warnings += gaps(number for number in entries if number)
    limits = limits_from_env(environ)
    usable = _without_repeats(_usable(entries.values(), warnings), warnings)
    warnings += _missing_tiers(usable)
    warnings += look_alikes(environ)
    chains = {
        tier: tuple(ChainEntry(route=each.routes[tier]) for each in usable if tier in each.routes)
        for tier in TIERS
    }
    return Plan(
        source="the MODEL_* variables",
        config=_limits(limits.settings, fallbacks=len(usable) - 1),
        chains={tier: chain for tier, chain in chains.items() if chain},
        providers={each.provider.name: each.provider for each in usable},
        limits_in=LIMITS_VARIABLE,
        warnings=(*warnings, *limits.warnings),
    )


@dataclass(frozen=True, slots=True)
class _Usable:
    """An entry that can be used.

    Args:
        routes: Its routes, by tier.
    """

    entry: NumberedEntry
    provider: Provider
    routes: Mapping[str, Route]

    def same_tiers(self, other: _Usable) -> list[str]:
        """Return the tiers in which *other* has the same model and address, and all its keys."""
        if self.provider.base_url != other.provider.base_url:
            return []
        if not self.entry.secrets <= other.entry.secrets:
            return []
        theirs = {tier: route.model for tier, route in other.routes.items()}
        return [tier for tier, route in self.routes.items() if theirs.get(tier) == route.model]


def _limits(settings: Mapping[str, Any], *, fallbacks: int) -> FallbackConfig:
    """Return *settings* and the defaults; without a fallback these change nothing in a step."""
    defaults = {"move_policy": "first_call", "on_partial": "interrupt"} if fallbacks else {}
    return chain_config({**defaults, **settings}, siblings=fallbacks)


def _no_primary(entries: Mapping[int, NumberedEntry], warnings: Sequence[ConfigWarning]) -> str:
    first = next((f"{each.prefix}*" for each in entries.values()), None)
    reason = f"{first} is set" if first else str(warnings[0])
    return (
        f"the primary is not set: set MODEL_BASE_URL, MODEL_API_KEY and at least one of "
        f"MODEL_FAST, MODEL_BALANCED and MODEL_DEEP, or unset the fallbacks ({reason})"
    )


def _usable(entries: Iterable[NumberedEntry], warnings: list[ConfigWarning]) -> list[_Usable]:
    """Return the usable entries in order; a warning says why another is left out.

    Raises:
        ConfigError: The primary cannot be used.
    """
    usable: list[_Usable] = []
    for entry in entries:
        routes = dict(_routes(entry))
        provider = _provider(entry)
        problem = _problem(entry, provider, routes)
        if problem is not None and entry.number == 0:
            raise ConfigError(str(problem))
        if problem is None and provider is not None:
            usable.append(_Usable(entry, provider, routes))
            warnings += _doubtful_values(entry)
        warnings += _bad_models(entry)
        if problem is not None:
            warnings.append(problem)
    return usable


def _routes(entry: NumberedEntry) -> Iterator[tuple[str, Route]]:
    for tier in TIERS:
        model = entry.value(tier.upper())
        if _flaw(model) is None:
            yield tier, Route(f"{entry.name}/{model}")


def _provider(entry: NumberedEntry) -> Provider | None:
    """Return the provider of *entry*; None: its URL is missing or wrong."""
    variables = [entry.variable(name) for name in entry.keys]
    settings = {
        "wire": "openai-chat",
        "baseUrl": entry.value("BASE_URL").rstrip("/").removesuffix(_ENDPOINT),
        "apiKeyEnv": variables if len(variables) > 1 else variables[0],
    }
    try:
        return catalog(provider_settings({entry.name: settings}, where=""))[entry.name]
    except ConfigError:
        return None  # its message names `baseUrl`, which the user did not write


def _problem(
    entry: NumberedEntry, provider: Provider | None, routes: Mapping[str, Route]
) -> ConfigWarning | None:
    """Return why *entry* cannot be used; None: it can."""
    url = entry.variable("BASE_URL")
    left_out = f"{entry.name} is left out" if entry.number else "there is no primary"
    if not entry.value("BASE_URL"):
        others = ", ".join(entry.variable(name) for name, value in entry.values.items() if value)
        message = f"{url} {_missing(entry, 'BASE_URL')}, and so {left_out}"
        return ConfigWarning("C033", message, f"set it, or unset {others}")
    if provider is None:
        message = f"{url} is no address of an API, and so {left_out}"
        return ConfigWarning("C039", message, 'write it as "https://host/path", with no query')
    if not routes:
        tiers = ", ".join(entry.variable(tier.upper()) for tier in TIERS)
        message = f"none of {tiers} holds a model, and so {left_out}"
        return ConfigWarning("C036", message, f"set one of them, or unset {url}")
    return None


def _doubtful_values(entry: NumberedEntry) -> Iterator[ConfigWarning]:
    """Return warnings of values that may be wrong in a usable entry."""
    url, key = entry.variable("BASE_URL"), entry.variable("API_KEY")
    if not entry.value("API_KEY"):
        message = f"{url} is set, but {key} {_missing(entry, 'API_KEY').removesuffix(' set')}"
        yield ConfigWarning("C032", message, "set it; if the server needs no key, any word will do")
    if entry.missing_key is not None:
        message = f"{entry.variable(entry.missing_key)} is not set, but a later key is"
        yield ConfigWarning("C056", message, "set it, or number the keys without a gap")
    address = entry.value("BASE_URL").rstrip("/")
    if urlsplit(address).username is not None:
        message = f"{url} contains a user name, which is sent instead of {key}"
        yield ConfigWarning("C039", message, "remove what stands before the @")
    if address.endswith(_ENDPOINT):
        message = f"{url} ends in {_ENDPOINT}, which is ignored because it is always appended"
        yield ConfigWarning("C039", message, "remove it")
    elif urlsplit(address).hostname == _GEMINI_HOST and not address.endswith("/openai"):
        message = f"{url} is not the address of Gemini's chat completions"
        yield ConfigWarning("C039", message, f'write it as "https://{_GEMINI_HOST}/v1beta/openai"')


def _missing(entry: NumberedEntry, name: str) -> str:
    return "is empty" if name in entry.values else "is not set"


def _bad_models(entry: NumberedEntry) -> Iterator[ConfigWarning]:
    """Return warnings of tiers that are set to something else than a model."""
    for tier in TIERS:
        variable, model = entry.variable(tier.upper()), entry.values.get(tier.upper())
        flaw = None if model is None else _flaw(model)
        if flaw is not None:
            message = f"{variable} {flaw}, and so {entry.name} has no model for `{tier}`"
            yield ConfigWarning("C034", message, "set it to a model's name, or unset it")


def _flaw(model: str) -> str | None:
    """Return why *model* is not the name of a model, as a predicate; None: it may be."""
    if not model:
        return "is empty"
    if model.split() != [model]:
        return "has white space inside"
    return None if redact_shapes(model) == model else "looks like a key"


def _missing_tiers(usable: Sequence[_Usable]) -> Iterator[ConfigWarning]:
    for tier in TIERS:
        missing = [each.entry for each in usable if tier.upper() not in each.entry.values]
        if any(tier in each.routes for each in usable):
            for entry in missing:
                message = f"{entry.variable(tier.upper())} is not set"
                fix = f"set it, unless {entry.name} should not serve `{tier}`"
                yield ConfigWarning("C031", message, fix)
        elif missing:
            message = f"no entry has a model for `{tier}`, so no session can ask for it"
            fix = f"set {missing[0].variable(tier.upper())}, unless no session will"
            yield ConfigWarning("C031", message, fix)


def _without_repeats(usable: Sequence[_Usable], warnings: list[ConfigWarning]) -> list[_Usable]:
    """Return the entries without the tiers that repeat an earlier entry."""
    kept: list[_Usable] = []
    for later in usable:
        for earlier in kept:
            same = later.same_tiers(earlier)
            if same:
                warnings.append(_repeat_warning(later.entry, earlier.entry, same))
                routes = {tier: each for tier, each in later.routes.items() if tier not in same}
                later = replace(later, routes=routes)
        if later.routes:
            kept.append(later)
    return kept


def _repeat_warning(
    later: NumberedEntry, earlier: NumberedEntry, tiers: Sequence[str]
) -> ConfigWarning:
    first = ", ".join(earlier.variable(tier.upper()) for tier in tiers)
    repeats = ", ".join(later.variable(tier.upper()) for tier in tiers)
    verb = "repeats" if len(tiers) == 1 else "repeat"
    message = f"{repeats} {verb} {first}: one model, at one address, with one key"
    return ConfigWarning("C037", message, "unset them, or name another model or provider")
