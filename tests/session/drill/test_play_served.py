"""Drills against a client of the local address, which runs in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path

import anyio
import pytest

from sidestep import ConfigError, Route, StepEnded, StepStarted
from sidestep.session.drill.drill import Drill, list_drills
from sidestep.session.drill.judge import judge
from sidestep.session.drill.play_served import (
    StepClock,
    StepRecorder,
    play_served,
)
from sidestep.session.drill.played_turn import PlayedTurn
from sidestep.session.drill.report import report
from sidestep.session.drill.served_drill import playable_turns, why_unplayable

from ...command import run_command
from ...virtual import run_virtually

CLIENT = str(Path(__file__).with_name("asking_client.py"))
PLAYABLE = [drill.name for drill in list_drills() if why_unplayable(drill) is None]
PRIMARY = "openrouter/anthropic/claude-sonnet-5"
QUICK = {"both-down", "counted", "error-in-stream", "numbered-variables", "second-key", "ten-steps"}


def command(behaviour: str) -> list[str]:
    return [sys.executable, CLIENT, behaviour]


def played(name: str, behaviour: str = "honest") -> list[PlayedTurn]:
    drill = Drill.find(name)
    return anyio.run(partial(play_served, drill, command(behaviour), environ=os.environ))


@pytest.mark.parametrize("name", PLAYABLE)
def test_an_honest_client_passes_every_drill(name: str, whole: bool) -> None:
    if not (whole or name in QUICK):
        pytest.skip("`pytest --whole` plays them all")
    turns = played(name)

    assert judge(Drill.find(name), turns) == []
    assert all(turn.requests for turn in turns) or name == "refused"


@pytest.mark.parametrize(
    ("name", "behaviour", "complaint"),
    [
        pytest.param("demo", "tells nothing", "expected to see 'The sibling answers", id="no text"),
        pytest.param("demo", "ends badly",
            "turn 1: the command ended with exit status 3, although it was answered", id="status"),
        pytest.param("demo", "asks twice", "turn 1: expected the requests", id="a second request"),
        pytest.param("demo", "asks another", "turn 1: expected an answer, got no step",
            id="another model"),
        pytest.param("both-down", "hides failures",
            "the command ended with exit status 0, although it was not answered", id="hidden"),
    ],
)  # fmt: skip
def test_a_client_that_does_wrong_fails(name: str, behaviour: str, complaint: str) -> None:
    complaints = judge(Drill.find(name), played(name, behaviour))

    assert any(complaint in each for each in complaints)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("auth-401", id="and is answered"),
        pytest.param("both-down", id="and fails again"),
    ],
)
def test_a_client_that_asks_again_after_a_failure_is_judged_by_its_first_step(name: str) -> None:
    turns = played(name, "asks again after a failure")
    asked = [each.route for each in turns[0].requests]

    assert judge(Drill.find(name), turns) == []
    assert turns[0].first_step is not None
    assert len(asked) > turns[0].first_step[1]


def test_what_a_client_asks_beside_does_not_count() -> None:
    drill = Drill.find("demo")
    turns = played("demo", "asks for a title")
    seen = report(drill, turns, judge(drill, turns))

    assert seen["passed"] is True
    assert list(seen["requests"]) == [
        "openrouter/anthropic/claude-sonnet-5", "anthropic/claude-sonnet-5",
    ]  # fmt: skip
    assert seen["turns"][0]["text"] == "The sibling answers: the parser drops the last token."


def test_the_command_gets_the_prompt_and_the_route() -> None:
    drill = Drill.find("auth-401")
    shows = [sys.executable, "-c", "import sys; print(*sys.argv[1:], sep='|')"]
    words = [*shows, "--ask={prompt}", "{model}", "{other}"]
    shown: list[bytes] = []
    (turn, *_) = anyio.run(
        partial(play_served, drill, words, environ=os.environ, show=shown.append)
    )

    assert turn.output == f"--ask={turn.prompt}|{drill.file.route}|{{other}}\n"
    assert b"".join(shown).decode().startswith(turn.output)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tool-ran", "begins a tool while the answer is still coming.*without --serve"),
    ],
)
def test_a_drill_that_no_client_can_play_says_why_and_what_to_do(name: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        played(name)


def test_only_one_drill_of_the_catalogue_is_refused() -> None:
    refused = [drill.name for drill in list_drills() if why_unplayable(drill) is not None]

    assert refused == ["tool-ran"]


@pytest.mark.parametrize(
    ("name", "turns", "why"),
    [
        pytest.param("second-key", 2, "keeps its key after the pause", id="keys"),
        pytest.param("signed-reasoning", 2, "have left in the conversation", id="a repair"),
        pytest.param("primary-503", 3, None, id="nothing"),
    ],
)
def test_turns_that_depend_on_the_conversation_of_earlier_ones_are_left_out(
    name: str, turns: int, why: str | None
) -> None:
    found, reason = playable_turns(Drill.find(name))

    assert len(found) == turns
    assert (reason is None) if why is None else (reason is not None and why in reason)


def test_no_tool_of_a_client_has_the_name_that_a_drill_calls() -> None:
    turns = played("stay-for-the-turn")
    bodies = json.dumps([each.body for each in turns[0].requests])

    assert '"drill_run_tests"' in bodies
    assert '"run_tests"' not in bodies


def test_the_tools_of_a_drill_take_their_time_though_no_client_has_them() -> None:
    turns = played("ten-steps")

    assert 32 * 6 < turns[0].seconds < 32 * 6 + 60


def test_a_client_that_sends_more_than_a_drill_has_room_for_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SYSTEM", "You are a helpful agent. " * 100)
    with pytest.raises(ConfigError, match="what the client sends beside the prompt"):
        played("counted")


def test_the_time_of_a_drill_runs_only_while_a_step_does() -> None:
    async def times() -> list[float]:
        clock = StepClock(scale=0.5)
        seen = [clock.time()]
        for _ in range(2):
            await anyio.sleep(100)
            with clock.running():
                await anyio.sleep(1)
                with clock.running():
                    await anyio.sleep(1)
                await anyio.sleep(1)
            seen.append(clock.time())
        return seen

    assert run_virtually(times) == pytest.approx([0.0, 6.0, 12.0])


@pytest.mark.parametrize("requested", [PRIMARY, "anthropic/claude-haiku"])
def test_the_time_runs_from_the_start_of_a_step_to_its_end(requested: str) -> None:
    route = Route(requested)
    started = StepStarted(1, route, route)

    async def time() -> float:
        clock = StepClock(scale=1)
        recorder = StepRecorder(Drill.find("demo"), clock)
        for event in (
            started,
            started,  # again, after a wait for a route to come back
            StepEnded(1, route, route, 1, 0, None),
            StepEnded(1, route, route, 1, 0, None),
        ):
            recorder(event)
            await anyio.sleep(10)
        return clock.time()

    assert run_virtually(time) == pytest.approx(20.0)


def test_the_command_plays_a_drill_against_a_client() -> None:
    ran = run_command("drill", "--serve", "auth-401", "--", *command("honest"))

    assert ran.returncode == 0
    assert "passed" in ran.stdout


def test_which_turns_are_left_out_is_told() -> None:
    ran = run_command("drill", "--serve", "second-key", "--", *command("honest"))

    assert ran.returncode == 0
    assert "second-key: from turn 3 on it needs a conversation that keeps its key" in ran.stderr
    assert "turn 3" not in ran.stdout


def test_a_client_that_fails_gives_status_1_and_the_outcome_as_json() -> None:
    ran = run_command("drill", "--serve", "demo", "--json", "--", *command("ends badly"))
    outcome = json.loads(ran.stdout)

    assert ran.returncode == 1
    assert outcome["passed"] is False
    assert "ended with exit status 3" in outcome["why"]
    assert "The sibling answers" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(["--serve"], "--serve needs a command", id="no command"),
        pytest.param(["--serve", "--"], "--serve needs a command", id="nothing behind --"),
        pytest.param(["--serve", "--all", "--", "true"], "leave --all out", id="all"),
        pytest.param(["--serve", "nope", "--", "true"], "there is no drill 'nope'", id="no drill"),
        pytest.param(["--serve", "--", "/nowhere/claude"], "cannot be started", id="no program"),
        pytest.param(["--serve", "tool-ran", "--", "true"], "begins a tool", id="unplayable"),
        pytest.param(["--", "nope"], "there is no drill 'nope'", id="-- without --serve"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(arguments: list[str], complaint: str) -> None:
    ran = run_command("drill", *arguments)

    assert ran.returncode == 2
    assert complaint in ran.stderr
