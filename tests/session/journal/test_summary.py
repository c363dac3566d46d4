"""The summary of a journal, also if it was cut, or holds lines of somebody else's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidestep import ConfigError
from sidestep.session.journal.summary import summarise

from ...command import run_command, scenario, stub
from ...other_words import IS_A_DIRECTORY, NO_PERMISSION
from ..command.test_main import MAP, PRIMARY, SIBLING

ROOT = Path(__file__).parents[3]
HEAD = {"journal": 1, "session": "s", "at": "2026-01-02T03:04:05.000Z"}
BUSY = {"kind": "overloaded", "status": 529}
RESET = {"kind": "network", "status": None}


def entry(event: str, **fields: Any) -> dict[str, Any]:
    ids = {"session": "s", "turn": None, "step": 1, "attempt": 1}
    return {"at": "2026-01-02T03:04:06.000Z"} | ids | {"event": event, **fields}


def write(path: Path, *lines: object) -> str:
    """Write each of *lines*, those that are text as they are."""
    told = (line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    path.write_text("".join(told))
    return str(path)


def ended(step: int, route: str = "a/x", error: str | None = None, **fields: Any) -> dict[str, Any]:
    return entry("StepEnded", **{"step": step, "route": route, "error": error} | fields)


ROWS = [
    pytest.param(
        "answered", [ended(1), ended(2), ended(3, "b/y"), ended(4, error="StepFailed")],
        [{"route": "a/x", "count": 2, "share": 0.6667},
         {"route": "b/y", "count": 1, "share": 0.3333}],
        id="who answered",
    ),
    pytest.param(
        "steps",
        [entry("StepStarted", requested="a/x", route="a/x"), ended(1),
         entry("StepStarted", step=2, requested="a/x", route="a/x"), ended(3, error="StepFailed")],
        {"count": 3, "answered": 1, "failed": 1, "unfinished": 1,
         "errors": [{"error": "StepFailed", "count": 1}]},
        id="steps; one did not end, one did not begin",
    ),
    pytest.param(
        "turns",
        [entry("Compacted", turn=1), entry("TurnEnded", turn=1, error=None),
         entry("TurnEnded", turn=2, error="StoreError"), entry("Compacted", turn=3)],
        {"count": 3, "answered": 1, "failed": 1, "unfinished": 1,
         "errors": [{"error": "StoreError", "count": 1}]},
        id="turns",
    ),
    pytest.param(
        "cold",
        [entry("StepStarted", requested="a/x", route="a/x", cold_tokens=None, cold_money=None),
         entry("StepStarted", requested="a/x", route="a/x", cold_tokens=5, cold_money=None),
         entry("StepStarted", requested="a/x", route="a/x", cold_tokens=0, cold_money=0.0),
         entry("StepStarted", requested="a/x", route="b/y", cold_tokens=1_000, cold_money=0.1),
         entry("Swapped", from_route="a/x", route="b/y", failure=BUSY, cold_tokens=2_000,
               cold_money=0.25),
         entry("Swapped", from_route="a/x", route="b/y", failure=BUSY)],
        [{"route": "a/x", "count": 1, "cold_tokens": 5, "cold_money": None, "unpriced": 1},
         {"route": "b/y", "count": 2, "cold_tokens": 3_000, "cold_money": 0.35, "unpriced": 0}],
        id="moves to a route without a cache",
    ),
    pytest.param(
        "started_elsewhere", [entry("StepStarted", requested="a/x", route="b/y")],
        [{"requested": "a/x", "route": "b/y", "count": 1}], id="started elsewhere",
    ),
    pytest.param(
        "moved",
        [entry("Swapped", from_route="a/x", route="b/y", failure=failure)
         for failure in (RESET, BUSY, BUSY)],
        [{"from": "a/x", "to": "b/y", **BUSY, "count": 2},
         {"from": "a/x", "to": "b/y", **RESET, "count": 1}],
        id="why steps moved",
    ),
    pytest.param(
        "keys",
        [entry("KeyChanged", route="a/x", api_key_env=one, next_key_env=other, failure=failure)
         for one, other, failure in (("K1", "K2", BUSY), ("K2", "K3", RESET), ("K1", "K2", BUSY))],
        [{"route": "a/x", "from": "K1", "to": "K2", **BUSY, "count": 2},
         {"route": "a/x", "from": "K2", "to": "K3", **RESET, "count": 1}],
        id="why steps took another key",
    ),
    pytest.param(
        "failures",
        [entry("AttemptFailed", route="a/x", failure=BUSY, seconds=s) for s in (1.25, 2.5)],
        [{"route": "a/x", **BUSY, "count": 2, "seconds": 3.75}], id="failures",
    ),
    pytest.param(
        "attempts",
        [entry("AttemptStarted", route="a/x"),
         entry("AttemptFailed", route="a/x", failure=BUSY, seconds=2),
         entry("AttemptFailed", route="a/x", failure={"kind": "cancelled"}, seconds=9),
         entry("Waiting", route="a/x", failure=BUSY, seconds=4.5)],
        {"count": 1, "failed": 1, "cancelled": 1, "seconds_lost": 2.0, "retried": 1,
         "seconds_waited": 4.5},
        id="what was lost; a cancellation loses nothing",
    ),
    pytest.param(
        "degraded", [entry("RouteDegraded", route="a/x", failure=BUSY, seconds=60.0)],
        [{"route": "a/x", **BUSY, "count": 1, "seconds": 60.0}], id="degraded",
    ),
    pytest.param(
        "probes", [entry("ProbeStarted", route="a/x"),
                   entry("ProbeEnded", route="a/x", verdict="healthy")],
        [{"route": "a/x", "verdict": "healthy", "count": 1}], id="probes",
    ),
    pytest.param(
        "skipped", [entry("CandidateSkipped", route="a/x", reason="degraded")],
        [{"route": "a/x", "reason": "degraded", "count": 1}], id="passed over",
    ),
    pytest.param(
        "skipped",
        [entry("CandidateSkipped", route="a/x", reason=f"about {n} tokens do not fit into its 8000")
         for n in (9000, 9001, 12_345)]
        + [entry("CandidateSkipped", route="a/4", reason="about 9 tokens do not fit into its 8")],
        [{"route": "a/x", "reason": "about 12345 tokens do not fit into its 8000", "count": 3},
         {"route": "a/4", "reason": "about 9 tokens do not fit into its 8", "count": 1}],
        id="passed over for reasons that differ in their numbers",
    ),
    pytest.param(
        "skipped",
        [entry("CandidateSkipped", route="a/x", reason=f"ask {name}")
         for name in ("gpt-4", "gpt-5", "gpt-5.1", "o3")],
        [{"route": "a/x", "reason": f"ask {name}", "count": 1}
         for name in ("gpt-4", "gpt-5", "gpt-5.1", "o3")],
        id="passed over for reasons that differ in a name with a number",
    ),
    pytest.param(
        "repaired", [entry("Repaired", route="a/x", change="switch thinking off", failure=BUSY)],
        [{"route": "a/x", "change": "switch thinking off", **BUSY, "count": 1}], id="repaired",
    ),
    pytest.param(
        "tools", [entry("ToolRunEnded", name="read", state="error", seconds=0.5),
                  entry("ToolRunEnded", name="read", state="error")],
        [{"tool": "read", "state": "error", "count": 2, "seconds": 0.5}], id="tools",
    ),
    pytest.param("compactions", [entry("Compacted")], 1, id="compactions"),
    pytest.param(
        "spent",
        [entry("AttemptCost", route="a/x", input=10, output=2, money=0.25),
         entry("AttemptCost", route="a/x", input=5, money=None)],
        [{"route": "a/x", "count": 2, "input": 15, "output": 2, "money": 0.25, "unpriced": 1}],
        id="spent",
    ),
    pytest.param(
        "spent_on_failures",
        [entry("AttemptCost", route="a/x", input=10, output=2, money=0.25),
         entry("AttemptFailed", route="a/x", failure=BUSY, seconds=1),
         entry("AttemptCost", attempt=2, route="a/x", input=7, output=7, money=0.5), ended(1)],
        {"count": 1, "input": 10, "output": 2, "money": 0.25, "unpriced": 0},
        id="spent on attempts that failed",
    ),
    pytest.param("lines_lost", [entry("LinesLost", lines=3)], 3, id="lines that were lost"),
    pytest.param("unknown_events", [entry("Waved")], {"Waved": 1}, id="an event of later"),
    pytest.param("sessions", [entry("Waved", session="t")], 2, id="a part without its head"),
    pytest.param("to", [entry("Waved")], "2026-01-02T03:04:06.000Z", id="until when"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "entries", "expected"), ROWS)
def test_summary(name: str, entries: list[object], expected: object, tmp_path: Path) -> None:
    found = summarise(write(tmp_path / "journal", HEAD, *entries))

    assert found[name] == expected
    assert found["problems"] == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param('{"at":"2026-01', "it is cut", id="cut at the end"),
        pytest.param('{"at":"2026-01\n', "it is cut", id="cut, and written after"),
        pytest.param("hello\n", "it is no JSON", id="foreign"),
        pytest.param("[1]\n", "it is no object", id="no object"),
        pytest.param("[" * 9000 + "\n", "it is no JSON", id="nested"),
        pytest.param("\udcff\n", "it is no JSON", id="no text"),
        pytest.param(
            entry("StepEnded", route="a/\ud800"), "it has half a surrogate pair", id="half a pair"
        ),
        pytest.param('{"\\uDFFF":1}\n', "it has half a surrogate pair", id="half a pair as a name"),
        pytest.param(
            '{"session":"\udced\udca0\udc80"}\n', "it has half a surrogate pair", id="in bytes"
        ),
        pytest.param('{"a":"\\ud800', "it is cut", id="cut behind half a pair"),
        pytest.param('{"level":"info"}\n', "it has no 'session' that can be read", id="a log"),
        pytest.param(entry("StepEnded", route=1), "StepEnded has no 'route'", id="a wrong type"),
        pytest.param(
            entry("Swapped", from_route="a/x", route="b/y", failure=None),
            "Swapped has no 'kind'", id="no failure",
        ),
        pytest.param(
            entry("LinesLost", lines=float("nan")), "LinesLost has no 'lines'", id="no number"
        ),
        pytest.param(
            entry("AttemptCost", route="a/x", input="1"), "AttemptCost has no 'input'", id="text"
        ),
        pytest.param(HEAD | {"journal": "x"}, "'x' is no version of a journal", id="no version"),
        pytest.param(
            HEAD | {"journal": 2, "session": "t"},
            "version 2 is newer than 1, the last that this sidestep reads", id="newer",
        ),
    ],
)  # fmt: skip
def test_what_is_no_line_of_a_journal_is_passed_over_and_named(
    line: object, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "journal"
    told = line if isinstance(line, str) else json.dumps(line) + "\n"
    first = json.dumps(HEAD) + "\n\n" + json.dumps(ended(1)) + "\n"
    path.write_bytes((first + told).encode(errors="surrogateescape"))

    found = summarise(str(path))

    (passed_over,) = found["problems"]
    assert passed_over["line"] == 4
    assert passed_over["problem"].startswith(problem)
    assert found["steps"]["answered"] == 1


def test_a_whole_surrogate_pair_is_text(tmp_path: Path) -> None:
    told = ended(1, error="\N{SNAKE} \ud7ff")
    path = write(tmp_path / "journal", HEAD, told)

    assert summarise(path)["problems"] == []


def test_a_part_of_a_newer_version_is_left_out(tmp_path: Path) -> None:
    newer = {"journal": 2, "session": "t", "at": "2026-01-02T03:04:05.000Z"}
    path = write(tmp_path / "journal", HEAD, newer, ended(1), ended(1, session="t"))

    found = summarise(path)

    assert (found["sessions"], found["steps"]["count"]) == (1, 1)
    assert [each["line"] for each in found["problems"]] == [2, 4]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        pytest.param(["a,b\n1,2\n"], "line 1: it is no JSON", id="a table"),
        pytest.param([{"event": "x"}], "line 1: x has no 'session'", id="another's events"),
        pytest.param([HEAD | {"journal": 7}], "line 1: version 7 is newer", id="a newer version"),
        pytest.param(["\0" * 100_000], "line 1: it is cut", id="zeros"),
    ],
)
def test_a_file_that_is_no_journal_is_refused(
    lines: list[object], why: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"no journal that can be read .{why}"):
        summarise(write(tmp_path / "journal", *lines))


def test_an_empty_file_is_a_journal_of_nothing(tmp_path: Path) -> None:
    found = summarise(write(tmp_path / "journal"))

    assert (found["sessions"], found["from"], found["steps"]["count"]) == (0, None, 0)


def test_the_example_on_the_page_is_a_journal(tmp_path: Path) -> None:
    page = (ROOT / "session" / "journal" / "README.md").read_text()
    (example,) = re.findall(r"```json\n(.+?)```", page, re.DOTALL)

    found = summarise(write(tmp_path / "journal", example))

    assert (found["sessions"], found["problems"], found["unknown_events"]) == (1, [], {})
    assert len(found["moved"]) == 1


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        pytest.param(["--journal", "nope"], 2, "'nope': it cannot be read", id="no file"),
        pytest.param(["--journal", "."], 2, "not a regular file", id="a folder"),
        pytest.param(["--journal", "/dev/zero"], 2, "not a regular file", id="without an end"),
        pytest.param(["--journal", "x", "--model", "a/x"], 2, "leave one of them out", id="both"),
    ],
)
def test_check_refuses(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    ran = run_command("check", *arguments, cwd=tmp_path)

    assert (ran.returncode, ran.stdout) == (status, "")
    assert message in ran.stderr


def test_check_says_that_a_file_may_not_be_read(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "journal", HEAD))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("whoever runs this may read everything")

    ran = run_command("check", "--journal", str(path))

    assert (ran.returncode, NO_PERMISSION in ran.stderr) == (2, True)


def test_check_reads_what_run_wrote(tmp_path: Path) -> None:
    path = str(tmp_path / "journal")
    answers = scenario(tmp_path, {PRIMARY: {"status": 503}, SIBLING: {"text": "hello"}})
    with stub(answers) as url:
        providers = {
            "openrouter": {"baseUrl": f"{url}/openrouter/api/v1", "apiKeyEnv": None},
            "anthropic": {"baseUrl": f"{url}/anthropic", "apiKeyEnv": None},
        }
        variables: dict[str, Any] = {
            "SIDESTEP_FALLBACK_CONFIG": MAP,
            "SIDESTEP_PROVIDERS": providers,
        }
        arguments = ["run", "a secret prompt", "--model", PRIMARY]
        given = run_command(*arguments, "--journal", path, **variables)
        injected = run_command(*arguments, SIDESTEP_JOURNAL=path, **variables)
        refused = run_command(*arguments, "--journal", str(tmp_path), **variables)

    assert (given.stdout, injected.stdout) == ("hello\n", "hello\n")
    assert (refused.returncode, IS_A_DIRECTORY in refused.stderr) == (2, True)
    assert "secret" not in Path(path).read_text()
    told = json.loads(run_command("check", "--journal", path, "--json").stdout)
    assert (told["sessions"], told["turns"]["answered"]) == (2, 2)
    assert told["answered"] == [{"route": SIBLING, "count": 2, "share": 1.0}]
    assert told["moved"] == [
        {"from": PRIMARY, "to": SIBLING, "kind": "server_error", "status": 503, "count": 2}
    ]


def test_check_shows_a_person_what_counts(tmp_path: Path) -> None:
    moved = entry("Swapped", from_route="a/x", route="b/\x1b[2Jy", failure=BUSY)
    failed = entry("AttemptFailed", route="a/x", failure=BUSY, seconds=2.0)
    path = write(tmp_path / "journal", HEAD, entry("AttemptStarted"), failed, moved, "junk\n",
                 ended(1, "b/y"), entry("Waved"), entry("LinesLost", lines=2))  # fmt: skip

    ran = run_command("check", "--journal", path, COLUMNS="100")

    assert ran.returncode == 0
    assert "1 step: 1 answered, 0 failed" in ran.stdout
    assert "1 attempt: 1 failed; 2.0 s lost" in ran.stdout
    assert re.search(r"a/x +b/.\[2Jy +overloaded +529 +1", ran.stdout)
    assert "\x1b" not in ran.stdout
    assert "line 5: it is no JSON; passed over" in ran.stdout
    assert "Waved, 1 times: an event that this sidestep does not know" in ran.stdout
    assert "2 lines could not be written when they were due" in ran.stdout


def test_check_reads_a_journal_from_stdin(tmp_path: Path) -> None:
    with open(write(tmp_path / "journal", HEAD, ended(1))) as file:
        ran = subprocess.run(
            [sys.executable, "-m", "sidestep", "check", "--journal", "-", "--json"],
            stdin=file, capture_output=True, encoding="utf-8", timeout=60, check=True,
        )  # fmt: skip

    assert json.loads(ran.stdout)["steps"]["answered"] == 1
