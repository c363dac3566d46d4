"""The key that a request is sent with, of those that its provider has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..failure import Failure, FailureKind, Scope, Stage
from ..secret import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..catalog.provider import Provider


def has_key(provider: Provider, environ: Mapping[str, str]) -> bool:
    """True if *provider* needs no key, or has one that is set."""
    variables = provider.key_variables
    return not variables or any(map(str.strip, (environ.get(each, "") for each in variables)))


def secret_of(
    provider: Provider, environ: Mapping[str, str], api_key_env: str | None = None
) -> Secret:
    """Return the key to send to *provider*; it redacts the other keys of the provider as well.

    Args:
        api_key_env: The variable that holds it; None: the first that is set.

    Raises:
        ValueError: *api_key_env* is no variable of the provider's keys.
    """
    variables = provider.key_variables
    if api_key_env is not None and api_key_env not in variables:
        raise _unknown_variable(provider)
    if len(variables) < 2:  # in nearly every request
        key = environ.get(variables[0], "").strip() if variables else None
        return Secret(key or None, variable=variables[0] if variables else None)
    keys = {each: environ.get(each, "").strip() for each in variables}
    variable = api_key_env or next((each for each, key in keys.items() if key), None)
    if variable is None or not any(keys.values()):
        return Secret(None)  # so that the failure names each variable
    key = keys.pop(variable)
    return Secret(key or None, variable=variable, others=tuple(filter(None, keys.values())))


def _unknown_variable(provider: Provider) -> ValueError:
    """Return the error for a variable that *provider* does not have.

    The variable is not quoted, because it may be a key that is given by mistake.
    """
    names = " or ".join(provider.key_variables)
    there = f"give {names}" if names else "leave it out, because no key is needed"
    return ValueError(f"`api_key_env` names no variable of {provider.name!r}: {there}")


def missing_key(provider: Provider, secret: Secret) -> Failure | None:
    """Return the failure for a missing key, or one not valid in a header; None: the key is fine."""
    if not provider.key_variables or secret.is_sendable:
        return None
    variable, fix = secret.variable, "set it"
    if variable is None:
        problem = provider.why_keyless()
        fix = fix if len(provider.key_variables) == 1 else "set one of them"
    elif secret.key is None:
        problem = f"{variable} is not set"
    else:
        problem = f"{variable} holds characters that no key has"
    message = f"{problem}: {fix} to a key of {provider.name}"
    return Failure(
        kind=FailureKind.AUTH, message=message, status=401, stage=Stage.CONNECT, scope=Scope.KEY
    )
