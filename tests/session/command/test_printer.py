"""What `sidestep run` prints of what befalls a turn, event by event."""

from __future__ import annotations

import sys
import time

import pytest

from sidestep import (
    AttemptStarted,
    CandidateSkipped,
    Event,
    Failure,
    FailureKind,
    PatienceStarted,
    PatienceWaiting,
    Route,
    StepStarted,
    Swapped,
    TextDelta,
    TurnEnded,
    UnavailableRoute,
)
from sidestep.provider.log import logger
from sidestep.session.command.countdown import duration
from sidestep.session.command.printer import Printer
from sidestep.session.command.terminal import log_to_stderr
from sidestep.session.skip_reason import STAYS_FOR_THE_TURN

A, B, C = Route("openrouter/a"), Route("anthropic/b"), Route("zai/glm-5")
LONG = "about {} tokens do not fit into its 8000"


@pytest.mark.parametrize(
    ("skipped", "notices"),
    [
        pytest.param([(B, "it has no images")], ["anthropic/b is passed over: it has no images"],
            id="what the route lacks"),
        pytest.param([(B, "it has no images")] * 3,
            ["anthropic/b is passed over: it has no images"], id="in every step"),
        pytest.param([(B, LONG.format(9000)), (B, LONG.format(9001))],
            [f"anthropic/b is passed over: {LONG.format(9000)}"],
            id="for another number of tokens in every step"),
        pytest.param([(B, "it has no images"), (C, "it has no images"), (B, LONG.format(9000))],
            ["anthropic/b is passed over: it has no images",
             "zai/glm-5 is passed over: it has no images",
             f"anthropic/b is passed over: {LONG.format(9000)}"],
            id="two routes, two reasons"),
        pytest.param([(B, "degraded"), (C, "probed"), (A, "tried")], [], id="health"),
        pytest.param([(B, "no \x1b[31mway")], ["anthropic/b is passed over: no �[31mway"],
            id="what would steer the terminal"),
    ],
)  # fmt: skip
def test_a_route_that_is_passed_over_is_told_once_in_a_turn(
    skipped: list[tuple[Route, str]], notices: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printer = Printer()

    for step, (route, reason) in enumerate(skipped, 1):
        printer(CandidateSkipped(step, route, reason))

    assert capsys.readouterr().err == "".join(f"sidestep: {notice}\n" for notice in notices)


def test_the_next_turn_tells_of_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()

    printer(CandidateSkipped(1, B, "it has no images"))
    printer(TurnEnded("ok", A, A))
    printer(CandidateSkipped(2, B, "it has no images"))

    assert capsys.readouterr().err == "sidestep: anthropic/b is passed over: it has no images\n" * 2


BUSY = Failure(kind=FailureKind.OVERLOADED, status=529, message="busy")
DOWN = "openrouter/a is degraded: starting on anthropic/b"
STAY = STAYS_FOR_THE_TURN


@pytest.mark.parametrize(
    ("events", "notices"),
    [
        pytest.param([StepStarted(1, A, A)], [], id="where it was asked to"),
        pytest.param([StepStarted(1, A, B)], [DOWN], id="for an unknown reason"),
        pytest.param([StepStarted(1, A, B, "degraded")], [DOWN], id="because of a cooldown"),
        pytest.param([StepStarted(1, A, B, "degraded", 12_000, 0.036)],
            [f"{DOWN}; it has no cache of about 12,000 tokens (0.0360 USD)"], id="a cold cache"),
        pytest.param([StepStarted(1, A, B, "it has no images")],
            ["openrouter/a is passed over: starting on anthropic/b"], id="for what it lacks"),
        pytest.param([StepStarted(number, A, B, STAY) for number in (1, 2, 3)],
            ["the conversation stays for the turn: going on with anthropic/b"], id="a stay, once"),
        pytest.param([StepStarted(1, A, B, STAY), TurnEnded("", A, A), StepStarted(2, A, B, STAY)],
            ["the conversation stays for the turn: going on with anthropic/b"] * 2,
            id="a stay, in each turn"),
        pytest.param([StepStarted(1, A, A, None, 9_000)],
            ["back on openrouter/a; it has no cache of about 9,000 tokens"], id="the way back"),
        pytest.param([StepStarted(1, A, A, None, 0, 0.0)], [], id="the way back to a warm cache"),
        pytest.param([Swapped(1, A, B, BUSY, 1, 2, 5, 0.00002)],
            ["switched to anthropic/b, swap 1 of 2 (overloaded 529: busy); it has no cache of "
             "about 5 tokens (less than 0.0001 USD)"], id="a swap"),
    ],
)  # fmt: skip
def test_a_move_is_told_with_what_it_costs(
    events: list[Event], notices: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printer = Printer()

    for event in events:
        printer(event)

    printed = capsys.readouterr().err.replace("sidestep: answered by anthropic/b\n", "")
    assert printed == "".join(f"sidestep: {notice}\n" for notice in notices)


def test_a_log_line_never_stands_in_the_middle_of_an_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logger, "handlers", [])
    printer = Printer()
    log_to_stderr(before=printer.end_line)

    printer(TextDelta("Half an answer"))
    logger.warning("nobody knows a price")
    printer(TextDelta(" and the rest\n"))
    logger.warning("[model-fallback] switched model")

    output = capsys.readouterr()
    assert output.out == "Half an answer\n and the rest\n"
    assert output.err == "WARNING: nobody knows a price\n"


BUSY = Failure(kind=FailureKind.RATE_LIMIT, message="no", status=429)
NOON = time.mktime((2026, 9, 18, 12, 0, 0, 0, 0, -1))


def wait(*routes: UnavailableRoute) -> PatienceStarted:
    return PatienceStarted(1, 4, 750.0, 14_400.0, routes, BUSY)


@pytest.fixture
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    local = time.localtime
    monkeypatch.setattr(time, "time", lambda: NOON)
    monkeypatch.setattr(time, "localtime", lambda at=NOON: local(at))


@pytest.mark.usefixtures("_noon")
@pytest.mark.parametrize(
    ("routes", "notice"),
    [
        pytest.param(
            (
                UnavailableRoute(A, "rate_limit 429", 750.0),
                UnavailableRoute(B, "server_error 503", 4000.0),
            ),
            "all routes are out: openrouter/a until 12:12 (rate limit 429), anthropic/b until "
            "13:06 (server error 503); Ctrl-C ends the wait",
            id="two routes",
        ),
        pytest.param(
            (UnavailableRoute(A, "quota 429", 90_000.0),),
            "out: openrouter/a until Sat 19 Sep 13:00 (quota 429); Ctrl-C ends the wait",
            id="one route, until tomorrow",
        ),
        pytest.param(
            (UnavailableRoute(A, "quota 429", 60.0, "KEY_2"), UnavailableRoute(B, "probed", None)),
            "all routes are out: openrouter/a with KEY_2 until 12:01:00 (quota 429), anthropic/b "
            "(probed); Ctrl-C ends the wait",
            id="a key, and a route that another step asks just now",
        ),
    ],
)
def test_a_person_reads_for_what_a_step_waits_and_how_long(
    routes: tuple[UnavailableRoute, ...], notice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printer = Printer()

    printer(wait(*routes))
    printer(PatienceWaiting(1, 4, 690.0))

    lines = [notice, "waiting, 12 min left", "waiting, 12 min left"]
    assert capsys.readouterr().err == "".join(f"sidestep: {line}\n" for line in lines)


@pytest.mark.usefixtures("_noon")
def test_on_a_terminal_the_time_left_is_drawn_in_one_line_that_goes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    printer = Printer()

    printer(wait(UnavailableRoute(A, "rate_limit 429", 750.0)))
    capsys.readouterr()
    printer(PatienceWaiting(1, 4, 59.0))
    printer(AttemptStarted(1, 4, A))
    printer(CandidateSkipped(1, B, "it has no images"))

    drawn = "sidestep: waiting, 59 s left"
    rest = "sidestep: anthropic/b is passed over: it has no images\n"
    assert capsys.readouterr().err == f"\r{drawn}  \r{' ' * len(drawn)}\r{rest}"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"), (59.0, "59 s"), (60.0, "1 min"), (750.0, "12 min"), (3600.0, "1 h"),
        (12_000.0, "3 h 20 min"), (86_400.0, "1 d"), (93_600.0, "1 d 2 h"),
    ],
)  # fmt: skip
def test_a_duration_is_said_as_a_person_says_it(seconds: float, said: str) -> None:
    assert duration(seconds) == said
