"""Four ways to say where a step may go, one plan: the same requests in the same outage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from sidestep import (
    CandidateSkipped,
    Client,
    ConfigError,
    ProviderError,
    Route,
    Session,
    Sidestep,
    StepFailed,
)
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.command.check import inspect
from sidestep.session.plan import watcher as source
from sidestep.session.plan.load import load_plan
from sidestep.session.plan.watcher import PlanWatcher

from ...virtual import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

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
    "the first is down": ({FIRST: DOWN, SECOND: OK, THIRD: OK}, [FIRST] * 3 + [SECOND]),
    "two are down": (
        {FIRST: DOWN, SECOND: DOWN, THIRD: OK}, [FIRST] * 3 + [SECOND] * 3 + [THIRD]
    ),
    # Where no healthy sibling is left, a step retries as often as without siblings.
    "all are down": (
        {FIRST: DOWN, SECOND: DOWN, THIRD: DOWN}, [FIRST] * 3 + [SECOND] * 3 + [THIRD] * 6
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
        [FIRST] * 3 + [SECOND],
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


NARROW = {
    "too small": ({"contextWindow": 10}, "about 37 tokens do not fit into its 10"),
    "without tools": ({"capabilities": ["images"]}, "it has no tool_calling"),
}


def read_file(path: str) -> str:
    return path


@pytest.mark.asyncio
@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "numbers"])
async def test_what_is_said_of_a_provider_keeps_a_step_away_whichever_way_led_there(
    way: str, narrow: str
) -> None:
    said, why = NARROW[narrow]
    answers = {FIRST: DOWN, SECOND: OK, THIRD: OK}
    events: list[Any] = []
    async with (
        Stub(Scenario.parse({"answers": answers})) as stub,
        httpx.AsyncClient(timeout=None, trust_env=False) as http,  # noqa: S113
    ):
        wanted, environ = WAYS[way](stub.url)
        providers = json.loads(environ["SIDESTEP_PROVIDERS"])
        providers["fallback-1"] |= said
        environ["SIDESTEP_PROVIDERS"] = json.dumps(providers)
        middleware = Sidestep.from_env(environ, clock=VirtualClock(), on_event=events.append)
        client = Client(http=http, providers=middleware.providers, environ=environ)
        session = Session(wanted, middleware=middleware, client=client, tools=[read_file])
        await session.turn("hi" * 20)

    assert [str(received.route) for received in stub.requests] == [FIRST] * 3 + [THIRD]
    assert [each.reason for each in events if isinstance(each, CandidateSkipped)] == [why]


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


CANDIDATE = '[[rules.candidates]]\nprovider = "house"\nmodel = "x"\n'
HOUSE = json.dumps(
    {"house": {"wire": "openai-chat", "baseUrl": "http://h", "apiKeyEnv": None, "boundary": "eu"}}
)
HINT = {"SIDESTEP_HINT": "zai:glm,anthropic:claude"}


@pytest.mark.parametrize(
    ("environ", "source"),
    [
        pytest.param({"SIDESTEP_FALLBACK_CONFIG": ""} | HINT, "SIDESTEP_HINT", id="no map"),
        pytest.param({"REPLO_OPENCODE_FALLBACK_CONFIG": " "} | HINT, "SIDESTEP_HINT", id="old"),
        pytest.param({"SIDESTEP_ROUTING_RULES": ""} | HINT, "SIDESTEP_HINT", id="no rules"),
        pytest.param(
            {"SIDESTEP_HINT": " "} | _by_numbers("http://h")[1], "the MODEL_* variables",
            id="no hint",
        ),
        pytest.param(
            {"SIDESTEP_FALLBACK_CONFIG": "", "REPLO_OPENCODE_FALLBACK_CONFIG": "{}"}, None,
            id="the empty one of a map's two",
        ),
    ],
)  # fmt: skip
def test_a_way_that_is_left_empty_hides_no_other(
    environ: dict[str, str], source: str | None
) -> None:
    plan, read = load_plan(environ), Sidestep.from_env(environ).plan

    assert (plan and plan.source) == (read and read.source) == source


@pytest.mark.parametrize(
    ("environ", "then"),
    [
        pytest.param({"SIDESTEP_FALLBACK_CONFIG": ""}, HINT, id="a hint beside an empty map"),
        pytest.param(
            {"SIDESTEP_HINT": "zai:glm,${RESCUE:-anthropic}:x"}, {"RESCUE": "groq"},
            id="a variable of a hint",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "house:x,anthropic:y"}, {"SIDESTEP_PROVIDERS": HOUSE},
            id="a provider that a hint names",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "house:x,anthropic:y", "SIDESTEP_PROVIDERS": "{"},
            {"SIDESTEP_PROVIDERS": HOUSE}, id="providers that were wrong beside a hint",
        ),
        pytest.param(
            {"SIDESTEP_ROUTING_RULES": RULES + CANDIDATE}, {"SIDESTEP_PROVIDERS": HOUSE},
            id="a provider of a rule's candidate",
        ),
        pytest.param(
            {"SIDESTEP_ROUTING_RULES": RULES + CANDIDATE, "SIDESTEP_PROVIDERS": HOUSE},
            {"SIDESTEP_PROVIDERS": HOUSE.replace("eu", "us")}, id="where a candidate's data may go",
        ),
        pytest.param(_by_numbers("http://h")[1], {"MODEL_BALANCED": "other"}, id="a tier"),
        pytest.param(
            _by_numbers("http://h")[1],
            {"MODEL_FALLBACK_3_BASE_URL": "http://h", "MODEL_FALLBACK_3_BALANCED": "x"},
            id="one more fallback",
        ),
        pytest.param(
            _by_numbers("http://h")[1],
            {"MODEL_FALLBACK_4_BASE_URL": "http://h", "MODEL_FALLBACK_4_BALANCED": "x"},
            id="one more fallback, behind a gap",
        ),
        pytest.param(
            _by_numbers("http://h")[1],
            {"MODEL_FALLBACK_90_BASE_URL": "http://h", "MODEL_FALLBACK_90_BALANCED": "x"},
            id="one more fallback, behind a wide gap",
        ),
    ],
)  # fmt: skip
def test_a_plan_is_made_again_when_what_it_was_read_from_changes(
    environ: dict[str, str], then: dict[str, str]
) -> None:
    environ = dict(environ)
    reader = PlanWatcher(environ)
    reader.has_changed()
    before, seen = reader.plan, [reader.has_changed()]
    environ |= then
    seen += [reader.has_changed(), reader.has_changed()]

    assert seen == [False, True, False]
    assert reader.plan is not None
    assert reader.plan.chains != (before.chains if before else {})


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({"SIDESTEP_HINT": "house:x,${RESCUE:-zai}:y"}, id="a hint"),
        pytest.param({"SIDESTEP_ROUTING_RULES": RULES + CANDIDATE}, id="rules"),
        pytest.param(_by_numbers("http://h")[1], id="numbers"),
    ],
)
def test_nothing_is_read_again_while_nothing_has_changed(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = PlanWatcher(environ | {"SIDESTEP_PROVIDERS": HOUSE})
    reader.has_changed()
    plan = reader.plan
    monkeypatch.setattr(source, "find_sources", lambda _: pytest.fail("read again"))

    assert [reader.has_changed(), reader.has_changed()] == [False, False]
    assert reader.plan is plan is not None


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_variable_that_no_plan_depends_on_leaves_the_plan_as_it_is(way: Any) -> None:
    environ = way("http://h")[1]
    reader = PlanWatcher(environ)
    reader.has_changed()
    plan = reader.plan

    environ["HOUSE_COLOUR"] = "green"

    assert reader.has_changed() is False
    assert reader.plan is plan is not None


@pytest.mark.parametrize("way", [_by_map, _by_numbers], ids=["a map", "numbers"])
def test_providers_are_not_followed_by_a_plan_that_does_not_depend_on_them(way: Any) -> None:
    environ = way("http://h")[1]
    middleware = Sidestep.from_env(environ)
    assert middleware.plan is not None
    middleware.degraded.degrade(Route(FIRST), cooldown=60.0)

    environ["SIDESTEP_PROVIDERS"] = HOUSE

    assert middleware.config is not None
    assert middleware.degraded.is_degraded(Route(FIRST))


UNSERVED = '{"fallbackModelsByModel": {"acme/x": "zai/y"}}'
ALONE = '[[rules]]\ntask_class = "none"\n'
KEYS = {"ZAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}


@pytest.mark.parametrize(
    ("environ", "asked", "walks", "codes", "error"),
    [
        pytest.param(HINT, None, {"hint": 2, "zai/glm": 2}, "", None, id="pairs"),
        pytest.param(
            {"SIDESTEP_HINT": "${RESCUE:-zai},anthropic"}, None, {"PROVIDER/MODEL": 2}, "", None,
            id="the model of a step that nobody has named",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "zai,nobody"}, None, {"PROVIDER/MODEL": 1}, "C087 C088", None,
            id="a provider that nobody knows, without a model",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "zai,anthropic"}, "hint", {}, "", "no element of the hint",
            id="asked by name, without a model",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "zai:x,anthropic"}, "hint", {"hint": 1}, "C172 C088", None,
            id="asked by name, if one has a model",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "zai,anthropic"}, "fast", {}, "", "neither a route nor one of hint",
            id="another name",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "zai:x,anthropic"}, "openrouter/a/b", {"openrouter/a/b": 2}, "C089",
            None, id="a model's name of another provider",
        ),
        pytest.param(
            {"SIDESTEP_HINT": "zai:a/b"}, "openrouter/a/b", {"openrouter/a/b": 1}, "", None,
            id="the same name, but written",
        ),
        pytest.param(
            {"SIDESTEP_FALLBACK_CONFIG": UNSERVED},
            None, {"acme/x": 2}, "C015", None, id="a route that nobody serves, mapped",
        ),
        pytest.param(
            {"SIDESTEP_ROUTING_RULES": ALONE}, None, {}, "C052", None, id="a rule without one"
        ),
        pytest.param(
            {"SIDESTEP_ROUTING_RULES": ALONE}, "none", {}, "", "'none' has no route to go to",
            id="the same, asked for",
        ),
        pytest.param(
            _by_numbers("http://h")[1] | {"MODEL_API_KEY": "a\nb"}, "balanced", {"balanced": 3},
            "C031 C031 C016", None, id="a key that cannot be sent",
        ),
        pytest.param(
            _by_numbers("http://h")[1] | {"MODEL_API_KEY": ""}, "balanced", {"balanced": 3},
            "C032 C031 C031", None, id="a key that is missing is said once",
        ),
    ],
)  # fmt: skip
def test_check_says_of_each_way_what_it_comes_to(
    environ: dict[str, str], asked: str | None, walks: dict[str, int], codes: str, error: str | None
) -> None:
    found = inspect(environ | KEYS, asked)

    assert {chain["route"]: len(chain["walk"]) for chain in found["chains"]} == walks
    assert [warning["code"] for warning in found["warnings"]] == codes.split()
    assert (error or "") in str(found["error"])
    assert (found["state"] == "wrong") is (error is not None)


@pytest.mark.parametrize(
    ("environ", "source"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"SIDESTEP_ROUTING_RULES": ""}, "SIDESTEP_ROUTING_RULES", id="rules"),
        pytest.param({"SIDESTEP_HINT": " "}, "SIDESTEP_HINT", id="a hint"),
        pytest.param({"MODEL_BASE_URL": ""}, "MODEL_BASE_URL", id="numbers"),
    ],
)
def test_check_names_what_is_empty(environ: dict[str, str], source: str | None) -> None:
    found = inspect(environ)

    assert (found["state"], found["source"]) == ("none", source)


def test_a_hint_in_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    file = tmp_path / "hint"
    file.write_bytes(b"zai,\xff")

    with pytest.raises(ConfigError, match=r"not UTF-8 \(at byte 5\): save it as UTF-8"):
        load_plan({"SIDESTEP_HINT": f"@{file}"})


def test_what_nobody_set_wraps_nothing() -> None:
    middleware = Sidestep.from_env({})

    assert middleware.plan is None
    assert middleware.requested("a/b") == "a/b"


def test_a_name_that_no_chain_has_is_refused_with_those_that_there_are() -> None:
    middleware = Sidestep.from_env(_by_numbers("http://h")[1])

    with pytest.raises(ValueError, match="'quick' is neither a route nor one of balanced"):
        middleware.step("quick")


def _with_keys(way: str, names: list[str]) -> dict[str, str]:
    """Return what *way* sets, with the keys of the primary in *names*."""
    environ = WAYS[way]("http://h")[1]
    if way == "numbers":
        return environ | dict.fromkeys(names, "sk-2")
    providers = _providers("http://h")
    providers["primary"]["apiKeyEnv"] = names
    return environ | {"SIDESTEP_PROVIDERS": json.dumps(providers)}


@pytest.mark.parametrize("way", WAYS)
def test_a_provider_has_several_keys_in_each_way_and_another_one_is_noticed(way: str) -> None:
    names = ["MODEL_API_KEY", "MODEL_API_KEY_2", "MODEL_API_KEY_3", "MODEL_API_KEY_4"]
    environ = _with_keys(way, names[:2])
    middleware = Sidestep.from_env(environ)

    found = [middleware.providers["primary"].key_variables]
    for count in (3, 4):
        environ |= _with_keys(way, names[:count])
        if way == "map":  # SIDESTEP_PROVIDERS is read again only with the map
            environ["SIDESTEP_FALLBACK_CONFIG"] += " " * count
        found.append(middleware.providers["primary"].key_variables)

    assert found == [tuple(names[:count]) for count in (2, 3, 4)]


def test_the_providers_of_a_map_can_have_several_keys() -> None:
    config = {"fallbackModelsByModel": {}, "providers": {"zai": {"apiKeyEnv": ["ONE", "TWO"]}}}

    middleware = Sidestep.from_env({"SIDESTEP_FALLBACK_CONFIG": json.dumps(config)})

    assert middleware.providers["zai"].key_variables == ("ONE", "TWO")
