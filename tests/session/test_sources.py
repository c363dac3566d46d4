"""Four ways to say where a step may go, one plan: the same requests in the same outage."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sidestep import Client, ConfigError, ProviderError, Session, Sidestep, StepFailed
from sidestep.provider.scenario import Scenario
from sidestep.provider.stub import Stub
from sidestep.session.plan_source import load_plan

from ..virtual import VirtualClock

FIRST, SECOND, THIRD = "primary/claude", "fallback-1/llama", "fallback-2/gemma"
ROUTES = (FIRST, SECOND, THIRD)
DOWN: Any = {"status": 503}
OK: Any = {"text": "hello"}

RULES = """
[[rules]]
task_class = "balanced"
"""


def _providers(url: str) -> dict[str, Any]:
    return {
        name: {"wire": "openai-chat", "baseUrl": f"{url}/{name}/v1", "apiKeyEnv": None}
        for name in ("primary", "fallback-1", "fallback-2")
    }


def _by_map(url: str) -> tuple[str, dict[str, str]]:
    config = {
        "fallbackModelsByModel": {FIRST: [SECOND, THIRD], SECOND: THIRD},
        "movePolicy": "first_call",
    }
    return FIRST, {
        "SIDESTEP_FALLBACK_CONFIG": json.dumps(config),
        "SIDESTEP_PROVIDERS": json.dumps(_providers(url)),
    }


def _by_rules(url: str) -> tuple[str, dict[str, str]]:
    rules = RULES
    for route in ROUTES:
        provider, model = route.split("/")
        rules += f'[[rules.candidates]]\nprovider = "{provider}"\nmodel = "{model}"\n'
    return "balanced", {
        "SIDESTEP_ROUTING_RULES": rules,
        "SIDESTEP_PROVIDERS": json.dumps(_providers(url)),
    }


def _by_hint(url: str) -> tuple[str, dict[str, str]]:
    return "primary/claude", {
        "SIDESTEP_HINT": "primary,fallback-1:llama,${LAST:-fallback-2}:gemma",
        "SIDESTEP_PROVIDERS": json.dumps(_providers(url)),
    }


def _by_numbers(url: str) -> tuple[str, dict[str, str]]:
    environ = {}
    for prefix, route in zip(("", "FALLBACK_1_", "FALLBACK_2_"), ROUTES, strict=True):
        provider, model = route.split("/")
        environ[f"MODEL_{prefix}BASE_URL"] = f"{url}/{provider}/v1"
        environ[f"MODEL_{prefix}API_KEY"] = "sk-1"
        environ[f"MODEL_{prefix}BALANCED"] = model
    return "balanced", environ


WAYS = {"map": _by_map, "rules": _by_rules, "hint": _by_hint, "numbers": _by_numbers}

OUTAGES = {
    "all well": ({FIRST: OK, SECOND: OK, THIRD: OK}, [FIRST]),
    "the first is down": ({FIRST: DOWN, SECOND: OK, THIRD: OK}, [FIRST] * 6 + [SECOND]),
    "two are down": (
        {FIRST: DOWN, SECOND: DOWN, THIRD: OK}, [FIRST] * 6 + [SECOND] * 6 + [THIRD]
    ),
    "all are down": (
        {FIRST: DOWN, SECOND: DOWN, THIRD: DOWN}, [FIRST] * 6 + [SECOND] * 6 + [THIRD] * 6
    ),
    "the first comes back": (
        {FIRST: [DOWN, OK], SECOND: OK, THIRD: OK}, [FIRST] * 2
    ),
    "a hint above what is waited for": (
        {FIRST: {"status": 429, "headers": {"retry-after": "300"}}, SECOND: OK, THIRD: OK},
        [FIRST, SECOND],
    ),
    "half a stream before the first output": (
        {FIRST: {"text": "x", "after": 0, "cut": True}, SECOND: OK, THIRD: OK},
        [FIRST] * 6 + [SECOND],
    ),
}  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("way", WAYS)
async def test_the_same_routes_make_the_same_requests_in_the_same_outage(
    way: str, outage: str
) -> None:
    answers, asked = OUTAGES[outage]
    async with (
        Stub(Scenario.parse({"answers": answers})) as stub,
        httpx.AsyncClient(timeout=None, trust_env=False) as http,  # noqa: S113
    ):
        wanted, environ = WAYS[way](stub.url)
        middleware = Sidestep.from_env(environ, clock=VirtualClock())
        client = Client(http=http, providers=middleware.providers, environ=environ)
        session = Session(wanted, middleware=middleware, client=client)
        try:
            ended = await session.turn("hi")
        except (ProviderError, StepFailed) as error:
            assert outage == "all are down", error  # noqa: PT017 - of some rows only
        else:
            assert (ended.route, ended.requested) == (asked[-1], FIRST)

    assert [str(received.route) for received in stub.requests] == asked


def test_two_ways_at_once_are_an_error_that_says_which_one_is_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    environ = _by_numbers("http://h")[1] | {"SIDESTEP_HINT": "zai:glm,anthropic:claude"}

    with pytest.raises(ConfigError, match="SIDESTEP_HINT is used, and MODEL_BASE_URL is not"):
        load_plan(environ)
    middleware = Sidestep.from_env(environ)
    assert middleware.plan is not None
    assert middleware.plan.source == "SIDESTEP_HINT"
    assert "unset all but one" in caplog.text


def test_what_nobody_set_wraps_nothing() -> None:
    middleware = Sidestep.from_env({})

    assert middleware.plan is None
    assert middleware.requested("a/b") == "a/b"


def test_a_name_that_no_chain_has_is_refused_with_those_that_there_are() -> None:
    middleware = Sidestep.from_env(_by_numbers("http://h")[1])

    with pytest.raises(ValueError, match="'quick' is neither a route nor one of balanced"):
        middleware.step("quick")
