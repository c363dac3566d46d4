"""The variables of the providers' keys: which are set, and what `check` warns of in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.secret import Secret
from .config_warning import ConfigWarning
from .sibling_map import reachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...provider.catalog.provider import Provider
    from .plan import RouteOptions


def named_providers(all_options: Iterable[RouteOptions]) -> list[str]:
    """Return the providers to which steps may go, each once."""
    routes = (
        route
        for options in all_options
        for route in (options.requested, *reachable(options.requested, options.siblings))
    )
    return list(dict.fromkeys(route.provider for route in routes))


def set_keys(
    names: Iterable[str], providers: Mapping[str, Provider], environ: Mapping[str, str]
) -> dict[str, dict[str, bool]]:
    """Return which key variables of the providers in *names* are set, by provider and variable."""
    return {
        name: {variable: bool(_key(variable, environ)) for variable in provider.key_variables}
        for name in names
        if (provider := providers.get(name)) is not None and provider.key_variables
    }


def key_warnings(
    provider: Provider, environ: Mapping[str, str], *, names_unset: bool
) -> Iterator[ConfigWarning]:
    """Warn of keys of *provider* that are not set, that cannot be sent, or that are one key.

    Args:
        names_unset: False: somebody else warns of a key that is not set.
    """
    keys = {variable: _key(variable, environ) for variable in provider.key_variables}
    if names_unset:
        yield from _unset(provider, [variable for variable, key in keys.items() if not key])
    for variable, key in keys.items():
        if key and not Secret(key).is_sendable:
            message = f"{variable} holds characters that no key has"
            yield ConfigWarning("C016", message, f"set it to a key of {provider.name}")
    yield from _repeats(keys)


def _unset(provider: Provider, missing: Sequence[str]) -> Iterator[ConfigWarning]:
    several = len(provider.key_variables) > 1
    if missing and len(missing) == len(provider.key_variables):
        message = f"{provider.why_keyless()}, so that {provider.name!r} cannot be asked"
        fix = f"set {'one' if several else 'it'}, unless your agent has the key elsewhere"
        yield ConfigWarning("C016", message, fix)
    else:
        for variable in missing:
            message = f"{variable} is not set, so that {provider.name!r} has one key fewer"
            yield ConfigWarning("C056", message, "set it, or take it out of `apiKeyEnv`")


def _repeats(keys: Mapping[str, str]) -> Iterator[ConfigWarning]:
    first: dict[str, str] = {}
    for variable, key in keys.items():
        earlier = first.setdefault(key, variable)
        if key and earlier != variable:
            message = f"{variable} holds the same key as {earlier}, so that it replaces no other"
            yield ConfigWarning("C057", message, "set it to another key, or unset it")


def _key(variable: str, environ: Mapping[str, str]) -> str:
    return environ.get(variable, "").strip()
