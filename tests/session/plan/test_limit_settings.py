"""The limits of each source are set where its messages say, in both spellings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from sidestep import (
    Attempt,
    ConfigError,
    FallbackConfig,
    FallbackUnsafe,
    MoveHistory,
    RetryPolicy,
    Route,
    Sidestep,
    StepFailed,
    StreamInterrupted,
)
from sidestep.session.command.check import inspect
from sidestep.session.plan.config import LIMITS
from sidestep.session.plan.load import load_plan
from sidestep.session.plan.plan import Plan
from sidestep.session.plan.rules_schema import LimitSettings

from ...virtual import VirtualClock
from .asking_agent import Answer

A, B = Route("zai/a"), Route("openai/b")
LIMITS_VARIABLE = "SIDESTEP_LIMITS"

VALUES: dict[str, Any] = {
    "fallback_on_errors": [418],
    "max_fallback_attempts": 1,
    "max_upstream_retry_attempts": 7,
    "cooldown_seconds": 8,
    "max_cooldown_seconds": 9,
    "cooldown_backoff": 1.5,
    "max_wait_seconds": 10,
    "max_step_wait_seconds": 11,
    "patience_seconds": 14_400,
    "on_partial": "interrupt",
    "move_policy": "first_call",
    "idempotent_tools": ["read", "list"],
    "return_policy": "turn",
}
"""A value of each limit that is no source's default."""


def by_rules(limits: dict[str, Any]) -> tuple[str, dict[str, str]]:
    text = '[[rules]]\ntask_class = "coding"\n'
    for route in (A, B, Route("groq/c")):
        text += f'[[rules.candidates]]\nprovider = "{route.provider}"\nmodel = "{route.model}"\n'
    text += "[limits]\n" + "".join(f"{key} = {json.dumps(each)}\n" for key, each in limits.items())
    return "coding", {"SIDESTEP_ROUTING_RULES": text}


def by_hint(limits: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return A, {"SIDESTEP_HINT": "zai:a,openai:b,groq:c", LIMITS_VARIABLE: json.dumps(limits)}


def by_numbers(limits: dict[str, Any]) -> tuple[str, dict[str, str]]:
    environ = {LIMITS_VARIABLE: json.dumps(limits)}
    for prefix in ("", "FALLBACK_1_", "FALLBACK_2_"):
        environ[f"MODEL_{prefix}BASE_URL"] = f"http://{prefix or 'primary'}.test"
        environ[f"MODEL_{prefix}API_KEY"] = "key"
        environ[f"MODEL_{prefix}FAST"] = "m"
    return "fast", environ


def by_map(limits: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return A, {"SIDESTEP_FALLBACK_CONFIG": json.dumps({"fallbackModelsByModel": {A: B}} | limits)}


WAYS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, str]]]] = {
    "rules": by_rules, "hint": by_hint, "numbers": by_numbers, "map": by_map,
}  # fmt: skip
every_way = pytest.mark.parametrize("way", WAYS)


def plan_of(way: str, limits: dict[str, Any]) -> Plan:
    plan = load_plan(WAYS[way](limits)[1])
    assert plan is not None
    return plan


@pytest.mark.parametrize("spell", [str, to_camel], ids=["snake", "camel"])
@pytest.mark.parametrize("name", sorted(LIMITS))
@every_way
def test_each_source_takes_each_limit_in_both_spellings(
    way: str, name: str, spell: Callable[[str], str]
) -> None:
    config = plan_of(way, {spell(name): VALUES[name]}).config

    value = getattr(config, name)
    assert (list(value) if isinstance(value, tuple) else value) == VALUES[name]
    assert value != getattr(plan_of(way, {}).config, name) or (way, name) in {
        ("numbers", "on_partial"), ("numbers", "move_policy"),
    }  # fmt: skip


def test_the_rules_and_this_test_know_every_limit() -> None:
    optional = set(FallbackConfig.model_fields) - {"fallback_models_by_model", "warnings"}

    assert set(LimitSettings.model_fields) == LIMITS == set(VALUES) == optional - {"providers"}


def test_tools_are_taken_from_both_places_in_rules() -> None:
    _, environ = by_rules({"idempotent_tools": ["list", "read"]})
    text = 'idempotent_tools = ["read", "grep"]\n' + environ["SIDESTEP_ROUTING_RULES"]

    plan = load_plan({"SIDESTEP_ROUTING_RULES": text})

    assert plan is not None
    assert plan.config.idempotent_tools == ("read", "grep", "list")


PLACES = {
    "rules": "`{snake}` of [limits]",
    "hint": "`{camel}` of SIDESTEP_LIMITS",
    "numbers": "`{camel}` of SIDESTEP_LIMITS",
    "map": "`{camel}`",
}


def place(way: str, name: str) -> str:
    return PLACES[way].format(snake=name, camel=to_camel(name))


async def end_of(
    way: str,
    limits: dict[str, Any],
    failure: Exception,
    *,
    history: MoveHistory | None = None,
    shown: bool = False,
) -> Exception | None:
    """Return what a step raises in which the first route fails; None: another one answers."""
    asked, environ = WAYS[way]({"max_upstream_retry_attempts": 0} | limits)
    middleware = Sidestep.from_env(environ, clock=VirtualClock(), policy=RetryPolicy(jitter=0.0))
    step = middleware.step(asked, history=history)

    async def call(attempt: Attempt) -> None:
        if attempt.route == step.requested:
            if shown:
                attempt.emitted("half")
            raise failure

    try:
        await step.run(call)
    except (Answer, StepFailed) as error:
        return error
    return None


def text_of(error: Exception | None) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


@pytest.mark.asyncio
@every_way
async def test_what_a_step_says_of_a_tool_can_be_followed(way: str) -> None:
    history = MoveHistory(holds_calls=True, tools_run=("read",))
    limits = {"move_policy": "idempotent"}

    stays = await end_of(way, limits, Answer(503), history=history)
    moves = await end_of(way, limits | {"idempotent_tools": ["read"]}, Answer(503), history=history)

    assert isinstance(stays, FallbackUnsafe)
    assert f"'read' had run and is not in {place(way, 'idempotent_tools')}" in str(stays)
    assert moves is None


@pytest.mark.asyncio
@every_way
async def test_what_a_step_says_of_the_move_policy_can_be_followed(way: str) -> None:
    history = MoveHistory(holds_calls=True)

    stays = await end_of(way, {"move_policy": "first_call"}, Answer(503), history=history)
    moves = await end_of(way, {"move_policy": "rebuild"}, Answer(503), history=history)

    assert f"{place(way, 'move_policy')} is 'first_call'" in text_of(stays)
    assert moves is None


@pytest.mark.asyncio
@every_way
async def test_what_a_step_says_of_shown_output_can_be_followed(way: str) -> None:
    stays = await end_of(way, {"on_partial": "interrupt"}, Answer(503), shown=True)
    moves = await end_of(way, {"on_partial": "retract"}, Answer(503), shown=True)

    assert isinstance(stays, StreamInterrupted)
    assert f"{place(way, 'on_partial')} is 'interrupt'" in str(stays)
    assert moves is None


@pytest.mark.asyncio
@every_way
@pytest.mark.parametrize("status", [404, 418, 400], ids=str)
async def test_what_a_step_says_of_a_status_can_be_followed(way: str, status: int) -> None:
    """Statuses that are set replace what a source moves on otherwise, also a hint's everything."""
    stays = await end_of(way, {"fallback_on_errors": [503]}, Answer(status))
    moves = await end_of(way, {"fallback_on_errors": [status]}, Answer(status))

    assert f"status {status} is not in {place(way, 'fallback_on_errors')}" in text_of(stays)
    assert moves is None


@pytest.mark.asyncio
@every_way
async def test_statuses_that_are_set_replace_the_kinds_of_rules(way: str) -> None:
    stays = await end_of(way, {"fallback_on_errors": [503]}, Answer(402))
    moves = await end_of(way, {"fallback_on_errors": [401]}, Answer(401))

    assert isinstance(stays, Answer)
    assert moves is None


@pytest.mark.parametrize(
    ("limits", "codes"),
    [
        pytest.param({"max_fallback_attempts": 0}, "C010", id="no swaps"),
        pytest.param({"max_fallback_attempts": 1}, "C018", id="less swaps than siblings"),
        pytest.param({"cooldown_seconds": 0}, "C011", id="no cooldown"),
        pytest.param(
            {"cooldown_seconds": 9, "max_cooldown_seconds": 8}, "C012", id="a short maximum"
        ),
        pytest.param({"patience_seconds": 59}, "C040", id="a patience below the cooldown"),
        pytest.param({"patience_seconds": 60}, "", id="a patience as long as the cooldown"),
        pytest.param(
            {"patience_seconds": 59, "cooldown_seconds": 59}, "", id="a patience and a cooldown"
        ),
        pytest.param({"patience_seconds": 0}, "", id="no patience"),
        pytest.param({"fallback_on_errors": [200]}, "C013", id="a status of no failure"),
        pytest.param({"cooldown_seconds": 9}, "", id="nothing"),
    ],
)
@pytest.mark.parametrize("way", ["rules", "hint", "numbers"])
def test_check_warns_of_limits_in_the_words_of_their_source(
    way: str, limits: dict[str, Any], codes: str
) -> None:
    name = next(iter(limits))

    found = inspect(WAYS[way](limits)[1])

    known = {"C010", "C011", "C012", "C013", "C018", "C040"}
    warnings = [each for each in found["warnings"] if each["code"] in known]
    assert {each["code"] for each in warnings} == set(codes.split())
    for each in warnings:
        assert place(way, name) in each["message"] + each["fix"]


@pytest.mark.parametrize("way", ["hint", "numbers"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("{", "SIDESTEP_LIMITS: not JSON (", id="not JSON"),
        pytest.param("[1]", "SIDESTEP_LIMITS: expected one JSON object, got a list", id="a list"),
        pytest.param(
            '{"cooldownSeconds": "60"}',
            "SIDESTEP_LIMITS: `cooldownSeconds` must be a whole number of 0 or more, without "
            "quotes, got '60'", id="a string",
        ),
        pytest.param("@/nowhere", "SIDESTEP_LIMITS (/nowhere): it cannot be read", id="no file"),
    ],
)  # fmt: skip
def test_wrong_limits_are_named(way: str, text: str, says: str) -> None:
    environ = WAYS[way]({})[1] | {LIMITS_VARIABLE: text}

    with pytest.raises(ConfigError) as caught:
        load_plan(environ)

    assert says in str(caught.value)
    assert inspect(environ)["state"] == "wrong"


@pytest.mark.parametrize(
    ("limits", "warning"),
    [
        pytest.param(
            {"cooldwnSeconds": 1},
            "C001: SIDESTEP_LIMITS: unknown key 'cooldwnSeconds': write `cooldownSeconds`",
            id="misspelt",
        ),
        pytest.param(
            {"cooldownSeconds": 1, "cooldown_seconds": 1},
            "C007: SIDESTEP_LIMITS: 'cooldown_seconds' is set in two spellings, and the first "
            "counts: remove one of the two", id="two spellings",
        ),
        pytest.param(
            {"providers": {}},
            "C001: SIDESTEP_LIMITS: `providers` is no limit, and has no effect there: set "
            "SIDESTEP_PROVIDERS", id="providers",
        ),
        pytest.param(
            {"fallbackModelsByModel": {A: B}},
            "C001: SIDESTEP_LIMITS: `fallbackModelsByModel` is no limit, and has no effect there: "
            "name the routes in the hint, or in the numbered variables", id="a map",
        ),
        pytest.param({"cooldownSeconds": 1}, None, id="right"),
        pytest.param({}, None, id="nothing"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", ["hint", "numbers"])
def test_what_has_no_effect_in_the_limits_is_a_warning(
    way: str, limits: dict[str, Any], warning: str | None
) -> None:
    warnings = [str(each) for each in plan_of(way, limits).warnings if each.code != "C031"]

    assert warnings == ([] if warning is None else [warning])


@pytest.mark.parametrize(
    ("environ", "fix"),
    [
        pytest.param(by_map({})[1], "set its keys in the map, or remove it", id="a map"),
        pytest.param(
            by_rules({})[1], "set its keys in [limits] of the rules, or remove it", id="rules"
        ),
        pytest.param({}, "set one, or remove it", id="nothing"),
        pytest.param(by_hint({})[1], None, id="a hint"),
        pytest.param(by_numbers({})[1], None, id="numbers"),
    ],
)
def test_limits_that_nothing_reads_are_a_warning(environ: dict[str, str], fix: str | None) -> None:
    found = inspect(environ | {LIMITS_VARIABLE: '{"cooldownSeconds": 1}'})

    fixes = [each["fix"] for each in found["warnings"] if each["code"] == "C028"]
    assert fixes == ([] if fix is None else [fix])


@pytest.mark.parametrize("way", ["hint", "numbers"])
def test_limits_are_followed_in_the_variable_and_in_a_file(way: str, tmp_path: Path) -> None:
    path = tmp_path / "limits"
    _, environ = WAYS[way]({"cooldownSeconds": 1})
    middleware = Sidestep.from_env(environ)

    def cooldown() -> int | None:
        config = middleware.config
        return None if config is None else config.cooldown_seconds

    seen = [cooldown()]
    environ[LIMITS_VARIABLE] = f"@{path}"
    seen.append(cooldown())  # the file is missing
    for number in (2, 3):
        path.write_text(json.dumps({"cooldownSeconds": number}))
        seen.append(cooldown())
    path.write_text('{"cooldownSec')
    seen.append(cooldown())
    del environ[LIMITS_VARIABLE]
    seen.append(cooldown())

    assert seen == [1, 1, 2, 3, 3, 60]
