"""Whose a failure is."""

from __future__ import annotations

import pytest

from sidestep.provider.failure import Failure, FailureKind, Scope

_KEYED = {FailureKind.RATE_LIMIT, FailureKind.QUOTA, FailureKind.AUTH}


@pytest.mark.parametrize("kind", FailureKind)
def test_a_limit_a_quota_and_a_key_are_the_keys_and_all_else_is_the_routes(
    kind: FailureKind,
) -> None:
    expected = Scope.KEY_ON_ROUTE if kind in _KEYED else Scope.ROUTE
    assert Failure(kind=kind, message="").effective_scope is expected


@pytest.mark.parametrize("scope", Scope)
def test_what_the_words_of_the_provider_say_comes_before_the_kind(scope: Scope) -> None:
    assert Failure(kind=FailureKind.QUOTA, message="", scope=scope).effective_scope is scope
