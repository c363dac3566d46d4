"""What a program passes by mistake is refused at once, with what to write."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

import sidestep

CONFIG: dict[str, Any] = {"fallbackModelsByModel": {"a/x": "b/y"}}


def session(**options: Any) -> sidestep.Session:
    middleware = sidestep.Sidestep()
    return sidestep.Session("a/x", middleware=middleware, client=sidestep.Client(), **options)


def serve(**options: Any) -> sidestep.Serve:
    return sidestep.Serve(sidestep.Sidestep(), sidestep.Client(), **options)


def middleware(config: Any) -> sidestep.Sidestep:
    return sidestep.Sidestep(config)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        pytest.param(
            lambda: middleware(CONFIG), TypeError,
            "must be a `FallbackConfig`, got dict: make one with `FallbackConfig.model_validate(",
            id="a dict for a configuration",
        ),
        pytest.param(
            lambda: middleware("{}"), TypeError, "or take `Sidestep.from_env()`",
            id="JSON for a configuration",
        ),
        pytest.param(
            lambda: sidestep.RetryPolicy(retries=1.5),  # type: ignore[arg-type]
            ValueError, "`retries` must be a whole number, got 1.5", id="half a retry",
        ),
        pytest.param(
            lambda: sidestep.RetryPolicy(retries=-1), ValueError, "`retries` must be a finite",
            id="less than no retry",
        ),
        pytest.param(
            lambda: sidestep.Client(http=httpx.Client()),  # type: ignore[arg-type]
            TypeError, "`http` must be an AsyncClient of httpx or httpx2, got Client",
            id="a synchronous client",
        ),
        pytest.param(
            lambda: session(store="session.db"), TypeError,
            "`store` must be a `Store`, got 'session.db': write `SqliteStore(…)`",
            id="a path for a store",
        ),
        pytest.param(
            lambda: sidestep.Summary(keep=-1), ValueError, "`keep` must be a whole number of 0 or",
            id="less than no step",
        ),
        pytest.param(
            lambda: serve(hold="firts"), ValueError,
            "`hold` must be one of whole, first, got 'firts'", id="a hold that is spelled wrong",
        ),
        pytest.param(
            lambda: serve(token=""), ValueError, "`token` is empty: write a token, or None",
            id="an empty token",
        ),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused(
    make: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        make()

    assert message in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: middleware(None), id="no configuration"),
        pytest.param(
            lambda: middleware(sidestep.FallbackConfig.model_validate(CONFIG)), id="a configuration"
        ),
        pytest.param(lambda: sidestep.RetryPolicy(retries=0), id="no retry"),
        pytest.param(lambda: sidestep.Client(http=httpx.AsyncClient()), id="a client"),
        pytest.param(lambda: session(store=sidestep.MemoryStore()), id="a store"),
        pytest.param(lambda: sidestep.Summary(keep=0), id="no step that stays"),
        pytest.param(lambda: serve(hold="first", token=None), id="an address, without a loop"),
    ],
)
def test_a_right_argument_is_taken(make: Callable[[], object]) -> None:
    assert make() is not None
