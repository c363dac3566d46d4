"""The plan that numbered variables make: ``MODEL_*``, and ``MODEL_FALLBACK_<n>_*``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...provider.catalog.catalog import catalog
from ...provider.catalog.settings import provider_settings
from ...provider.error import ConfigError
from ...provider.route import Route
from ...provider.secret import masked
from .chain_entry import ChainEntry
from .config import bare_config
from .config_warning import ConfigWarning
from .numbered_variables import gaps, look_alikes, misnumbered, written_entries
from .plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...provider.catalog.provider import Provider
    from .config import FallbackConfig
    from .numbered_variables import Written

TIERS = ("fast", "balanced", "deep")

_ENDPOINT = "/chat/completions"
"""What the wire appends to a base URL by itself."""

_GEMINI_HOST = "generativelanguage.googleapis.com"


def numbered_plan(environ: Mapping[str, str]) -> Plan | None:
    """Return the plan that the ``MODEL_*`` variables make; None where none of them is set.

    A session asks for ``fast``, ``balanced`` or ``deep``: the entries that have that tier, the
    primary first, then the fallbacks by their numbers. A fallback that cannot be used is left
    out with a warning. A primary without fallbacks is a plan that changes nothing.

    Raises:
        ConfigError: There is no primary that could be used; the message names its variables.
    """
    entries = written_entries(environ)
    warnings = list(misnumbered(environ))
    if not entries and not warnings:
        return None
    if 0 not in entries:
        raise ConfigError(_no_primary(entries, warnings))
    warnings += gaps(number for number in entries if number)
    usable = _without_twins(_usable(entries.values(), warnings), warnings)
    warnings += _missing_tiers(usable)
    warnings += look_alikes(environ)
    chains = {
        tier: tuple(ChainEntry(route=each.routes[tier]) for each in usable if tier in each.routes)
        for tier in TIERS
    }
    return Plan(
        source="the MODEL_* variables",
        config=_limits(fallbacks=len(usable) - 1),
        chains={tier: chain for tier, chain in chains.items() if chain},
        providers={each.provider.name: each.provider for each in usable},
        warnings=tuple(warnings),
    )


@dataclass(frozen=True, slots=True)
class _Usable:
    """An entry that can take a step.

    Args:
        routes: Its route in each tier that it has.
    """

    written: Written
    provider: Provider
    routes: Mapping[str, Route]

    def twins(self, other: _Usable) -> list[str]:
        """Return the tiers in which both ask one model at one address with one key."""
        if self.provider.base_url != other.provider.base_url:
            return []
        if self.written.value("API_KEY") != other.written.value("API_KEY"):
            return []
        theirs = {tier: route.model for tier, route in other.routes.items()}
        return [tier for tier, route in self.routes.items() if theirs.get(tier) == route.model]


def _limits(*, fallbacks: int) -> FallbackConfig:
    """Return the limits; without a fallback those under which a step goes as without us."""
    if not fallbacks:
        return bare_config(max_fallback_attempts=0)
    return bare_config(
        max_fallback_attempts=fallbacks, move_policy="first_call", on_partial="interrupt"
    )


def _no_primary(entries: Mapping[int, Written], warnings: Sequence[ConfigWarning]) -> str:
    first = next((f"{each.prefix}*" for each in entries.values()), None)
    found = f"{first} is set" if first else str(warnings[0])
    return (
        f"the primary is not set: set MODEL_BASE_URL, MODEL_API_KEY and at least one of "
        f"MODEL_FAST, MODEL_BALANCED and MODEL_DEEP, or unset the fallbacks ({found})"
    )


def _usable(entries: Iterable[Written], warnings: list[ConfigWarning]) -> list[_Usable]:
    """Return the entries that can be used, in their order.

    Raises:
        ConfigError: The primary is none of them.
    """
    usable: list[_Usable] = []
    for written in entries:
        routes = dict(_routes(written))
        provider = _provider(written)
        problem = _problem(written, provider, routes)
        if problem is not None and written.number == 0:
            raise ConfigError(str(problem))
        if problem is None and provider is not None:
            usable.append(_Usable(written, provider, routes))
            warnings += _doubts(written)
        warnings += _unnamed(written)
        if problem is not None:
            warnings.append(problem)
    return usable


def _routes(written: Written) -> Iterator[tuple[str, Route]]:
    for tier in TIERS:
        model = written.value(tier.upper())
        if _flaw(model) is None:
            yield tier, Route(f"{written.name}/{model}")


def _provider(written: Written) -> Provider | None:
    """Return the provider that *written* describes; None: its URL is missing or wrong."""
    settings = {
        "wire": "openai-chat",
        "baseUrl": written.value("BASE_URL").rstrip("/").removesuffix(_ENDPOINT),
        "apiKeyEnv": written.variable("API_KEY"),
    }
    try:
        return catalog(provider_settings({written.name: settings}, where=""))[written.name]
    except ConfigError:
        return None  # what it says of our own spelling would help nobody


def _problem(
    written: Written, provider: Provider | None, routes: Mapping[str, Route]
) -> ConfigWarning | None:
    """Return why *written* cannot be used; None: it can."""
    url = written.variable("BASE_URL")
    left_out = f"{written.name} is left out" if written.number else "there is no primary"
    if not written.value("BASE_URL"):
        others = ", ".join(written.variable(name) for name, held in written.values.items() if held)
        message = f"{url} {_lack(written, 'BASE_URL')}, and so {left_out}"
        return ConfigWarning("C033", message, f"set it, or unset {others}")
    if provider is None:
        message = f"{url} is no address of an API, and so {left_out}"
        return ConfigWarning("C039", message, 'write it as "https://host/path", with no query')
    if not routes:
        tiers = ", ".join(written.variable(tier.upper()) for tier in TIERS)
        message = f"none of {tiers} holds a model, and so {left_out}"
        return ConfigWarning("C036", message, f"set one of them, or unset {url}")
    return None


def _doubts(written: Written) -> Iterator[ConfigWarning]:
    """Warn of what may go wrong with an entry that is used."""
    url, key = written.variable("BASE_URL"), written.variable("API_KEY")
    if not written.value("API_KEY"):
        message = f"{url} is set, but {key} {_lack(written, 'API_KEY').removesuffix(' set')}"
        yield ConfigWarning("C032", message, "set it, to any word where the server needs no key")
    address = written.value("BASE_URL").rstrip("/")
    if urlsplit(address).username is not None:
        message = f"{url} has a user's name in it, which is sent in place of {key}"
        yield ConfigWarning("C039", message, "leave out what stands before the @")
    if address.endswith(_ENDPOINT):
        message = f"{url} ends in {_ENDPOINT}, which is appended anyway, and is read without it"
        yield ConfigWarning("C039", message, "leave that out")
    elif urlsplit(address).hostname == _GEMINI_HOST and not address.endswith("/openai"):
        message = f"{url} is not where Gemini speaks chat completions"
        yield ConfigWarning("C039", message, f'write it as "https://{_GEMINI_HOST}/v1beta/openai"')


def _lack(written: Written, name: str) -> str:
    return "is empty" if name in written.values else "is not set"


def _unnamed(written: Written) -> Iterator[ConfigWarning]:
    """Warn of tiers that are set to what is no model's name."""
    for tier in TIERS:
        variable, model = written.variable(tier.upper()), written.values.get(tier.upper())
        what = None if model is None else _flaw(model)
        if what is not None:
            message = f"{variable} {what}, and so {written.name} has no model for `{tier}`"
            yield ConfigWarning("C034", message, "set it to a model's name, or unset it")


def _flaw(model: str) -> str | None:
    """Return why *model* is no model's name, as the rest of a sentence; None: it may be one."""
    if not model:
        return "is empty"
    if model.split() != [model]:
        return "has white space inside"
    return None if masked(model) == model else "looks like a key"


def _missing_tiers(usable: Sequence[_Usable]) -> Iterator[ConfigWarning]:
    for tier in TIERS:
        missing = [each.written for each in usable if tier.upper() not in each.written.values]
        if any(tier in each.routes for each in usable):
            for written in missing:
                message = f"{written.variable(tier.upper())} is not set"
                cure = f"set it, unless {written.name} is not to answer for `{tier}`"
                yield ConfigWarning("C031", message, cure)
        elif missing:
            message = f"no entry has a model for `{tier}`, so that no session can ask for it"
            cure = f"set {missing[0].variable(tier.upper())}, unless none will"
            yield ConfigWarning("C031", message, cure)


def _without_twins(usable: Sequence[_Usable], warnings: list[ConfigWarning]) -> list[_Usable]:
    """Return the entries without the tiers in which they would repeat an earlier one."""
    kept: list[_Usable] = []
    for entry in usable:
        here = entry
        for earlier in kept:
            twins = here.twins(earlier)
            if twins:
                warnings.append(_twin_warning(here.written, earlier.written, twins))
                routes = {tier: each for tier, each in here.routes.items() if tier not in twins}
                here = replace(here, routes=routes)
        if here.routes:
            kept.append(here)
    return kept


def _twin_warning(later: Written, earlier: Written, tiers: Sequence[str]) -> ConfigWarning:
    theirs = ", ".join(earlier.variable(tier.upper()) for tier in tiers)
    ours = ", ".join(later.variable(tier.upper()) for tier in tiers)
    verb = "repeats" if len(tiers) == 1 else "repeat"
    message = f"{ours} {verb} {theirs}: one model, at one address, with one key"
    return ConfigWarning("C037", message, "leave them out, or take another model or provider")
