"""The command: what a person types, sees, and gets back as a status.

Most rows run in this process. Each exit status has a row that runs in a process of its own, and so
has what only a process shows.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import sidestep
from sidestep.session.command import main as cli

from ...command import Ran, environment, run_command, scenario, stub
from ...other_words import NO_ROOM

PRIMARY, SIBLING = "openrouter/anthropic/claude-sonnet-5", "anthropic/claude-sonnet-5"
MAP = {"fallbackModelsByModel": {PRIMARY: SIBLING}, "maxUpstreamRetryAttempts": 0}
TWO_FILES = str(Path(__file__).parents[3] / "fixtures" / "conversations" / "two_files.json")
SIDESTEP = [sys.executable, "-m", "sidestep"]
ON_A_FULL_DISK = ["sh", "-c", 'exec "$@" >/dev/full', "sh", *SIDESTEP]


def run_process(*command: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run *command* in a process, with nothing of our environment but *variables*."""
    return subprocess.run(
        command, env=environment(**variables), capture_output=True, encoding="utf-8", timeout=60,
        check=False,
    )  # fmt: skip


@contextmanager
def stub_process(*arguments: str) -> Iterator[str]:
    """Serve the stub in a process of its own, and hand over its URL."""
    server = subprocess.Popen(
        [*SIDESTEP, "stub", "--port", "0", *arguments], env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
    )  # fmt: skip
    with server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().removeprefix("listening on ").strip()
        finally:
            server.kill()


@pytest.mark.parametrize(
    ("arguments", "variables", "status", "message"),
    [
        pytest.param(["--help"], {}, 0, "Usage:", id="help"),
        pytest.param(["--version"], {}, 0, "0.1.0", id="version"),
        pytest.param([], {}, 2, "Usage:", id="nothing"),
        *(
            pytest.param([name], {}, 2, f"No such command {name!r}.{meant}", id=f"command {name}")
            for name, meant in (
                ("dril", " Did you mean `sidestep drill`?\n"),
                ("chekc", " Did you mean `sidestep check`?\n"),
                ("demo", " Did you mean `sidestep drill demo`?\n"),
                ("primary-503", " Did you mean `sidestep drill primary-503`?\n"),
                ("xyz", "\n"),
            )
        ),
        pytest.param(["--dril"], {}, 2, "No such option", id="an option that is not there"),
        pytest.param(["drill", "nope"], {}, 2, "there is no drill 'nope'", id="no such drill"),
        pytest.param(["drill", ""], {}, 2, "NAME is empty: leave it out", id="an empty name"),
        pytest.param(["drill", "--list"], {}, 0, "primary-503", id="the list of drills"),
        pytest.param(["drill", "--time-scale", "0"], {}, 2, "--time-scale", id="no time"),
        pytest.param(["drill", "--time-scale", "nan"], {}, 2, "--time-scale", id="no number"),
        pytest.param(["drill", "x", "--all"], {}, 2, "--all plays every drill", id="one and all"),
        pytest.param(["run"], {}, 2, "'PROMPT'", id="no prompt"),
        pytest.param(["run", "hi"], {}, 2, "'--model'", id="no route"),
        pytest.param(
            ["run", "hi", "--model", "gpt-5"], {}, 2, 'written "provider/model"', id="no provider"
        ),
        pytest.param(
            ["run", "hi", "--model", "nowhere/x"], {}, 2, "'nowhere' is no provider", id="unknown"
        ),
        pytest.param(
            ["run", "hi", "--model", "anthropic/x"], {}, 1, "ANTHROPIC_API_KEY", id="no key"
        ),
        pytest.param(
            ["run", "hi", "--model", "anthropic/x"], {"SIDESTEP_PROVIDERS": "{"}, 2,
            "SIDESTEP_PROVIDERS is not JSON", id="broken providers",
        ),
        pytest.param(["run", " ", "--model", "anthropic/x"], {}, 2, "PROMPT is empty", id="empty"),
        pytest.param(
            ["run", "hi", "--model", "opena/x"], {}, 2, "did you mean 'openai'?", id="near"
        ),
        pytest.param(
            ["run", "hi", "--model", "anthropic/x"],
            {"HTTP_PROXY": "::::", "NO_PROXY": "", "ANTHROPIC_API_KEY": "sk-x"}, 2,
            "httpx cannot be set up from the environment", id="a proxy that cannot be",
        ),
        pytest.param(
            ["run", "hi", "--model", "anthropic/x"], {"SIDESTEP_PROVIDERS": "@nope.json"}, 2,
            "SIDESTEP_PROVIDERS (nope.json): it cannot be read", id="no file of providers",
        ),
        *(
            pytest.param(
                ["run", "hi", "--model", "anthropic/x", option, "", *more], {}, 2,
                f"'{option}': '' is empty: write `{option} {form}`, or leave it "
                "out", id=f"{' '.join((option, *more))} without a name",
            )
            for option, form, *more in (
                ("--journal", "FILE"), ("--session", "FILE"), ("--session", "FILE", "--resume"),
                ("--workspace", "DIR"), ("--workspace", "DIR", "--yes"),
            )
        ),
        pytest.param(
            ["run", "hi", "--model", "anthropic/x", "--budget", "attempts=many"], {}, 2,
            "'--budget': 'many' is no number", id="a budget that is no number",
        ),
        pytest.param(
            ["run", "hi", "--model", "anthropic/x", "--budget", "attempts=1e3",
             "--session-budget", "attempts=2000"], {}, 1, "ANTHROPIC_API_KEY is not set",
            id="budgets of a turn and its session",
        ),
        pytest.param(
            ["stub", "--scenario", ""], {}, 2, "write `--scenario FILE|DRILL`, or leave it out",
            id="--scenario without a name",
        ),
        pytest.param(
            ["stub", "--scenario", "nope"], {}, 2, "take one of auth-401", id="no such scenario"
        ),
        pytest.param(
            ["stub", "--scenario", "."], {}, 2, "not a regular file", id="a folder for a scenario"
        ),
        pytest.param(["drill", "auth-401"], {"COLUMNS": "0"}, 0, "passed", id="no width"),
        pytest.param(["stub", "--port", "99999"], {}, 2, "--port", id="no such port"),
        pytest.param(
            ["stub", "--host", "256.1.1.1", "--port", "0"], {}, 2,
            "): choose an address of this machine, such as 127.0.0.1", id="no such host",
        ),
        pytest.param(
            ["stub", "--host", "192.0.2.1", "--port", "0"], {}, 2,
            "): choose an address of this machine, such as 127.0.0.1", id="the host of another",
        ),
        pytest.param(
            ["check", "--journal", "nope"], {}, 2, "): name a file that can", id="no such journal"
        ),
        pytest.param(
            ["serve", "--token", ""], {}, 2, "write `--token FILE|none`, or leave it out",
            id="--token without a name",
        ),
        pytest.param(
            ["serve", "--token", "."], {}, 2, "the token's file '.' cannot be read (", id="a folder"
        ),
        pytest.param(
            ["serve", "--token", "nope/token"], {}, 2, "): name a file that can", id="no folder"
        ),
        pytest.param(
            ["serve", "--store", "."], {}, 2, "): name a file of your own", id="a folder to keep in"
        ),
        pytest.param(
            ["serve", "--", "nope"], {}, 2, "): write one that is installed", id="no such client"
        ),
        pytest.param(
            ["render", TWO_FILES, "--to", "opena/x"], {}, 2, "(did you mean 'openai'?)",
            id="a provider that is spelled wrong",
        ),
        pytest.param(["explain", "nope.json"], {}, 2, "nope.json", id="nothing to explain"),
        pytest.param(["explain", "."], {}, 2, "is a directory", id="a folder to explain"),
        pytest.param(["explain", ""], {}, 2, "''", id="no name to explain"),
        pytest.param(["check"], {}, 0, "no configuration", id="nothing configured"),
        pytest.param(
            ["check"], {"SIDESTEP_ROUTING_RULES": ""}, 0, "SIDESTEP_ROUTING_RULES is empty",
            id="rules that are empty",
        ),
        pytest.param(
            ["check"], {"SIDESTEP_HINT": "${RESCUE:-zai},anthropic"}, 0,
            "PROVIDER/MODEL: zai/MODEL → anthropic/MODEL", id="a hint that takes a step's model",
        ),
        pytest.param(
            ["check"], {"SIDESTEP_FALLBACK_CONFIG": MAP}, 0, f"{PRIMARY} → {SIBLING}", id="a chain"
        ),
        pytest.param(
            ["check"], {"REPLO_OPENCODE_FALLBACK_CONFIG": MAP}, 0, "REPLO_OPENCODE", id="the other"
        ),
        pytest.param(
            ["check"],
            {"SIDESTEP_FALLBACK_CONFIG": '{"fallbackModelsByModel": {"a/x": "b/y", "a/x": "c/z"}}'},
            0, "C020  `fallbackModelsByModel['a/x']` is written twice, and the last value counts: "
            "write it once", id="a route that is written twice",
        ),
        pytest.param(
            ["check"], {"SIDESTEP_FALLBACK_CONFIG": "{"}, 2, "not JSON", id="broken configuration"
        ),
        pytest.param(
            ["check", "--model", "x/y"], {"SIDESTEP_FALLBACK_CONFIG": MAP}, 0, "C017",
            id="a route without a sibling",
        ),
        pytest.param(
            ["check"], {"SIDESTEP_PROVIDERS": '{"mine": {}}'}, 2, "or in SIDESTEP_PROVIDERS",
            id="a provider without a wire",
        ),
        pytest.param(
            ["check"], {"SIDESTEP_FALLBACK_CONFIG": "@nope.json"}, 2, "nope.json", id="no such file"
        ),
        pytest.param(
            ["check"], {"SIDESTEP_HINT": "@"}, 2, "SIDESTEP_HINT: it names no file after its @",
            id="only an @",
        ),
    ],
)  # fmt: skip
def test_what_a_person_types_is_answered_without_a_traceback(
    tmp_path: Path, arguments: list[str], variables: dict[str, Any], status: int, message: str
) -> None:
    ran = run_command(*arguments, cwd=tmp_path, **variables)

    assert ran.returncode == status
    assert message in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    if status:
        assert message not in ran.stdout


def test_an_answer_that_cannot_be_read_is_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "broken.http").write_text("HTTP/1.1 abc\n\n")

    ran = run_command("explain", "broken.http", cwd=tmp_path)

    assert ran.returncode == 2
    assert ran.stderr.startswith("Error: 'broken.http': 'HTTP/1.1 abc' is no status line")


@pytest.mark.parametrize(
    ("arguments", "given", "kind"),
    [
        pytest.param(["anthropic_stream_overloaded_first.json"], "", "overloaded", id="a capture"),
        pytest.param(["-", "--provider", "groq"], "HTTP/1.1 503 X\r\n\r\n", "overloaded", id="raw"),
        pytest.param(
            ["-", "--status", "402", "--model", "deepseek/x"],
            "",
            "quota",
            id="nothing but a status",
        ),
    ],
)
def test_a_failed_answer_is_explained(arguments: list[str], given: str, kind: str) -> None:
    captures = Path(__file__).parents[3] / "fixtures" / "captures"

    ran = run_command("explain", *arguments, "--json", cwd=captures, given=given)

    assert ran.returncode == 0
    found = json.loads(ran.stdout)
    assert found["kind"] == kind
    assert {
        "kind", "status", "code", "message", "retry_after", "reset_at", "retry", "swap",
        "degrade", "repair", "why", "because",
    } <= found.keys()  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param("explain -", id="an answer"),
        pytest.param(f"render - --to {PRIMARY}", id="a conversation"),
        pytest.param(f"run - --model {PRIMARY}", id="a prompt"),
    ],
)
def test_a_closed_stdin_is_named(arguments: str) -> None:
    ran = run_command(*arguments.split(), given=None)

    assert ran.returncode == 2
    assert "Error: stdin is closed: " in ran.stderr


def test_a_process_whose_stdin_is_closed_names_it_as_well() -> None:
    ran = run_process("sh", "-c", 'exec "$@" <&-', "sh", *SIDESTEP, "explain", "-")

    assert ran.returncode == 2
    assert "Error: stdin is closed: " in ran.stderr


def test_an_answer_in_a_pipe_with_a_name_is_explained(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [*SIDESTEP, "explain", str(pipe)], env=environment(), stdout=subprocess.PIPE
    ) as explaining:
        pipe.write_bytes(b"HTTP/1.1 402 X\r\n\r\n")
        told, _ = explaining.communicate(timeout=60)

    assert told.startswith(b"quota\n")


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        pytest.param({"SIDESTEP_FALLBACK_CONFIG": MAP}, 0, id="0"),
        pytest.param({"SIDESTEP_FALLBACK_CONFIG": "{"}, 2, id="2"),
    ],
)
def test_a_process_says_what_the_command_says_here(variables: dict[str, Any], status: int) -> None:
    ran = run_process(*SIDESTEP, "check", **variables)

    assert run_command("check", **variables) == Ran(status, ran.stdout, ran.stderr)


def test_the_first_command_of_a_new_user_passes() -> None:
    ran = run_process(*SIDESTEP, "drill")

    assert ran.returncode == 0
    assert "passed  7 requests, all as expected" in ran.stdout
    assert ran.stderr == ""


def test_a_failed_drill_exits_with_1_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(
        json.dumps(
            {
                "title": "mine",
                "route": PRIMARY,
                "config": {"fallbackModelsByModel": {}},
                "answers": {PRIMARY: {"status": 401}},
                "turns": [{"prompt": "hi"}],
            }
        )
    )

    ran = run_process(*SIDESTEP, "drill", str(path), "--json")

    assert ran.returncode == 1
    (line,) = ran.stdout.splitlines()
    outcome = json.loads(line)
    assert outcome["passed"] is False
    assert outcome["why"].startswith("turn 1: was not answered: auth 401")
    assert outcome["turns"][0]["steps"][0]["answered"] is None


def test_check_says_in_json_what_it_says_in_text() -> None:
    two_way = MAP | {"fallbackModelsByModel": {PRIMARY: SIBLING, SIBLING: [PRIMARY, "sonnet"]}}

    ran = run_command(
        "check", "--json", SIDESTEP_FALLBACK_CONFIG=two_way, OPENROUTER_API_KEY="sk-secret"
    )

    found = json.loads(ran.stdout)
    assert found["state"] == "on"
    assert found["chains"][0] == {
        "route": PRIMARY, "siblings": [SIBLING], "walk": [PRIMARY, SIBLING], "is_cycle": True,
        "unfit": {},
    }  # fmt: skip
    assert [warning["code"] for warning in found["warnings"]] == ["C003", "C016"]
    assert "sk-secret" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_turn_is_moved_and_says_so(tmp_path: Path, *, as_json: bool) -> None:
    answers = {
        PRIMARY: {"text": "Half an answer", "after": 1, "error": 503},
        SIBLING: {"text": "The whole answer."},
    }
    with stub(scenario(tmp_path, answers)) as url:
        providers = httpx.get(f"{url}/_stub/providers").json()
        ran = run_command(
            "run", "hi", "--model", PRIMARY, *(["--json"] if as_json else []),
            SIDESTEP_FALLBACK_CONFIG=MAP, SIDESTEP_PROVIDERS=providers,
        )  # fmt: skip
        requests = httpx.get(f"{url}/_stub/requests").json()

    assert ran.returncode == 0
    assert [request["route"] for request in requests] == [PRIMARY, SIBLING]
    if as_json:
        events = [json.loads(line) for line in ran.stdout.splitlines()]
        assert [event["event"] for event in events if event["event"] != "TextDelta"] == [
            "StepStarted", "AttemptStarted", "AttemptCost", "AttemptFailed", "PartsRetracted",
            "RouteDegraded", "Swapped", "AttemptStarted", "AttemptCost", "StepEnded", "TurnEnded",
        ]  # fmt: skip
        assert events[-1] == {
            "event": "TurnEnded", "text": "The whole answer.", "route": SIBLING,
            "requested": PRIMARY, "error": None,
        }  # fmt: skip
        assert ran.stderr == ""
    else:
        assert ran.stdout == "Half an answer\nThe whole answer.\n"
        assert "the answer above is void" in ran.stderr
        assert re.search(rf"{PRIMARY} degraded until \d\d:\d\d:\d\d \(60 s\)", ran.stderr)
        assert f"switched to {SIBLING}, swap 1 of 2 (server_error 503" in ran.stderr
        assert f"answered by {SIBLING}" in ran.stderr


def test_a_sibling_that_a_turn_goes_past_is_told_with_why(tmp_path: Path) -> None:
    answers = {
        PRIMARY: {"status": 503}, SIBLING: {"text": "no"}, "zai/glm-5": {"text": "hello"},
    }  # fmt: skip
    siblings = MAP | {"fallbackModelsByModel": {PRIMARY: [SIBLING, "zai/glm-5"]}}
    with stub(scenario(tmp_path, answers)) as url:
        providers = httpx.get(f"{url}/_stub/providers").json()
        providers["anthropic"]["contextWindow"] = 1
        ran = run_command(
            "run", "Why does it fail?", "--model", PRIMARY,
            SIDESTEP_FALLBACK_CONFIG=siblings, SIDESTEP_PROVIDERS=providers,
        )  # fmt: skip

    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    assert ran.stderr.count(f"sidestep: {SIBLING} is passed over: about ") == 1


def test_an_answer_can_be_held_back_until_it_is_whole(tmp_path: Path) -> None:
    answers = {
        PRIMARY: {"text": "Half an answer", "after": 1, "error": 503},
        SIBLING: {"text": "The whole answer."},
    }
    with stub(scenario(tmp_path, answers)) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY, "--no-stream", SIDESTEP_FALLBACK_CONFIG=MAP,
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip

    assert ran.stdout == "The whole answer.\n"


def test_a_turn_without_an_answer_exits_with_1_and_names_every_attempt(tmp_path: Path) -> None:
    answers = {PRIMARY: {"status": 503}, SIBLING: {"status": 529}}
    with stub(scenario(tmp_path, answers)) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY, SIDESTEP_FALLBACK_CONFIG=MAP,
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip

    assert ran.returncode == 1
    assert ran.stdout == ""
    assert f"2 attempts failed (1. {PRIMARY} server_error 503" in ran.stderr
    assert f"2. {SIBLING} overloaded 529" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("limits", "asked", "told"),
    [
        pytest.param(
            ["--budget", "attempts=1"], [PRIMARY],
            "the turn has spent 1 attempt of 1 attempt (`budget.attempts`): raise it, or ask for "
            f"less; 1 attempt failed (1. {PRIMARY} server_error 503", id="attempts",
        ),
        pytest.param(
            ["--session-budget", "attempts=2", "--budget", "attempts=5"], [PRIMARY, SIBLING],
            "the session has spent 2 attempts of 2 attempts (`session_budget.attempts`)",
            id="attempts of the session",
        ),
        pytest.param(
            ["--budget", "input-tokens=1", "--budget", "attempts=9"], [],
            "the turn has spent 0 input tokens of 1 input token (`budget.input_tokens`)",
            id="input tokens",
        ),
        pytest.param(
            ["--budget", "output_tokens=50", "--max-output-tokens", "100"], [],
            "the turn has spent 0 output tokens of 50 output tokens (`budget.output_tokens`), and "
            f"an attempt on {PRIMARY} may take 100 output tokens more", id="output tokens",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_budget_ends_a_turn_and_says_so(
    tmp_path: Path, limits: list[str], asked: list[str], told: str, *, as_json: bool
) -> None:
    two_way = MAP | {"fallbackModelsByModel": {PRIMARY: SIBLING, SIBLING: PRIMARY}}
    answers = {PRIMARY: {"status": 503}, SIBLING: {"status": 503}}
    with stub(scenario(tmp_path, answers)) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY, *limits, *(["--json"] if as_json else []),
            SIDESTEP_FALLBACK_CONFIG=two_way,
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip
        requests = httpx.get(f"{url}/_stub/requests").json()

    assert ran.returncode == 1
    assert [request["route"] for request in requests] == asked
    if as_json:
        ended = json.loads(ran.stdout.splitlines()[-1])
        assert ended["error"]["class"] == "BudgetExceeded"
        assert ended["error"]["message"].startswith(told)
    else:
        assert f"Error: {told}" in ran.stderr
        assert "Traceback" not in ran.stderr


def test_a_budget_of_seconds_ends_an_answer_that_is_under_way(tmp_path: Path) -> None:
    answers = {PRIMARY: {"text": "Half an answer", "stall": True}}
    with stub(scenario(tmp_path, answers)) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY, "--budget", "seconds=0.01",
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip

    assert ran.returncode == 1
    assert re.search(
        r"Error: the turn has lasted [\d.]+ of 0\.01 s \(`budget.seconds`\)", ran.stderr
    )


def test_a_session_that_is_resumed_goes_on_with_its_budget(tmp_path: Path) -> None:
    with stub(scenario(tmp_path, {PRIMARY: {"text": "hello"}})) as url:
        providers = httpx.get(f"{url}/_stub/providers").text
        asked = ["run", "hi", "--model", PRIMARY, "--session", "x.db", "--budget", "attempts=1"]
        ran = [
            run_command(
                *asked, "--session-budget", "attempts=2", *more, cwd=tmp_path,
                SIDESTEP_PROVIDERS=providers,
            )
            for more in ([], ["--resume"], ["--resume"])
        ]  # fmt: skip
        requests = httpx.get(f"{url}/_stub/requests").json()

    assert [each.returncode for each in ran] == [0, 0, 1]
    assert "the session has spent 2 attempts of 2 attempts" in ran[-1].stderr
    assert len(requests) == 2


def test_money_is_limited_only_where_prices_are_installed(tmp_path: Path) -> None:
    (tmp_path / "genai_prices.py").write_text("raise ImportError")

    ran = run_process(
        *SIDESTEP, "run", "hi", "--model", "anthropic/x", "--budget", "money=1",
        PYTHONPATH=str(tmp_path),
    )  # fmt: skip

    assert ran.returncode == 2
    assert "`pip install 'sidestep[prices]'`" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_budget_of_money_ends_a_turn(tmp_path: Path) -> None:
    pytest.importorskip("genai_prices")
    with stub(scenario(tmp_path, {PRIMARY: {"text": "hello"}})) as url:
        told = [
            run_command(
                "run", "hi", "--model", PRIMARY, "--budget", f"money={money}",
                SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
            )
            for money in ("0.5", "1e-9")
        ]  # fmt: skip

    assert [each.returncode for each in told] == [0, 1]
    assert "(`budget.money`)" in told[1].stderr


def test_a_broken_configuration_is_reported_and_the_turn_goes_on(tmp_path: Path) -> None:
    with stub(scenario(tmp_path, {PRIMARY: {"text": "hello"}})) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY, SIDESTEP_FALLBACK_CONFIG='{"sk-secret',
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip

    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    assert ran.stderr.count("the fallback configuration is ignored") == 1
    assert "sk-secret" not in ran.stderr


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        pytest.param("Half an answer", 1, id="in a line"),
        pytest.param("A line\n", 1, id="at the end of a line"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_an_answer_that_is_void_is_called_so(tmp_path: Path, text: str, marks: int) -> None:
    half = {"text": text, "error": 401} if text else {"status": 401}
    with stub(scenario(tmp_path, {PRIMARY: half})) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY,
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip

    assert ran.returncode == 1
    assert ran.stderr.count("the answer above is void: its attempt failed") == marks


@pytest.mark.parametrize("mode", [[], ["--json"], ["--no-stream"]], ids=["text", "json", "held"])
def test_an_answer_that_cannot_be_written_ends_the_turn_with_an_error(
    tmp_path: Path, mode: list[str]
) -> None:
    answer = {"text": "word " * 1000}
    with stub(scenario(tmp_path, {PRIMARY: answer})) as url:
        providers = httpx.get(f"{url}/_stub/providers").text
        ran = run_process(
            *ON_A_FULL_DISK, "run", "hi", "--model", PRIMARY, *mode, SIDESTEP_PROVIDERS=providers
        )

    assert ran.returncode == 1
    assert ran.stderr == f"Error: the output cannot be written ({NO_ROOM})\n"


@pytest.mark.parametrize("mode", [[], ["--json"], ["--no-stream"]], ids=["text", "json", "held"])
def test_without_a_stdout_no_turn_is_taken(mode: list[str]) -> None:
    ran = run_process(
        "sh", "-c", 'exec "$@" >&-', "sh", *SIDESTEP, "run", "hi", "--model", PRIMARY, *mode
    )

    assert ran.returncode == 2
    assert ran.stderr == (
        "Error: stdout is closed, so that nobody would get the answer: leave it open\n"
    )


@pytest.mark.parametrize("command", ["check", "drill auth-401", "drill --list"])
def test_a_closed_stdout_is_no_traceback(command: str) -> None:
    ran = run_process("sh", "-c", 'exec "$@" >&-', "sh", *SIDESTEP, *command.split())

    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr


def test_the_list_of_commands_cuts_no_sentence() -> None:
    ran = run_command("--help")

    listed = ran.stdout.partition("Commands:\n")[2].splitlines()
    assert len(listed) == 7
    assert [each for each in listed if not each.endswith(".") or each.endswith("...")] == []


@pytest.mark.parametrize("command", ["check", "drill --list", "drill auth-401", "--help"])
def test_a_full_disk_is_named(command: str) -> None:
    ran = run_process(*ON_A_FULL_DISK, *command.split())

    assert ran.returncode == 1
    assert ran.stderr == f"Error: the output cannot be written ({NO_ROOM})\n"


@pytest.mark.parametrize("command", ["drill", "drill --all", "stub --port 0 --scenario reset"])
@pytest.mark.parametrize("is_empty", [False, True], ids=["no folder", "an empty folder"])
def test_data_of_the_package_that_is_missing_is_named(
    tmp_path: Path, command: str, is_empty: bool
) -> None:
    """So it is in a copy that broke off, and in a frozen application."""
    copy = tmp_path / "sidestep"
    shutil.copytree(
        Path(sidestep.__file__).parent, copy, ignore=shutil.ignore_patterns("fixtures", "*.pyc")
    )
    if is_empty:
        (copy / "fixtures" / "drills").mkdir(parents=True)

    ran = run_process(*SIDESTEP, *command.split(), PYTHONPATH=str(tmp_path))

    assert ran.returncode == 1
    assert ran.stderr.startswith(f"Error: sidestep/fixtures/drills has no *.toml in {str(copy)!r}")
    assert "install sidestep again" in ran.stderr


@pytest.mark.parametrize("name", [None, "/lib/cacert.pem"], ids=["the output", "another file"])
def test_only_the_output_is_called_so(
    name: str | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise OSError(errno.ENOENT, "No such file or directory", name)

    monkeypatch.setattr(cli.cli, "main", broken)
    monkeypatch.setattr(os, "dup2", lambda *_: None)

    with pytest.raises(SystemExit) as ended:
        cli.main()

    told = "the output cannot be written (No such" if name is None else f"{name!r}: No such file"
    assert ended.value.code == 1
    assert capfd.readouterr().err.startswith(f"Error: {told}")


def test_a_prompt_can_come_from_stdin(tmp_path: Path) -> None:
    with stub(scenario(tmp_path, {PRIMARY: {"text": "hello"}})) as url:
        run_command(
            "run", "-", "--model", PRIMARY, given="Why?",
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip
        (request,) = httpx.get(f"{url}/_stub/requests").json()

    ((part,),) = [message["content"] for message in request["body"]["messages"]]
    assert (part["type"], part["text"]) == ("text", "Why?")


def test_words_of_a_provider_cannot_steer_the_terminal(tmp_path: Path) -> None:
    error = {"status": 401, "body": {"error": {"code": 401, "message": "no \x1b[31mway\x07"}}}
    with stub(scenario(tmp_path, {PRIMARY: error})) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY,
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip

    assert "no �[31mway�" in ran.stderr


def test_an_answer_in_a_pipe_is_not_altered(tmp_path: Path) -> None:
    text = "\x1b[31mred\x1b[0m \u2028 and \u00e9\n"
    with stub(scenario(tmp_path, {PRIMARY: {"text": text}})) as url:
        ran = run_command(
            "run", "hi", "--model", PRIMARY,
            SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text,
        )  # fmt: skip

    assert ran.stdout == text


def test_a_sibling_without_a_key_is_passed_over(tmp_path: Path) -> None:
    siblings = {"fallbackModelsByModel": {PRIMARY: ["groq/x", SIBLING]}}
    answers = {PRIMARY: {"status": 503}, SIBLING: {"text": "hello"}}
    with stub(scenario(tmp_path, answers)) as url:
        providers = httpx.get(f"{url}/_stub/providers").json()
        ran = run_command(
            "run", "hi", "--model", PRIMARY, "--json", SIDESTEP_PROVIDERS=providers,
            SIDESTEP_FALLBACK_CONFIG=MAP | siblings,
        )  # fmt: skip

    events = [json.loads(line) for line in ran.stdout.splitlines()]
    why = "GROQ_API_KEY is not set"
    assert {
        "event": "CandidateSkipped", "step": 1, "route": "groq/x", "reason": why,
    } in events  # fmt: skip
    assert events[-1]["route"] == SIBLING


@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(signal.SIGINT, 130, id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, id="asked to end"),
        pytest.param(signal.SIGHUP, 129, id="its terminal has gone"),
    ],
)
def test_a_signal_ends_a_turn_at_once_with_its_connection_closed(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    answers = {PRIMARY: {"text": "Half an answer", "stall": True}}
    with stub(scenario(tmp_path, answers)) as url:
        turn = subprocess.Popen(
            [*SIDESTEP, "run", "hi", "--model", PRIMARY],
            env=environment(SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        with turn:
            assert turn.stdout is not None
            assert turn.stdout.read(4) == "Half"
            turn.send_signal(number)
            _output, errors = turn.communicate(timeout=60)
        (request,) = httpx.get(f"{url}/_stub/requests").json()

    assert turn.returncode == status
    assert "Traceback" not in errors
    assert request["closed_by_client"] is True


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    ran = run_process("sh", "-c", f"{' '.join(SIDESTEP)} drill --list | head -n 1")

    assert ran.stdout.startswith("primary-503")
    assert ran.stderr == ""


def test_the_stub_listens_on_loopback_unless_told_otherwise() -> None:
    with stub_process() as url:
        assert url.startswith("http://127.0.0.1:")
        reply = httpx.post(
            f"{url}/anthropic/v1/messages",
            json={
                "model": "claude",
                "max_tokens": 1,
                "messages": [{"role": "user", "content": "x"}],
            },
        )

    assert reply.json()["type"] == "message"


@pytest.mark.parametrize(("options", "status"), [((), 200), (("--strict",), 400)])
def test_a_strict_stub_refuses_what_the_real_api_refuses(
    options: tuple[str, ...], status: int
) -> None:
    question = {"role": "user", "content": ""}
    with stub_process(*options) as url:
        reply = httpx.post(
            f"{url}/anthropic/v1/messages",
            json={"model": "claude", "max_tokens": 1, "messages": [question]},
        )

    assert reply.status_code == status


def test_a_port_that_is_taken_is_named() -> None:
    with stub() as url:
        port = url.rpartition(":")[2]
        ran = run_command("stub", "--port", port)

    assert ran.returncode == 2
    assert f"port {port}" in ran.stderr
    assert "choose another port" in ran.stderr
    assert "Traceback" not in ran.stderr
