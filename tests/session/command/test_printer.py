"""What `sidestep run` prints of what befalls a turn, event by event."""

from __future__ import annotations

import pytest

from sidestep import CandidateSkipped, Route, TextDelta, TurnEnded
from sidestep.provider.log import logger
from sidestep.session.command.printer import Printer
from sidestep.session.command.terminal import log_to_stderr

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
