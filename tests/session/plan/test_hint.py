"""Hint chains: how they are read, what is wrong with them, and where their steps go."""

from __future__ import annotations

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import (
    Attempt,
    ConfigError,
    Failure,
    FailureKind,
    FallbackConfig,
    FallbackExhausted,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
)
from sidestep.provider.catalog.catalog import catalog
from sidestep.session.plan.hint import hint_plan
from sidestep.session.plan.plan import HINT as NAME
from sidestep.session.plan.plan import Plan
from sidestep.session.plan.variable_expansion import expand

from ...virtual import VirtualClock
from .asking_agent import Answer, Outage, requests_in

KNOWN = {name: catalog()[name] for name in ("zai", "anthropic", "openrouter")}
KEY = "sk-do-not-tell"
Z, A, R = Route("zai/glm-5.2"), Route("anthropic/claude-opus-4-8"), Route("openrouter/x/y:free")
THREE = "zai:glm-5.2,anthropic:claude-opus-4-8,openrouter:x/y:free"


def read(text: str, environ: dict[str, str] | None = None, *, inherited: str | None = "m") -> Plan:
    return hint_plan(text, environ or {}, inherited=inherited, providers=KNOWN)


@pytest.mark.parametrize(
    ("text", "environ", "expanded"),
    [
        pytest.param("zai:glm", {}, "zai:glm", id="no variable"),
        pytest.param("${A}", {"A": "x"}, "x", id="braces"),
        pytest.param("$A:b", {"A": "x"}, "x:b", id="no braces"),
        pytest.param("$A_1$B", {"A_1": "x", "B": "y"}, "xy", id="two in a row"),
        pytest.param("${A}$A", {}, "", id="not set"),
        pytest.param("${A:-zai}", {"A": "x"}, "x", id="a default that is not needed"),
        pytest.param("${A:-zai}", {}, "zai", id="a default"),
        pytest.param("${A:-zai}", {"A": ""}, "zai", id="a default for an empty one"),
        pytest.param("${A:-}", {}, "", id="an empty default"),
        pytest.param("${A:-zai:glm,x}y", {}, "zai:glm,xy", id="a default of two elements"),
        pytest.param("${A:-${B:-$C}}!", {"C": "x"}, "x!", id="a default in a default"),
        pytest.param("${A:-a}${B:-b}", {"B": "x"}, "ax", id="a default after another"),
        pytest.param("$A", {"A": "$B${B}", "B": "x"}, "$B${B}", id="a value stays as it is"),
        pytest.param("$ $5 a$", {}, "$ $5 a$", id="dollar signs that name nothing"),
        pytest.param("a}b", {}, "a}b", id="a brace that closes nothing"),
        pytest.param("${A", {}, None, id="not closed"),
        pytest.param("${A:-zai", {}, None, id="a default that is not closed"),
        pytest.param("${A:-${B}", {}, None, id="the outer one not closed"),
        pytest.param("x${", {}, None, id="nothing but the opening"),
        pytest.param("${}", {}, None, id="no name"),
        pytest.param("${1A}", {}, None, id="no name that could be one"),
        pytest.param("${A-zai}", {}, None, id="another operator"),
        pytest.param("${A:?no}", {}, None, id="an error for a default"),
        pytest.param("${A:-" * 9999, {}, None, id="ever deeper"),
        pytest.param("${A:-" * 9999 + "x" + "}" * 9999, {}, "x", id="deep, and closed"),
    ],
)
def test_variables_are_put_in(text: str, environ: dict[str, str], expanded: str | None) -> None:
    if expanded is not None:
        assert expand(text, environ) == expanded
        return
    with pytest.raises(ConfigError, match=r"write \$\{NAME\} or \$\{NAME:-default\}"):
        expand(text, environ)
    with pytest.raises(ConfigError, match=r"^C172: "):
        read(text, environ)


@pytest.mark.parametrize(
    ("text", "environ", "chain", "codes"),
    [
        pytest.param("zai:glm-5.2", {}, [Z], "", id="one pair"),
        pytest.param("zai", {}, ["zai/m"], "", id="one that inherits its model"),
        pytest.param(THREE, {}, [Z, A, R], "", id="pairs, a model with a colon and a slash"),
        pytest.param(" zai:glm-5.2 ,anthropic", {}, [Z, "anthropic/m"], "", id="space round them"),
        pytest.param(
            "${RESCUE:-zai},anthropic", {}, ["zai/m", "anthropic/m"], "", id="the default"
        ),
        pytest.param(
            "${RESCUE:-zai},anthropic", {"RESCUE": "openrouter:x/y:free"},
            [R, "anthropic/m"], "", id="a pair in a variable",
        ),
        pytest.param("$RESCUE", {"RESCUE": THREE}, [Z, A, R], "", id="a chain in a variable"),
        pytest.param("zia,anthropic,zai", {}, ["anthropic/m", "zai/m"], "C087", id="unknown head"),
        pytest.param("zai,Anthropic", {}, ["zai/m"], "C087 C088", id="all others unknown"),
        pytest.param("zai,zai:m", {}, ["zai/m"], "C088", id="the same route"),
        pytest.param("zai,zai,anthropic", {}, ["zai/m", "anthropic/m"], "C088", id="one twice"),
        pytest.param("zai,zai:n", {}, ["zai/m", "zai/n"], "", id="another model there"),
        pytest.param("zai,,anthropic", {}, ["zai/m", "anthropic/m"], "C172", id="an empty one"),
        pytest.param("zai,", {}, ["zai/m"], "C172 C088", id="a comma at the end"),
        pytest.param("$UNSET,zai", {}, ["zai/m"], "C172 C088", id="a variable that is not set"),
        pytest.param(":glm,zai", {}, ["zai/m"], "C172 C088", id="no provider"),
        pytest.param("zai:,anthropic:n", {}, ["anthropic/n"], "C172 C088", id="no model"),
        pytest.param("zai: glm,anthropic", {}, ["anthropic/m"], "C172 C088", id="white space"),
        pytest.param("zai/glm,anthropic", {}, ["anthropic/m"], "C172 C088", id="a route"),
        pytest.param("", {}, None, "C172", id="nothing"),
        pytest.param(" , ", {}, None, "C172", id="nothing but a comma"),
        pytest.param("zia", {}, None, "C087", id="one unknown"),
        pytest.param("zia,zib:x", {}, None, "C087", id="all unknown"),
        pytest.param("zia,zai:", {}, None, "C087 C172", id="one unknown, one malformed"),
    ],
)  # fmt: skip
def test_a_hint_is_read_element_by_element(
    text: str, environ: dict[str, str], chain: list[str] | None, codes: str
) -> None:
    if chain is None:
        with pytest.raises(ConfigError) as caught:
            read(text, environ)
        assert all(code in str(caught.value) for code in codes.split())
        return
    plan = read(text, environ)

    assert plan.chains.keys() == {NAME, chain[0]}
    assert all([each.route for each in chained] == chain for chained in plan.chains.values())
    assert [warning.code for warning in plan.warnings] == codes.split()
    assert plan.swap_on_any_failure
    assert plan.config.max_fallback_attempts == len(chain) - 1
    assert plan.config.model_dump(exclude_defaults=True).keys() <= {
        "fallback_models_by_model", "max_fallback_attempts",
    }  # fmt: skip
    assert plan.config.warnings == ()


@pytest.mark.parametrize(
    ("text", "inherited", "chain"),
    [
        pytest.param("zai,anthropic:n", None, ["anthropic/n"], id="no model to inherit"),
        pytest.param("zai,anthropic:n", "", ["anthropic/n"], id="an empty one"),
        pytest.param("zai,anthropic:n", "a b", ["anthropic/n"], id="one with white space"),
        pytest.param("zai", None, None, id="and nothing else"),
        pytest.param("zai", "x/y:free", ["zai/x/y:free"], id="one with a slash"),
    ],
)
def test_an_element_without_a_model_inherits_the_steps(
    text: str, inherited: str | None, chain: list[str] | None
) -> None:
    if chain is None:
        with pytest.raises(ConfigError, match=r"C172: .*the step names none"):
            read(text, inherited=inherited)
    else:
        assert [each.route for each in read(text, inherited=inherited).chains[NAME]] == chain


@pytest.mark.parametrize(
    ("text", "environ", "message"),
    [
        pytest.param(
            "zai,antropic", {},
            "C087: element 2 of the hint ('antropic') names no provider that is known: "
            "write 'anthropic'", id="a slip of the pen",
        ),
        pytest.param(
            "zai,groq:x", {}, "take one of anthropic, openrouter, zai", id="one like no other"
        ),
        pytest.param(
            "zai,anthropic:", {},
            "C172: element 2 of the hint ('anthropic:') has no model after its colon: "
            'write it as "provider:model"', id="a malformed pair",
        ),
        pytest.param("zai,Anthropic", {}, "write 'anthropic'", id="a capital letter"),
        pytest.param(
            "zai,${RESCUE}", {},
            "C172: element 2 of the hint is empty, because there is no value in RESCUE: "
            "set RESCUE, or write ${RESCUE:-default}", id="a variable that is not set",
        ),
        pytest.param(
            "$A,${RESCUE}", {"A": "zai,zai:x"}, "C172: element 3 of the hint is empty: write",
            id="one after a variable of several",
        ),
        pytest.param("zai,$TOKEN", {"TOKEN": KEY}, "element 2 of the hint names", id="a secret"),
    ],
)  # fmt: skip
def test_a_warning_says_where_and_what_to_write(
    text: str, environ: dict[str, str], message: str
) -> None:
    told = "\n".join(map(str, read(text, environ).warnings))

    assert message in told
    assert KEY not in told


_PIECES = st.sampled_from(
    ["zai", "anthropic", "zia", "$", "${", "}", ":-", ":", ",", " ", "/", "A", "B", "\x1f", "é"]
)
_TEXTS = st.one_of(st.lists(_PIECES, max_size=12).map("".join), st.text(max_size=20))


@given(
    text=_TEXTS,
    environ=st.dictionaries(st.sampled_from("AB"), _TEXTS),
    inherited=st.none() | _TEXTS,
)
def test_no_hint_does_worse_than_a_configuration_error(
    text: str, environ: dict[str, str], inherited: str | None
) -> None:
    try:
        plan = read(text, environ, inherited=inherited)
    except ConfigError:
        return
    routes = [each.route for each in plan.chains[NAME]]
    assert len(set(routes)) == len(routes) == plan.config.max_fallback_attempts + 1
    assert {route.provider for route in routes} <= set(KNOWN)


ALL = tuple(range(400, 600))

OUTAGES = [
    pytest.param(lambda: {Z: ["z"]}, [Z, Z, Z], id="no outage"),
    pytest.param(
        lambda: {Z: [Answer(503)], A: ["a"]}, [Z, Z, A, A, A], id="503s of the head"
    ),
    pytest.param(
        lambda: {Z: [Answer(503)], A: [Answer(529)], R: ["r"]},
        [Z, Z, A, A, R, R, R], id="503s of two",
    ),
    pytest.param(
        lambda: {Z: [ConnectionResetError("reset")], A: [ConnectionResetError("reset"), "a"]},
        [Z, Z, A, A, A, A], id="resets",
    ),
    pytest.param(
        lambda: {Z: [Answer(429, retry_after="7"), "z"]}, [Z, Z, Z, Z], id="a hint that fits"
    ),
    pytest.param(
        lambda: {Z: [Answer(429, retry_after="600")], A: ["a"]},
        [Z, A, A, A], id="a hint that is too long",
    ),
    pytest.param(
        lambda: {Z: [Answer(401)], A: [Answer(404)], R: ["r"]}, [Z, A, R, R, R], id="refusals"
    ),
    pytest.param(
        lambda: {Z: [Answer(400)], A: ["a"]}, [Z, A, Z, A, Z, A], id="400, the step's own fault"
    ),
    pytest.param(
        lambda: {Z: [Answer(503)], A: [Answer(503)], R: [Answer(503)]},
        [Z, Z, A, A, R, R] * 3, id="all down",
    ),
]  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize("asked", [NAME, Z])
@pytest.mark.parametrize(("outage", "expected"), OUTAGES)
async def test_a_hint_makes_the_requests_of_a_map_that_lists_every_status(
    outage: Outage, expected: list[Route], asked: str
) -> None:
    siblings = FallbackConfig(fallback_models_by_model={Z: (A, R), A: (R,)}, fallback_on_errors=ALL)

    by_hint = await requests_in(outage, read(THREE), asked)

    assert by_hint == await requests_in(outage, siblings, Z)
    assert by_hint[0] == expected


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(lambda: {Z: [Answer(503)]}, id="503s"),
        pytest.param(lambda: {Z: [Answer(401)]}, id="401"),
        pytest.param(lambda: {Z: [Answer(429, retry_after="600")]}, id="a long hint"),
        pytest.param(lambda: {Z: [ConnectionResetError("reset"), "z"]}, id="a reset"),
    ],
)
async def test_one_element_goes_as_without_us(outage: Outage) -> None:
    by_hint = await requests_in(outage, read("zai:glm-5.2"), NAME)

    assert by_hint == await requests_in(outage, None, Z)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("boundaries", "asked"),
    [
        pytest.param(("eu", "us", "eu"), ["zai/x", "gemini/z"], id="the second is elsewhere"),
        pytest.param(("eu", None, None), ["zai/x"], id="only the first has one"),
        pytest.param((None, "eu", "us"), ["zai/x", "groq/y", "gemini/z"], id="the first has none"),
    ],
)
async def test_a_step_stays_inside_the_boundary_of_the_first_element(
    boundaries: tuple[str | None, ...], asked: list[str]
) -> None:
    names = zip(("zai", "groq", "gemini"), boundaries, strict=True)
    providers = {name: {"boundary": place} for name, place in names if place}
    environ = {"SIDESTEP_HINT": "zai,groq:y,gemini:z", "SIDESTEP_PROVIDERS": json.dumps(providers)}
    called: list[str] = []

    async def call(attempt: Attempt) -> None:
        called.append(attempt.route)
        raise Answer(400)

    with pytest.raises((Answer, FallbackExhausted)):
        await Sidestep.from_env(environ).step("zai/x").run(call)

    assert called == asked


@pytest.mark.asyncio
async def test_a_cancellation_and_a_deadline_do_not_fall_through() -> None:
    engine = Sidestep(read(THREE), clock=VirtualClock(), policy=RetryPolicy(jitter=0.0))
    asked: list[Route] = []

    async def fail(route: Route) -> str:
        asked.append(route)
        raise Answer(503)

    async def hang(route: Route) -> str:
        asked.append(route)
        await anyio.sleep_forever()
        return ""

    with pytest.raises(TimeoutError, match="the step's deadline has passed"):
        await engine.step(NAME, deadline=3.0).run(lambda attempt: fail(attempt.route))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.step(NAME).run, lambda attempt: hang(attempt.route))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert set(asked) == {Z}
    assert engine.degraded.snapshot() == {}


@pytest.mark.asyncio
async def test_what_no_map_would_move_falls_through_to_the_end() -> None:
    """A content filter is a hard failure as well; a bug of the agent's own is none."""
    refused = ProviderError(
        Failure(kind=FailureKind.CONTENT_FILTER, message="filtered", status=400)
    )
    engine = Sidestep(read(THREE), clock=VirtualClock())
    asked: list[Route] = []

    async def call(route: Route, error: Exception) -> str:
        asked.append(route)
        raise error

    with pytest.raises(FallbackExhausted):
        await engine.step(NAME).run(lambda attempt: call(attempt.route, refused))
    with pytest.raises(KeyError):
        await engine.step(NAME).run(lambda attempt: call(attempt.route, KeyError("mine")))

    assert asked[:3] == [Z, A, R]
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("hint", "asked", "says"),
    [
        pytest.param(
            "zai", "hint", "'hint' leads nowhere: .* names none that it could", id="no model"
        ),
        pytest.param("zai,openrouter", "hint", "'hint' leads nowhere", id="no model in either"),
        pytest.param("zai", "glm", "'glm' is neither a route nor one of hint", id="another name"),
        pytest.param("zai:glm-5.2", "glm", "'glm' is neither a route nor one", id="with a model"),
        pytest.param("nobody", "hint", "a route is written", id="a hint that is ignored"),
        pytest.param("", "hint", "a route is written", id="no hint"),
    ],
)
def test_what_a_step_cannot_ask_for_is_a_value_error(hint: str, asked: str, says: str) -> None:
    engine = Sidestep.from_env({"SIDESTEP_HINT": hint})

    for ask in (engine.step, engine.healthy, engine.requested):
        with pytest.raises(ValueError, match=says):
            ask(asked)
    assert engine.step("zai/glm-5.2").requested == Z
