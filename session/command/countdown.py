"""What a person reads while a step waits for a route to come back."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from ...provider.secret import redact_shapes
from .terminal import printable

if TYPE_CHECKING:
    from ..event import PatienceStarted, UnavailableRoute

_SOON = 600.0
"""A shorter wait is printed with its seconds."""


class Countdown:
    """Print until when a step waits, and each minute how long it still waits.

    On a terminal the time left stands in one line, which is drawn anew.
    """

    def __init__(self) -> None:
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._drawn = 0

    def begin(self, event: PatienceStarted) -> None:
        """Print for which routes the step waits."""
        self._print(f"{_outages(event.routes)}; Ctrl-C ends the wait")
        self.tick(event.seconds)

    def tick(self, seconds: float) -> None:
        """Print that the step waits for *seconds* more."""
        line = f"waiting, {duration(seconds)} left"
        if not self._is_terminal:
            self._print(line)
            return
        self._draw(f"sidestep: {line}")

    def end(self) -> None:
        """Remove the line that is drawn, so that something else may stand there."""
        if self._drawn:
            self._draw("")

    def _draw(self, line: str) -> None:
        blank = " " * (self._drawn - len(line))
        click.echo(f"\r{line}{blank}" if line else f"\r{blank}\r", nl=False, err=True)
        self._drawn = len(line)

    def _print(self, text: str) -> None:
        click.echo(f"sidestep: {printable(redact_shapes(text))}", err=True)


def _outages(routes: tuple[UnavailableRoute, ...]) -> str:
    listed = ", ".join(map(_outage, routes))
    return f"all routes are out: {listed}" if len(routes) > 1 else f"out: {listed}"


def _outage(out: UnavailableRoute) -> str:
    key = "" if out.api_key_env is None else f" with {out.api_key_env}"
    until = "" if out.seconds is None else f" until {_clock_time(out.seconds)}"
    return f"{out.route}{key}{until} ({out.reason.replace('_', ' ')})"


def _clock_time(seconds: float) -> str:
    """Return the local time in *seconds* from now, with its day if that is not today."""
    then = time.localtime(time.time() + seconds)
    is_today = then[:3] == time.localtime()[:3]
    form = "%H:%M:%S" if seconds < _SOON else "%H:%M"
    return time.strftime(form if is_today else f"%a %d %b {form}", then)


def duration(seconds: float) -> str:
    """Return *seconds* as a person says it: ``45 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = (f"{days} d" * (days > 0), f"{hours} h" * (hours > 0), f"{minutes} min" * (minutes > 0))
    return " ".join(filter(None, parts))
