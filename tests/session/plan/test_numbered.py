"""The numbered variables: what they say, what is wrong with them, and where their steps go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import (
    ConfigError,
    FallbackConfig,
    FallbackExhausted,
    RetryPolicy,
    Route,
    Sidestep,
    StreamInterrupted,
)
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.catalog.vendor import vendor_of
from sidestep.session.plan.numbered import numbered_plan
from sidestep.session.plan.plan import Plan
from sidestep.session.step.move_policy import MoveHistory

from ...virtual import VirtualClock
from .asking_agent import Answer, Outage, requests_in

KEY = "sk-do-not-tell"


def entry(number: int, url: str = "https://api.example.com/v1", **changes: str) -> dict[str, str]:
    """Spell an entry with all tiers; *number* 0 is the primary, ``fast=""`` and so on change it."""
    prefix = f"MODEL_FALLBACK_{number}_" if number else "MODEL_"
    fields = {"base_url": url, "api_key": f"{KEY}-{number}"}
    fields |= {tier: f"{tier}-{number}" for tier in ("fast", "balanced", "deep")} | changes
    return {f"{prefix}{name.upper()}": value for name, value in fields.items()}


def without(environ: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in names}


def planned(environ: dict[str, str]) -> Plan:
    plan = numbered_plan(environ)
    assert plan is not None
    return plan


def chains(plan: Plan) -> dict[str, list[str]]:
    return {name: [each.route for each in chain] for name, chain in plan.chains.items()}


ONE = entry(0)
TWO = ONE | entry(1)
THREE = TWO | entry(2)

FAST = {
    0: ["primary/fast-0"],
    1: ["primary/fast-0", "fallback-1/fast-1"],
    2: ["primary/fast-0", "fallback-2/fast-2"],
    3: ["primary/fast-0", "fallback-1/fast-1", "fallback-2/fast-2"],
}


def test_each_entry_becomes_a_provider_and_each_tier_a_chain() -> None:
    plan = planned(
        entry(0, "https://api.openai.com/v1/")
        | entry(2, "https://api.cerebras.ai/v1")
        | entry(1, "https://api.groq.com/openai/v1", balanced="openai/gpt-oss-120b")
    )

    assert plan.providers == {
        "primary": Provider(
            "primary", "openai-chat", "https://api.openai.com/v1", "MODEL_API_KEY"
        ),
        "fallback-1": Provider(
            "fallback-1", "openai-chat", "https://api.groq.com/openai/v1",
            "MODEL_FALLBACK_1_API_KEY",
        ),
        "fallback-2": Provider(
            "fallback-2", "openai-chat", "https://api.cerebras.ai/v1", "MODEL_FALLBACK_2_API_KEY"
        ),
    }  # fmt: skip
    assert chains(plan) == {
        "fast": FAST[3],
        "balanced": [
            "primary/balanced-0", "fallback-1/openai/gpt-oss-120b", "fallback-2/balanced-2",
        ],
        "deep": ["primary/deep-0", "fallback-1/deep-1", "fallback-2/deep-2"],
    }  # fmt: skip
    assert plan.warnings == ()
    assert not plan.swap_on_any_failure


@pytest.mark.parametrize(
    ("more", "variables"),
    [
        pytest.param({}, ("MODEL_API_KEY",), id="one"),
        pytest.param({"api_key_2": "b"}, ("MODEL_API_KEY", "MODEL_API_KEY_2"), id="two"),
        pytest.param(
            {"api_key_10": "c", "api_key_2": "b"},
            ("MODEL_API_KEY", "MODEL_API_KEY_2", "MODEL_API_KEY_10"), id="by number, with a gap",
        ),
        pytest.param({"api_key_2": " "}, ("MODEL_API_KEY",), id="a blank one"),
        pytest.param(
            {"api_key": "", "api_key_2": "b"}, ("MODEL_API_KEY", "MODEL_API_KEY_2"),
            id="the first is not set",
        ),
        pytest.param({"api_key_1": "b", "api_key_0": "c"}, ("MODEL_API_KEY",), id="no such number"),
    ],
)  # fmt: skip
def test_an_entry_can_have_several_keys(more: dict[str, str], variables: tuple[str, ...]) -> None:
    plan = planned(entry(0, **more) | entry(1, api_key_2="d"))

    assert plan.providers["primary"].key_variables == variables
    assert plan.providers["fallback-1"].key_variables == (
        "MODEL_FALLBACK_1_API_KEY", "MODEL_FALLBACK_1_API_KEY_2",
    )  # fmt: skip


def test_the_limits_move_a_step_only_before_its_first_tool_call_and_fragment() -> None:
    config = planned(THREE).config

    assert config.model_dump(exclude_defaults=True) == {
        "fallback_models_by_model": {},
        "move_policy": "first_call",
        "on_partial": "interrupt",
    }
    assert config.max_fallback_attempts == 2
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("url", "vendor"),
    [
        pytest.param("https://api.groq.com/openai/v1", "groq", id="groq"),
        pytest.param("https://api.cerebras.ai/v1", "cerebras", id="cerebras"),
        pytest.param("https://api.mistral.ai/v1", "mistral", id="mistral"),
        pytest.param("https://openrouter.ai/api/v1", "openrouter", id="openrouter"),
        pytest.param(
            "https://generativelanguage.googleapis.com/v1beta/openai/", "gemini", id="gemini"
        ),
        pytest.param("http://127.0.0.1:11434/v1", "primary", id="one of nobody we know"),
    ],
)
def test_whose_endpoint_it_is_is_told_by_its_address(url: str, vendor: str) -> None:
    plan = planned(entry(0, url))
    provider = plan.providers["primary"]

    assert (provider.wire, vendor_of(provider)) == ("openai-chat", vendor)
    assert plan.warnings == ()


@pytest.mark.parametrize(
    ("environ", "fast", "told"),
    [
        pytest.param(ONE, FAST[0], [], id="the primary alone"),
        pytest.param(TWO, FAST[1], [], id="a fallback"),
        pytest.param(THREE | {"MODEL_NAME": "x", "MODEL_PATH": "y"}, FAST[3], [], id="others' own"),
        pytest.param(ONE | entry(2), FAST[2], ["C030 MODEL_FALLBACK_1_* is not set"], id="a gap"),
        pytest.param(
            ONE | entry(1) | entry(123456789), [*FAST[1], "fallback-123456789/fast-123456789"],
            ["C030 MODEL_FALLBACK_2_* to MODEL_FALLBACK_123456788_* are not set"], id="a wide gap",
        ),
        pytest.param(
            THREE | entry(1, "", api_key="", fast=" ", balanced="", deep=""), FAST[2],
            ["C030 MODEL_FALLBACK_1_* is not set"], id="an entry left blank is none",
        ),
        pytest.param(
            without(TWO, "MODEL_FALLBACK_1_FAST"), FAST[0],
            ["C031 MODEL_FALLBACK_1_FAST is not set"], id="a tier missing at a fallback",
        ),
        pytest.param(
            without(TWO, "MODEL_FAST"), ["fallback-1/fast-1"],
            ["C031 MODEL_FAST is not set"], id="a tier missing at the primary",
        ),
        pytest.param(
            without(TWO, "MODEL_DEEP", "MODEL_FALLBACK_1_DEEP"), FAST[1],
            ["C031 no entry has a model for `deep`"], id="a tier missing everywhere",
        ),
        pytest.param(
            without(TWO, "MODEL_FALLBACK_1_API_KEY"), FAST[1],
            ["C032 MODEL_FALLBACK_1_API_KEY is not"], id="a URL without a key",
        ),
        pytest.param(
            ONE | {"MODEL_API_KEY": "  "}, FAST[0],
            ["C032 MODEL_API_KEY is empty"], id="a blank key of the primary",
        ),
        pytest.param(
            ONE | {"MODEL_FALLBACK_1_API_KEY": KEY}, FAST[0],
            ["C033 MODEL_FALLBACK_1_BASE_URL is not set"], id="a key without a URL",
        ),
        pytest.param(
            ONE | {"MODEL_FALLBACK_1_API_KEY": KEY, "MODEL_FALLBACK_1_BASE_URL": " "}, FAST[0],
            ["C033 MODEL_FALLBACK_1_BASE_URL is empty"], id="a key with a blank URL",
        ),
        pytest.param(
            ONE | {"MODEL_BASE_URL": "https://me:word@x.io/v1"}, FAST[0],
            ["C039 is sent instead of MODEL_API_KEY"], id="a user in a URL",
        ),
        pytest.param(
            ONE | {"MODEL_FALLBACK_1_FAST": "x"}, FAST[0],
            ["C033 unset MODEL_FALLBACK_1_FAST"], id="a tier without a URL",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_1_FAST": ""}, FAST[0],
            ["C034 MODEL_FALLBACK_1_FAST is empty"], id="an empty tier",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_1_FAST": "gpt 5"}, FAST[0],
            ["C034 MODEL_FALLBACK_1_FAST has white space inside"], id="white space in a tier",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_1_FAST": " fast-1\n"}, FAST[1], [], id="white space round one"
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_0_FAST": "x", "MODEL_FALLBACK_0_DEEP": "x"}, FAST[1],
            ["C035 the number in MODEL_FALLBACK_0_DEEP is 0"], id="the number 0",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_02_FAST": "x"}, FAST[1],
            ["C035 the number in MODEL_FALLBACK_02_FAST is written with zeros"],
            id="leading zeros",
        ),
        pytest.param(
            TWO | {f"MODEL_FALLBACK_{'9' * 5000}_FAST": "x"}, FAST[1],
            ["C035 is too large"], id="a number that Python would not read",
        ),
        pytest.param(
            ONE | {"MODEL_FALLBACK_1_BASE_URL": "https://x.io", "MODEL_FALLBACK_1_API_KEY": KEY},
            FAST[0], ["C036 none of MODEL_FALLBACK_1_FAST, "], id="no tier at all",
        ),
        pytest.param(
            TWO | entry(2, api_key=f"{KEY}-1", fast="fast-1", balanced="balanced-1", deep="deep-1"),
            FAST[1], ["C037 MODEL_FALLBACK_2_DEEP repeat MODEL_FALLBACK_1_FAST"],
            id="two entries alike",
        ),
        pytest.param(
            TWO | entry(2, api_key=f"{KEY}-1", fast="fast-1"), FAST[1],
            ["C037 MODEL_FALLBACK_2_FAST repeats MODEL_FALLBACK_1_FAST"],
            id="alike in one tier",
        ),
        pytest.param(
            TWO | entry(2, fast="fast-1"), [*FAST[1], "fallback-2/fast-1"], [], id="another key"
        ),
        pytest.param(
            TWO | {"MODEL_API_KEY_2": KEY, "MODEL_FALLBACK_1_API_KEY_2": KEY}, FAST[1], [],
            id="two keys each",
        ),
        pytest.param(
            TWO | entry(2, api_key=f"{KEY}-1", fast="fast-1", api_key_2="x"),
            [*FAST[1], "fallback-2/fast-1"], [], id="another key beside the same",
        ),
        pytest.param(
            ONE | entry(1, api_key_2="x") | entry(2, api_key="x", fast="fast-1"), FAST[1],
            ["C037 MODEL_FALLBACK_2_FAST repeats MODEL_FALLBACK_1_FAST"], id="one of two keys",
        ),
        pytest.param(
            TWO | {"MODEL_API_KEY_2": " ", "MODEL_API_KEY_3": ""}, FAST[1], [], id="blank keys"
        ),
        pytest.param(
            TWO | {"MODEL_API_KEY_3": KEY}, FAST[1],
            ["C056 MODEL_API_KEY_2 is not set, but a later key is"], id="a gap in the keys",
        ),
        pytest.param(
            TWO | {"MODEL_API_KEY_2": "", "MODEL_API_KEY_999999999": KEY}, FAST[1],
            ["C056 MODEL_API_KEY_2 is not set, but a later key is"], id="a blank in a wide gap",
        ),
        pytest.param(
            ONE | {"MODEL_API_KEY": "", "MODEL_API_KEY_2": KEY}, FAST[0],
            ["C032 MODEL_API_KEY is empty"], id="only the second key",
        ),
        pytest.param(
            ONE | {"MODEL_FALLBACK_1_API_KEY_2": KEY}, FAST[0],
            ["C033 unset MODEL_FALLBACK_1_API_KEY_2"], id="a second key without a URL",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_0_API_KEY_2": KEY}, FAST[1],
            ["C035 the number in MODEL_FALLBACK_0_API_KEY_2 is 0"], id="the number 0, second key",
        ),
        pytest.param(
            TWO | {"MODEL_API_KEY_1": KEY}, FAST[1],
            ["C038 'MODEL_API_KEY_1' is not read: name it MODEL_API_KEY"], id="a key's number 1",
        ),
        pytest.param(
            TWO | {"MODEL_API_KEY_02": KEY, "MODEL_FALLBACK_1_KEY2": KEY}, FAST[1],
            ["C038 name it MODEL_API_KEY_2", "C038 name it MODEL_FALLBACK_1_API_KEY_2"],
            id="a key's number, spelled otherwise",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_1_MODEL": "x"}, FAST[1],
            ["C038 'MODEL_FALLBACK_1_MODEL' is not read: name it MODEL_FALLBACK_1_BASE_URL, "],
            id="a name like ours",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_3_URL": KEY}, FAST[1],
            ["C038 name it MODEL_FALLBACK_3_BASE_URL"], id="another word for ours",
        ),
        pytest.param(
            ONE | {"MODEL_FALLBACK_BASE_URL": KEY}, FAST[0],
            ["C038 name it MODEL_FALLBACK_1_BASE_URL"], id="no number",
        ),
        pytest.param(
            ONE | {"Model_Deep": "x", "MODEL_BASEURL": "x"}, FAST[0],
            ["C038 name it MODEL_BASE_URL", "C038 name it MODEL_DEEP"], id="spelled otherwise",
        ),
        pytest.param(
            TWO | {"MODEL_FALLBACK_1_BASE_URL": KEY}, FAST[0],
            ["C039 MODEL_FALLBACK_1_BASE_URL is no address"], id="a key for a URL",
        ),
        pytest.param(
            ONE | entry(1, "https://api.groq.com/openai/v1/chat/completions"), FAST[1],
            ["C039 MODEL_FALLBACK_1_BASE_URL ends in /chat/completions"], id="the whole endpoint",
        ),
        pytest.param(
            ONE | entry(1, "https://generativelanguage.googleapis.com/v1beta"), FAST[1],
            ["C039 /v1beta/openai"], id="Gemini's own wire",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_the_rest_stands(
    environ: dict[str, str], fast: list[str], told: list[str]
) -> None:
    plan = planned(environ)

    assert chains(plan)["fast"] == fast
    assert [warning.code for warning in plan.warnings] == [each.split()[0] for each in told]
    for warning, each in zip(plan.warnings, told, strict=True):
        assert each.partition(" ")[2] in str(warning)
    assert KEY not in "\n".join(map(str, plan.warnings))
    assert KEY not in repr(plan)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"MODEL_NAME": "x", "PATH": "/bin"}, None, id="somebody else's"),
        pytest.param({"MODEL_BASE_URL": "", "MODEL_FALLBACK_1_FAST": " "}, None, id="all blank"),
        pytest.param({"MODEL_FALLBACK_1_MODEL": "x"}, None, id="only names like ours"),
        pytest.param(entry(1), "set MODEL_BASE_URL, MODEL_API_KEY and", id="no primary"),
        pytest.param({"MODEL_FALLBACK_0_FAST": "x"}, "set MODEL_BASE_URL", id="only the number 0"),
        pytest.param({"MODEL_API_KEY": KEY}, "C033: MODEL_BASE_URL is not set", id="only a key"),
        pytest.param(entry(0, KEY), "C039: MODEL_BASE_URL is no address", id="a key for a URL"),
        pytest.param(entry(0, "https://x/?a=b"), "C039: MODEL_BASE_URL is no", id="a query"),
        pytest.param(
            {"MODEL_BASE_URL": "https://x.io", "MODEL_API_KEY": KEY} | entry(1),
            "C036: none of MODEL_FAST, MODEL_BALANCED, MODEL_DEEP holds a model", id="no tier",
        ),
    ],
)  # fmt: skip
def test_without_a_primary_there_is_no_plan(environ: dict[str, str], message: str | None) -> None:
    if message is None:
        assert numbered_plan(environ) is None
        return
    with pytest.raises(ConfigError) as caught:
        numbered_plan(environ)

    assert message in str(caught.value)
    assert KEY not in str(caught.value)


_WORDS = ("MODEL", "FALLBACK", "BASE_URL", "API_KEY", "FAST", "BALANCED", "DEEP", "URL", "base_url")
_NUMBERS = st.one_of(st.sampled_from(["0", "1", "2", "3", "01", "٣", "9" * 5000]), st.text())
_NAMES = st.one_of(
    st.builds(
        "MODEL_FALLBACK_{}_{}".format, _NUMBERS, st.one_of(st.sampled_from(_WORDS), st.text())
    ),
    st.builds("MODEL_{}".format, st.one_of(st.sampled_from(_WORDS), st.text())),
    st.lists(st.sampled_from(_WORDS), min_size=1).map("_".join),
)
_VALUES = st.one_of(
    st.sampled_from(["", " ", "m", "a b", "https://api.x.io/v1", "http://[", "https://x:99999"]),
    st.text(),
)


@given(st.dictionaries(_NAMES, _VALUES, max_size=12))
def test_no_environment_does_worse_than_a_configuration_error(environ: dict[str, str]) -> None:
    for given_ in (environ, environ | ONE):
        try:
            plan = numbered_plan(given_)
        except ConfigError:
            continue
        for chain in plan.chains.values() if plan else ():
            assert {each.route.provider for each in chain} <= set(plan.providers if plan else ())


P, F1, F2 = (Route(text) for text in FAST[3])

OUTAGES = [
    pytest.param(lambda: {P: ["p"]}, [P, P, P], id="no outage"),
    pytest.param(
        lambda: {P: [Answer(503)], F1: ["f1"]}, [P, P, F1, F1, F1], id="503s of the primary"
    ),
    pytest.param(
        lambda: {P: [Answer(503)], F1: [Answer(503)], F2: ["f2"]},
        [P, P, F1, F1, F2, F2, F2], id="503s of two",
    ),
    pytest.param(
        lambda: {P: [ConnectionResetError("reset")], F1: [ConnectionResetError("reset"), "f1"]},
        [P, P, F1, F1, F1, F1], id="resets",
    ),
    pytest.param(
        lambda: {P: [Answer(429, retry_after="7"), "p"]}, [P, P, P, P], id="a hint that fits"
    ),
    pytest.param(
        lambda: {P: [Answer(429, retry_after="600")], F1: ["f1"]},
        [P, F1, F1, F1], id="a hint that is too long",
    ),
    pytest.param(lambda: {P: [Answer(401)]}, [P, P, P], id="401, which is not listed"),
    pytest.param(
        lambda: {P: [Answer(503)], F1: [Answer(503)], F2: [Answer(503)]},
        [P, P, F1, F1, F2, F2, P, P, F1, F1, F2, F2, P, P, F1, F1, F2, F2], id="all down",
    ),
]  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize(("outage", "expected"), OUTAGES)
async def test_a_tier_makes_the_requests_of_a_map_of_the_same_routes(
    outage: Outage, expected: list[Route]
) -> None:
    siblings = FallbackConfig(fallback_models_by_model={P: (F1, F2), F1: (F2,)})

    by_tier = await requests_in(outage, planned(THREE), "fast")
    by_map = await requests_in(outage, siblings, P)

    assert by_tier == by_map
    assert by_tier[0] == expected


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(lambda: {P: [Answer(503)]}, id="503s"),
        pytest.param(lambda: {P: [ConnectionResetError("reset")]}, id="resets"),
        pytest.param(lambda: {P: [Answer(429, retry_after="600")]}, id="a long hint"),
        pytest.param(lambda: {P: [Answer(503), "p"]}, id="one 503"),
    ],
)
async def test_a_primary_alone_goes_as_without_us(outage: Outage) -> None:
    assert await requests_in(outage, planned(ONE), "fast") == await requests_in(outage, None, P)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("environ", "error", "asked"),
    [
        pytest.param(ONE, Answer, [P] * 2, id="a primary alone is not wrapped"),
        pytest.param(TWO, StreamInterrupted, [P], id="with a fallback it is interrupted"),
    ],
)
async def test_a_stream_does_not_move_after_its_first_fragment(
    environ: dict[str, str], error: type[Exception], asked: list[Route]
) -> None:
    engine = Sidestep(planned(environ), clock=VirtualClock(), policy=RetryPolicy(retries=1))
    step = engine.step("fast")

    async def call() -> None:
        async for attempt in step:
            async with attempt:
                attempt.emitted("The answer")
                raise Answer(503)

    with pytest.raises(error):
        await call()

    assert [attempt.route for attempt in step.attempts] == asked


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("environ", "past", "asked"),
    [
        pytest.param(TWO, MoveHistory(), [P, F1], id="no tool call yet"),
        pytest.param(TWO, MoveHistory(holds_calls=True), [P], id="a tool call pins it"),
        pytest.param(
            TWO, MoveHistory(holds_calls=True, route=F1), [F1], id="to the route that answered"
        ),
        pytest.param(
            ONE, MoveHistory(holds_calls=True, route=F1), [P], id="not to one that has gone"
        ),
    ],
)
async def test_a_tool_call_pins_a_conversation(
    environ: dict[str, str], past: MoveHistory, asked: list[Route]
) -> None:
    engine = Sidestep(planned(environ), clock=VirtualClock(), policy=RetryPolicy(retries=0))
    step = engine.step("fast", history=past)

    async def call() -> None:
        raise Answer(503)

    with pytest.raises((Answer, FallbackExhausted)):
        await step.run(lambda _attempt: call())

    assert [attempt.route for attempt in step.attempts] == asked
