"""Rehearsals: each passes, each can fail, and each says what happened."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from sidestep import AttemptFailed, ConfigError, Failure, Route
from sidestep.session.drill.drill import Drill, list_drills
from sidestep.session.drill.judge import judge
from sidestep.session.drill.play import play
from sidestep.session.drill.played_turn import PlayedTurn
from sidestep.session.drill.report import report
from sidestep.session.drill.timeline import draw
from sidestep.session.plan.limits import Limits
from sidestep.session.step import recovery as engine
from sidestep.session.step.decision import decide
from sidestep.session.step.step_state import Decision, StepState, Stop, Swap

from ...virtual import run_virtually

NAMES = [drill.name for drill in list_drills()]


def rehearsed(drill: Drill) -> list[PlayedTurn]:
    """Play *drill* in virtual time."""
    return run_virtually(lambda: play(drill))


Rule = Callable[[Failure, StepState, Limits], Decision]


def give_up(_failure: Failure, _standing: StepState, _limits: Limits) -> Decision:
    return Stop(why="gave up", cooldown=None)


def always_swap(failure: Failure, standing: StepState, limits: Limits) -> Decision:
    if standing.sibling is None or standing.swaps >= limits.max_swaps:
        return decide(failure, standing, limits)
    return Swap(sibling=standing.sibling, cooldown=None)


def never_degrade(failure: Failure, standing: StepState, limits: Limits) -> Decision:
    decision = decide(failure, standing, limits)
    if isinstance(decision, Swap):
        return Swap(sibling=decision.sibling, cooldown=None)
    return decision


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_drill_passes(name: str) -> None:
    drill = Drill.find(name)

    assert judge(drill, rehearsed(drill)) == []


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *((name, give_up) for name in NAMES if name not in {"auth-401", "context-overflow"}),
        *((name, always_swap) for name in ("auth-401", "context-overflow", "truncated")),
        *((name, never_degrade) for name in ("primary-503", "cooldown-return", "quota-402")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_drill_fails_with_an_engine_that_does_wrong(
    name: str, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "decide", rule)
    drill = Drill.find(name)

    complaints = judge(drill, rehearsed(drill))

    assert complaints
    assert all(complaint.startswith(("turn ", "a request to ")) for complaint in complaints)


@pytest.mark.parametrize(
    ("waits", "complaint"),
    [
        pytest.param([50.0, 50.0], None, id="as they are"),
        pytest.param([50.0, 61.0], "expected 61 s or more until a route was back in wait 2, saw 60",
            id="longer"),
        pytest.param([50.0], "expected 1 waits for a route to come back, saw 2", id="one"),
        pytest.param([], "expected 0 waits for a route to come back, saw 2", id="none"),
    ],
)  # fmt: skip
def test_the_waits_for_a_route_to_come_back_are_judged(
    waits: list[float], complaint: str | None
) -> None:
    drill = Drill.find("both-down-patient")
    turns = rehearsed(drill)
    assert turns[0].expect is not None
    expect = turns[0].expect.model_copy(update={"patience": tuple(waits)})

    complaints = judge(drill, [replace(turns[0], expect=expect)])

    if complaint is None:
        assert complaints == []
    else:
        assert complaint in complaints[0]


MAPPED = """
[config.fallbackModelsByModel]
"primary/claude" = "fallback-1/llama"
"""
RULES = """
[environ]
SIDESTEP_ROUTING_RULES = '''
[[rules]]
task_class = "balanced"
candidates = [
  {provider = "primary", model = "claude"},
  {provider = "fallback-1", model = "llama"},
]
'''
"""
HINT = """
[environ]
SIDESTEP_HINT = "primary:claude,fallback-1:llama"
"""
NUMBERED = """
[environ]
MODEL_BASE_URL = "${STUB}/primary/v1"
MODEL_BALANCED = "claude"
MODEL_FALLBACK_1_BASE_URL = "${STUB}/fallback-1/v1"
MODEL_FALLBACK_1_API_KEY = "any"
MODEL_FALLBACK_1_BALANCED = "llama"
"""
SECOND_KEY = """
title = "The second key answers"
route = "ROUTE"
strict = true
[[answers."primary/claude".keys.MODEL_API_KEY]]
status = STATUS
[[answers."primary/claude".keys.MODEL_API_KEY_2]]
text = "The second key."
[[answers."fallback-1/llama"]]
text = "The fallback."
[[turns]]
prompt = "Hi."
[turns.expect]
answered = "primary/claude"
keys = ["MODEL_API_KEY", "MODEL_API_KEY_2"]
atOnce = true
[[turns]]
prompt = "Go on."
[turns.expect]
answered = "primary/claude"
keys = ["MODEL_API_KEY_2"]
"""


@pytest.mark.parametrize("status", ["401", "402", "429"])
@pytest.mark.parametrize(
    ("route", "configured"),
    [
        pytest.param("primary/claude", MAPPED, id="a map"),
        pytest.param("balanced", RULES, id="rules"),
        pytest.param("primary/claude", HINT, id="a hint"),
        pytest.param("balanced", NUMBERED, id="numbered variables"),
    ],
)
def test_the_second_key_answers_at_once_in_each_configuration(
    route: str, configured: str, status: str, tmp_path: Path
) -> None:
    path = tmp_path / "second-key.toml"
    played = SECOND_KEY.replace("ROUTE", route).replace("STATUS", status)
    path.write_text(f"{played}{configured}")
    drill = Drill.find(str(path))

    assert judge(drill, rehearsed(drill)) == []


@pytest.mark.parametrize(
    ("expect", "complaint"),
    [
        pytest.param(
            'keys = ["MODEL_API_KEY_2", "MODEL_API_KEY"]',
            "turn 1: expected the keys MODEL_API_KEY_2, MODEL_API_KEY, received MODEL_API_KEY, "
            "MODEL_API_KEY_2 (`expect.keys`)",
            id="the other order",
        ),
        pytest.param(
            "keys = []",
            "turn 1: expected the keys of no request, received MODEL_API_KEY, MODEL_API_KEY_2 "
            "(`expect.keys`)",
            id="no request",
        ),
    ],
)
def test_other_keys_than_expected_fail_a_drill(expect: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "second-key.toml"
    played = SECOND_KEY.replace("ROUTE", "primary/claude").replace("STATUS", "402")
    path.write_text(played.replace('keys = ["MODEL_API_KEY", "MODEL_API_KEY_2"]', expect) + MAPPED)
    drill = Drill.find(str(path))

    assert judge(drill, rehearsed(drill)) == [complaint]


@pytest.mark.parametrize(
    ("second", "row"),
    [
        pytest.param('text = "The second key."', r"✗k✓ *│✓", id="one of two keys is out"),
        pytest.param("status = 402", r"✗k✗░+│░+", id="each key is out, and a sibling answers"),
    ],
)
def test_the_timeline_draws_a_route_as_degraded_only_if_each_key_is(
    second: str, row: str, tmp_path: Path
) -> None:
    path = tmp_path / "second-key.toml"
    played = SECOND_KEY.replace("ROUTE", "primary/claude").replace("STATUS", "402")
    path.write_text(played.replace('text = "The second key."', second) + MAPPED)
    drill, output = Drill.find(str(path)), io.StringIO()

    draw(Console(file=output, width=100), drill, rehearsed(drill), [])

    shown = output.getvalue()
    assert re.search(rf"^primary/claude +{row}", shown, re.MULTILINE), shown
    assert "402, then with MODEL_API_KEY_2: " in shown or ", 2 times, then with" in shown
    assert "  k next key" in shown


def test_a_wait_fails_a_drill_that_must_go_on_at_once() -> None:
    drill = Drill.find("primary-503")
    turns = rehearsed(drill)
    expect = turns[0].expect
    assert expect is not None
    turns[0].expect = expect.model_copy(update={"at_once": True})

    (complaint,) = judge(drill, turns)

    assert complaint.startswith("turn 1: expected no wait, an attempt waited 2.")
    assert complaint.endswith("s (`expect.atOnce`)")


def test_the_default_drill_stands_first_in_the_list() -> None:
    assert NAMES[0] == "primary-503"
    assert set(NAMES) >= {
        "primary-503", "both-down", "error-in-stream", "overloaded-first-event", "truncated",
        "stalled", "reset", "refused", "rate-limit-hint", "quota-402", "context-overflow",
        "auth-401", "second-key", "cooldown-return", "tool-ran", "ten-steps", "signed-reasoning",
        "both-down-patient", "stay-for-the-turn",
    }  # fmt: skip


def test_the_report_of_a_drill_has_the_form_that_scripts_rely_on() -> None:
    primary, sibling = Route("openrouter/anthropic/claude-sonnet-5"), "anthropic/claude-sonnet-5"
    drill = Drill.find("primary-503")
    turns = rehearsed(drill)

    found = report(drill, turns, [])

    assert found["drill"] == "primary-503"
    assert found["passed"] is True
    assert found["why"] == ""
    assert found["requests"] == {primary: 5, sibling: 2}
    attempts = found["turns"][0]["steps"][0].pop("attempts")
    waits = [attempt.pop("waited") for attempt in attempts]
    assert waits[0] == waits[4] == 0.0
    assert all(
        wait <= waited <= wait * 1.25 for wait, waited in zip((2, 4, 8), waits[1:4], strict=True)
    )
    assert found["turns"][0]["seconds"] == pytest.approx(sum(waits), abs=0.01)
    assert attempts == [
        *(
            {"route": primary, "number": number, "kind": "server_error", "status": 503}
            for number in range(1, 5)
        ),
        {"route": sibling, "number": 5, "kind": None, "status": None},
    ]
    assert found["turns"][0]["steps"] == [{"requested": primary, "answered": sibling, "swaps": 1}]
    assert [turn["steps"][0]["answered"] for turn in found["turns"]] == [sibling, sibling, primary]
    assert found["turns"][2]["text"] == "The primary is back: all tests pass."


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_timeline_has_a_row_for_each_route(encoding: str) -> None:
    drill = Drill.find("primary-503")
    turns = rehearsed(drill)
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)

    draw(Console(file=output, width=100), drill, turns, [])

    output.seek(0)
    lines = output.read().splitlines()
    failed, answered = ("✗", "✓") if encoding == "utf-8" else ("x", "+")
    (primary,) = (line for line in lines if line.startswith("openrouter/"))
    (sibling,) = (line for line in lines if line.startswith("anthropic/"))
    assert primary.count(failed) == 4
    assert primary.count(answered) == 1
    assert (sibling.count(failed), sibling.count(answered)) == (0, 2)
    assert "passed  7 requests, all as expected" in lines


def test_the_timeline_says_why_a_route_was_passed_over() -> None:
    drill = Drill.find("counted")
    turns = rehearsed(drill)
    output = io.StringIO()

    draw(Console(file=output, width=100), drill, turns, [])

    assert (
        "· anthropic/claude-sonnet-5  passed over: 11 tokens, as anthropic counts, do not fit into "
        "its 10" in output.getvalue()
    )


DRILL = """
title = "mine"
route = "openrouter/x"
[config]
maxUpstreamRetryAttempts = 0
[config.fallbackModelsByModel]
"openrouter/x" = "anthropic/x"
[answers]
"openrouter/x" = [{ status = 503 }]
"anthropic/x" = [{ text = "hello" }]
[[turns]]
prompt = "hi"
"""


FORGED = """
title = "a signature that the stub did not issue"
route = "anthropic/claude-sonnet-5"
strict = true
[config.fallbackModelsByModel]
[answers]
"anthropic/claude-sonnet-5" = [{ reasoning = "Hm", signature = "EqQB", text = "hello" }]
[[turns]]
prompt = "hi"
[[turns]]
prompt = "and now?"
"""


@pytest.mark.parametrize(
    ("text", "answered"),
    [
        pytest.param(FORGED, ["400 strict", "text"], id="strict"),
        pytest.param(FORGED.replace("true", "false"), ["text"], id="not strict"),
    ],
)
def test_a_strict_drill_refuses_what_the_real_api_refuses(
    tmp_path: Path, text: str, answered: list[str]
) -> None:
    path = tmp_path / "forged.toml"
    path.write_text(text)

    _, turn = rehearsed(Drill.find(str(path)))

    assert [each.answered for each in turn.requests] == answered


@pytest.mark.parametrize(
    ("expect", "complaint"),
    [
        pytest.param("", None, id="nothing expected"),
        pytest.param('answered = "anthropic/x"', None, id="what happens"),
        pytest.param(
            'answered = "openrouter/x"', "expected the answer of openrouter/x, the last request "
            "went to anthropic/x (`expect.answered`)", id="route",
        ),
        pytest.param(
            'error = "StepFailed"', "expected StepFailed, got an answer (`expect.error`)",
            id="error",
        ),
        pytest.param(
            'answered = "anthropic/x"\ntext = "bye"',
            "expected to see 'bye', saw 'hello' (`expect.text`)", id="text",
        ),
        pytest.param(
            'answered = "anthropic/x"\nrequests = [["anthropic/x", 1]]',
            "expected the requests 1 x anthropic/x, received 1 x openrouter/x, 1 x anthropic/x "
            "(`expect.requests`)", id="requests",
        ),
        pytest.param(
            'answered = "anthropic/x"\nwaits = [2]',
            "expected 1 retries, received 0 (`expect.waits`)", id="waits",
        ),
        pytest.param(
            'answered = "anthropic/x"\nattempts = 3', "expected 3 attempts, saw 2 "
            "(`expect.attempts`)", id="attempts",
        ),
        pytest.param(
            'answered = "anthropic/x"\nretracted = 1', "expected 1 attempts to be retracted, saw 0 "
            "(`expect.retracted`)", id="retracted",
        ),
        pytest.param(
            'answered = "anthropic/x"\nleft = 1',
            "expected 1 requests to be closed before their end, saw 0 (`expect.left`)", id="left",
        ),
        pytest.param(
            'answered = "anthropic/x"\nrepaired = 1',
            "expected 1 repairs, saw 0 (`expect.repaired`)", id="repaired",
        ),
        pytest.param(
            'answered = "anthropic/x"\ncold = 2', "expected 2 moves to a route without a cache, "
            "saw 0 (`expect.cold`)", id="cold caches",
        ),
        pytest.param('answered = "anthropic/x"\ncold = 0', None, id="no cold cache"),
        pytest.param(
            'answered = "anthropic/x"\npatience = [60]', "expected 1 waits for a route to come "
            "back, saw 0 (`expect.patience`)", id="patience",
        ),
        pytest.param(
            'answered = "anthropic/x"\ntools = {look = 1}',
            "expected the tools 1 x look, they ran never (`expect.tools`)", id="tools",
        ),
        pytest.param(
            'answered = "anthropic/x"\nsteps = ["openrouter/x"]', "expected the steps to be "
            "answered by ['openrouter/x'], they were by ['anthropic/x'] (`expect.steps`)",
            id="steps",
        ),
    ],
)  # fmt: skip
def test_a_drill_of_ones_own_is_judged_by_what_it_expects(
    tmp_path: Path, expect: str, complaint: str | None
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(DRILL + ("[turns.expect]\n" + expect if expect else ""))
    drill = Drill.find(str(path))

    complaints = judge(drill, rehearsed(drill))

    if complaint is None:
        assert complaints == []
    else:
        assert complaints == [f"turn 1: {complaint}"]


NUMBERED = """
title = "the primary refuses the connection"
route = "balanced"
[environ]
MODEL_BASE_URL = "${STUB}/the%2Dhouse/v1"
MODEL_API_KEY = "sk-1"
MODEL_BALANCED = "x"
MODEL_FALLBACK_1_BASE_URL = "${STUB}/fallback-1/v1"
MODEL_FALLBACK_1_API_KEY = "sk-2"
MODEL_FALLBACK_1_BALANCED = "y"
[answers]
"the-house/x" = { refuse = true }
"fallback-1/y" = { text = "hello" }
[[turns]]
prompt = "hi"
[turns.expect]
answered = "fallback-1/y"
requests = [["fallback-1/y", 1]]
attempts = 2
"""

HINTED = """
title = "the head of a hint refuses the connection"
route = "hint"
[environ]
SIDESTEP_PROVIDERS = '''
{"house": {"wire": "openai-chat", "baseUrl": "${STUB}/house/v1", "apiKeyEnv": null},
 "spare": {"wire": "openai-chat", "baseUrl": "${STUB}/spare", "apiKeyEnv": null}}'''
SIDESTEP_HINT = "house:x,spare:y"
[answers]
"house/x" = { refuse = true }
"spare/y" = { text = "hello" }
[[turns]]
prompt = "hi"
[turns.expect]
answered = "spare/y"
requests = [["spare/y", 1]]
attempts = 2
"""


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        pytest.param(NUMBERED, "primary/x", id="numbered variables"),
        pytest.param(HINTED, "house/x", id="providers of a variable"),
    ],
)
def test_a_variable_that_leads_to_a_provider_which_refuses_leads_to_a_closed_port(
    tmp_path: Path, text: str, refused: str
) -> None:
    path = tmp_path / "refused.toml"
    path.write_text(text)
    drill = Drill.find(str(path))

    (turn,) = played = rehearsed(drill)

    failures = [event.failure for _, event in turn.events if isinstance(event, AttemptFailed)]
    assert [(each.route, each.code) for each in failures] == [(refused, "refused")]
    assert judge(drill, played) == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("primary", None, "there is no drill 'primary'", id="no such drill"),
        pytest.param("x.toml", "title =", "'x.toml': not TOML (", id="not TOML"),
        pytest.param("x.json", "{", "'x.json': not JSON (", id="not JSON"),
        pytest.param(
            "x.toml", 'title = "x"', "'x.toml': route is missing: write it", id="only a title"
        ),
        pytest.param(
            "x.json", '{"titel": "x"}', "title is missing: write it in place of 'titel'",
            id="a title that is spelled wrong",
        ),
        pytest.param("x.json", "[]", "'x.json': it must be a table of settings", id="a list"),
        pytest.param("x.toml", "title = '\udcff'", "not UTF-8", id="not UTF-8"),
        pytest.param("x.toml", DRILL.replace("turns", "turn"), "turn", id="a typing mistake"),
        pytest.param(
            "x.toml", DRILL.replace('route = "openrouter/x"', 'route = "gpt"'),
            'a route is written "provider/model"', id="no route",
        ),
        pytest.param(
            "x.toml", DRILL.replace("status = 503", "statu = 503"), "answers['openrouter/x']",
            id="an unknown answer",
        ),
        pytest.param(
            "x.toml", DRILL + "pause = -1", "greater than or equal to 0", id="time running back"
        ),
        pytest.param(
            "x.toml", DRILL.replace("Attempts = 0", 'Attempts = "0"'),
            "`maxUpstreamRetryAttempts` must be a whole number", id="a void configuration",
        ),
    ],
)  # fmt: skip
def test_a_drill_that_cannot_be_played_is_refused_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(ConfigError) as caught:
        Drill.find(name)

    assert message in str(caught.value)
