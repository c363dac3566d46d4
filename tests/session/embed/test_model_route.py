"""The route that `build` of a framework gets: it has a key, which no copy or text shows."""

from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING

import pytest

from sidestep import Route, Sidestep
from sidestep.session.embed.built_models import BuiltModels
from sidestep.session.embed.model_route import ModelRoute

if TYPE_CHECKING:
    from collections.abc import Callable

ENVIRON = {"ONE": "planted-one", "TWO": " planted-two\n"}


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        pytest.param("ONE", "planted-one", id="set"),
        pytest.param("TWO", "planted-two", id="with white space"),
        pytest.param("THREE", None, id="not set"),
        pytest.param(None, None, id="none is needed"),
    ],
)
def test_a_model_route_has_the_key_that_is_set_when_it_is_asked_for(
    variable: str | None, key: str | None
) -> None:
    environ = dict(ENVIRON)
    route = ModelRoute.within(environ, Route("house/m"), variable)

    before = route.api_key
    environ.clear()

    assert (route, route.provider, route.model) == ("house/m", "house", "m")
    assert (before, route.api_key, route.api_key_env) == (key, None, variable)


@pytest.mark.parametrize(
    "copied",
    [
        pytest.param(copy.copy, id="copy"),
        pytest.param(copy.deepcopy, id="deepcopy"),
        pytest.param(lambda route: pickle.loads(pickle.dumps(route)), id="pickle"),  # noqa: S301
    ],
)
def test_a_copy_of_a_model_route_is_its_route(copied: Callable[[Route], Route]) -> None:
    route = ModelRoute.within(ENVIRON, Route("house/m"), "ONE")

    other = copied(route)

    assert (type(other), other) == (Route, "house/m")
    assert b"planted" not in pickle.dumps(route)
    assert "planted" not in repr(route) + str(route)


def test_a_model_route_of_ones_own_has_no_key() -> None:
    assert ModelRoute("house/m").api_key is None


@pytest.mark.asyncio
async def test_a_model_is_built_once_for_each_key_of_a_route() -> None:
    house = {"wire": "openai-chat", "baseUrl": "http://h", "apiKeyEnv": ["ONE", "TWO"]}
    environ = ENVIRON | {"SIDESTEP_PROVIDERS": json.dumps({"house": house})}
    middleware = Sidestep.from_env(environ)
    built: list[str | None] = []

    def build(route: ModelRoute) -> list[str | None]:
        built.append(route.api_key)
        return [route.api_key]

    models = BuiltModels(middleware, build, list, "a list")
    used = []
    for _ in range(2):
        models.of_route(Route("house/m"))
        async for attempt in middleware.step("house/m"):
            async with attempt:
                used += models.of(attempt)
                if attempt.api_key_env == "ONE":
                    raise StatusError
    assert used == ["planted-one", "planted-two", "planted-two"]
    assert built == ["planted-one", "planted-two"]
    assert models.built == [["planted-one"], ["planted-two"]]


class StatusError(Exception):
    """What an SDK raises if a key is refused."""

    status_code = 401
