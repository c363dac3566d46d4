"""``sidestep drill``: rehearse an outage, draw it, and judge it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

import click

from ..drill.drill import DEFAULT, Drill, list_drills
from ..drill.judge import judge
from ..drill.live_timeline import LiveTimeline
from ..drill.play import TIME_SCALE, play
from ..drill.play_served import play_served
from ..drill.played_turn import PlayedTurn
from ..drill.report import report
from ..drill.served_drill import playable_turns
from ..drill.timeline import draw, listing
from . import signals
from .exit_code import ExitCode
from .option import Seconds, as_json
from .terminal import terminal
from .with_command import WithCommand, behind_dashes

SLOW_SCALE = 5 * TIME_SCALE
"""The scale for a drill that failed, because a busy machine is late for the default scale."""
LONGEST_AGAIN = 600.0
"""Seconds of the drill; a longer drill is not played again, because nobody waits that long."""


@click.command(
    short_help="Rehearse an outage against a stub, without a key.",
    help="""
    Rehearse an outage against a stub, without a key and without a network.

    NAME is one of --list, by default primary-503; FILE is a drill of your own, as TOML or JSON.

    With --serve a client of yours goes through the outage, at the address of `sidestep serve`:
    sidestep drill --serve -- claude -p {prompt} --model {model}
    """,
    cls=WithCommand,
)
@click.argument("name", required=False, metavar="[NAME|FILE]")
@click.option("--list", "is_list", is_flag=True, help="List the drills that come with sidestep.")
@click.option("--all", "is_all", is_flag=True, help="Play every one of them.")
@click.option(
    "--serve", "is_serve", is_flag=True,
    help="Run the command behind -- once for each turn; {prompt} and {model} are filled in.",
)  # fmt: skip
@click.option(
    "--time-scale",
    type=Seconds(min=0, min_open=True, max=10),
    help="Real seconds that a second of the drill takes; 1 is the real pace.  [default: 0.02]",
)
@as_json
def drill(
    name: str | None,
    *,
    is_list: bool,
    is_all: bool,
    is_serve: bool,
    time_scale: float | None,
    is_json: bool,
) -> int:
    if is_list:
        _show_list(list_drills(), is_json=is_json)
        return ExitCode.DONE
    if is_serve:
        if is_all:
            raise click.UsageError("--serve plays one drill: leave --all out, and name the drill")
        return _serve(Drill.find(name or DEFAULT), time_scale or TIME_SCALE, is_json=is_json)
    if name == "":
        raise click.UsageError(f"NAME is empty: leave it out for {DEFAULT}, or see --list")
    if is_all and name is not None:
        raise click.UsageError(f"--all plays every drill: leave {name!r} out, or leave --all out")
    drills = list_drills() if is_all else [Drill.find(name or DEFAULT)]
    passed = [_play(each, time_scale, is_json=is_json) for each in drills]
    if is_all and not is_json:
        click.echo(f"{sum(passed)} of {len(passed)} drills passed")
    return ExitCode.DONE if all(passed) else ExitCode.FAILED


def _serve(each: Drill, time_scale: float, *, is_json: bool) -> int:
    """Play a drill against the client behind ``--``; return the exit status."""
    command = behind_dashes()
    if not command:
        raise click.UsageError("--serve needs a command: sidestep drill --serve -- COMMAND")
    if (why := playable_turns(each)[1]) is not None:
        click.echo(f"{each.name}: {why}; these turns are left out", err=True)
    turns = signals.run(
        lambda: play_served(
            each, command, environ=os.environ, time_scale=time_scale, show=_show_output
        )
    )
    return ExitCode.DONE if _show(each, turns, is_json=is_json) else ExitCode.FAILED


def _show_output(piece: bytes) -> None:
    """Pass on what the client writes; our own outcome goes to stdout."""
    click.echo(piece, err=True, nl=False)


def _show_list(drills: Sequence[Drill], *, is_json: bool) -> None:
    if not is_json:
        terminal().print(listing(drills))
        return
    for each in drills:
        click.echo(json.dumps({"drill": each.name, "title": each.file.title}))


def _play(each: Drill, time_scale: float | None, *, is_json: bool) -> bool:
    """Play a drill and print its outcome; return whether it passed."""
    for warning in each.warnings:
        click.echo(f"{each.name}: {warning}", err=True)
    turns = _played(each, time_scale or TIME_SCALE, is_json=is_json)
    if time_scale is None and judge(each, turns) and _seconds(turns) <= LONGEST_AGAIN:
        turns = _played(each, SLOW_SCALE, is_json=is_json)
    return _show(each, turns, is_json=is_json)


def _seconds(turns: Sequence[PlayedTurn]) -> float:
    return sum(turn.pause + turn.seconds for turn in turns)


def _show(each: Drill, turns: Sequence[PlayedTurn], *, is_json: bool) -> bool:
    """Print the outcome of a drill; return whether it passed."""
    complaints = judge(each, turns)
    if is_json:
        click.echo(json.dumps(report(each, turns, complaints), ensure_ascii=False))
    else:
        draw(terminal(), each, turns, complaints)
        click.echo()
    return not complaints


def _played(each: Drill, time_scale: float, *, is_json: bool) -> list[PlayedTurn]:
    """Play a drill; a person at a terminal sees its timeline grow."""
    console = terminal()
    is_watched = sys.stdout is not None and sys.stdout.isatty() and console.is_terminal
    if is_json or not is_watched:
        return signals.run(lambda: play(each, time_scale=time_scale))
    with LiveTimeline(console, each, time_scale=time_scale) as timeline:
        return signals.run(lambda: play(each, time_scale=time_scale, on_change=timeline))
