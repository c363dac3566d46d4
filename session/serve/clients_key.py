"""The client's own key: when it is sent, and what it is blamed for. Only a hash of it is kept."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...provider.error import ProviderError
from ...provider.failure import FailureKind, Scope
from ..plan.keyed_route import ClientKey, KeyedRoute
from ..step.start import use_own_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...provider.relay.own_request import OwnRequest
    from ..step.attempt import Attempt
    from ..step.step import Step
    from .access import Caller


def use_clients_key(step: Step, own: OwnRequest | None, caller: Caller) -> None:
    """Keep the health of the key that *own* is sent with apart, if it is no key of ours.

    Args:
        own: None: the requested route does not get the client's own bytes.
    """
    if (key := _clients_key(own, caller)) is not None:
        use_own_key(step, KeyedRoute.of_client(step.requested, key))


def _clients_key(own: OwnRequest | None, caller: Caller) -> ClientKey | None:
    """Return the hash of the key that *own* is sent with; None: with a key of ours, or none.

    If *caller* has to send a key and sends none, this is the hash of no key, because no key of ours
    is to blame for the refusal.
    """
    if own is None or own.secret.key is not None:
        return None
    needs_none = caller.may_use_our_keys or not own.provider.key_variables
    if caller.key is not None:
        return caller.key
    return None if needs_none else ClientKey()


@contextmanager
def blaming_client(attempt: Attempt) -> Iterator[None]:
    """Let a missing model concern the client's own key alone, because another key may have it."""
    try:
        yield
    except ProviderError as error:
        if attempt.key.is_clients and error.failure.kind is FailureKind.NOT_FOUND:
            error.failure.scope = Scope.KEY_ON_ROUTE
        raise
