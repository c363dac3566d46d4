"""What the timeline of a drill draws, in full and while the drill is played."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from sidestep import AttemptFailed, AttemptStarted, Failure, FailureKind, Route
from sidestep.provider.stub.received import ReceivedRequest
from sidestep.session.drill.drill import Drill
from sidestep.session.drill.played_turn import PlayedTurn
from sidestep.session.drill.timeline import draw

ROUTE = Route("openrouter/anthropic/claude-sonnet-5")
SLOW = """
title = "a sibling answers after a wait"
route = "openrouter/x"
[config]
maxUpstreamRetryAttempts = 1
[config.fallbackModelsByModel]
"openrouter/x" = "anthropic/x"
[answers]
"openrouter/x" = [{ status = 503 }]
"anthropic/x" = [{ text = "hello" }]
[[turns]]
prompt = "hi"
"""


def request_at(at: float) -> ReceivedRequest:
    return ReceivedRequest(route=ROUTE, method="POST", path="/", at=at, body={}, headers={})


@pytest.mark.parametrize(
    ("requests", "answered_at", "row"),
    [
        pytest.param([9.5], [9.9], "✗", id="start-up before the request"),
        pytest.param([0.1], [0.4], "✗", id="start-up after the answer"),
        pytest.param([], [], "✗", id="no request at all"),
        pytest.param([0.0], [11.0], "─────────✗", id="a provider that was left"),
        pytest.param([0.0], [], "─────────✗", id="an answer that is not over yet"),
        pytest.param([1.0], [5.0], "───✗", id="a slow refusal"),
    ],
)
def test_only_the_provider_s_own_silence_is_drawn(
    requests: list[float], answered_at: list[float], row: str
) -> None:
    failure = Failure(kind=FailureKind.SERVER_ERROR, message="no", route=ROUTE)
    turn = PlayedTurn(
        prompt="hi", pause=0.0, expect=None, started_at=0.0, ended_at=10.0,
        requests=[request_at(at) for at in requests], answered_at=answered_at,
        events=[
            (0.0, AttemptStarted(route=ROUTE, step=1, attempt=1)),
            (10.0, AttemptFailed(route=ROUTE, step=1, attempt=1, failure=failure, seconds=10.0)),
        ],
    )  # fmt: skip
    output = io.StringIO()

    draw(Console(file=output, width=100), Drill.find("primary-503"), [turn], [])

    (line,) = (line for line in output.getvalue().splitlines() if line.startswith(ROUTE + "  "))
    assert line.removeprefix(ROUTE).strip() == row


def test_turns_without_a_request_have_no_timeline() -> None:
    turn = PlayedTurn(prompt="hi", pause=0.0, expect=None, started_at=0.0, ended_at=1.0)
    output = io.StringIO()

    draw(Console(file=output, width=100), Drill.find("primary-503"), [turn, turn], [])

    assert output.getvalue().splitlines()[2:6] == [
        "no request was made", "", "turn 1  hi  1.0 s", "  ✓ ?  ",
    ]  # fmt: skip


def start(path: Path, *, stdout: int, term: str = "xterm") -> subprocess.Popen[bytes]:
    """Play the drill at *path*, an outage with one wait of two seconds, at half the real pace."""
    return subprocess.Popen(
        [sys.executable, "-m", "sidestep", "drill", str(path), "--time-scale", "0.5"],
        env=dict(os.environ) | {"TERM": term, "COLUMNS": "100"},
        stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
    )  # fmt: skip


def read_all(terminal: int) -> bytes:
    """Return what is shown until the other end is closed."""
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 65_536)
        except OSError:
            return shown


@pytest.mark.parametrize(
    ("term", "line"),
    [
        pytest.param("xterm", rb"turn 1 of 1: waiting 2\.\d s before openrouter/x", id="drawn"),
        pytest.param("dumb", rb"turn 1: waiting 2\.\d s before openrouter/x", id="line by line"),
    ],
)
def test_a_person_at_a_terminal_sees_the_timeline_grow(
    tmp_path: Path, term: str, line: bytes
) -> None:
    path = tmp_path / "slow.toml"
    path.write_text(SLOW)
    terminal, other_end = pty.openpty()
    with start(path, stdout=other_end, term=term) as playing:
        os.close(other_end)
        shown = read_all(terminal)
        _, errors = playing.communicate(timeout=60)
    os.close(terminal)

    assert (playing.returncode, errors) == (0, b"")
    during, _, after = shown.partition(b"passed")
    assert re.search(line + rb" is asked again", during)
    assert (b"\x1b[" in during) is (term == "xterm")
    assert b"3 requests, all as expected" in after


def test_a_pipe_gets_the_timeline_once_and_nothing_that_steers_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "slow.toml"
    path.write_text(SLOW)
    with start(path, stdout=subprocess.PIPE) as playing:
        output, _ = playing.communicate(timeout=60)

    assert output.startswith(b"slow  a sibling answers after a wait\n\n")
    assert output.count(b"slow  ") == 1
    assert b"\x1b" not in output
