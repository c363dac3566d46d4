"""``sidestep stub``: play model providers on this machine."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator
from functools import partial

import click

from ...provider.catalog.catalog import VARIABLE
from ...provider.stub.server import Stub
from ..drill.drill import Drill, find_scenario
from ..drill.play import environ_of
from . import signals
from .exit_code import ExitCode
from .option import NonEmptyPath, as_json

PORT = 8503


@click.command(
    short_help="Play model providers on this machine.",
    help="""
    Play model providers on this machine, for drills of other programs.

    Every provider is served under /PROVIDER, as /anthropic/v1/messages and
    /openrouter/api/v1/chat/completions. GET /_stub/requests lists what came, GET /_stub/providers
    is what SIDESTEP_PROVIDERS needs to lead here.
    """,
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True,
    help="Where to listen; 0 is any free port.",
)  # fmt: skip
@click.option(
    "--scenario", type=NonEmptyPath(), metavar="FILE|DRILL",
    help="What to answer: a file, or the name of a drill; without one, a short text.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True, help="Refuse what the real APIs refuse, in their own words."
)
@as_json
def stub(*, host: str, port: int, scenario: str | None, strict: bool, is_json: bool) -> int:
    played, drill = (None, None) if scenario is None else find_scenario(scenario)
    # A key that the environment has is taken from there, and never printed.
    keys = {name: value for name, value in os.environ.items() if value.strip()}
    server = partial(Stub, played, host, port, strict=strict, keys=keys)
    signals.run(lambda: _serve(server, drill, is_json=is_json))
    return ExitCode.DONE


async def _serve(make: Callable[[], Stub], drill: Drill | None, *, is_json: bool) -> None:
    """Serve until a signal comes, and print where."""
    async with make() as server:
        if is_json:
            known = {"providers": server.providers(), "keys": _made_up_keys(server)}
            click.echo(json.dumps({"listening": server.url, **known}))
        else:
            click.echo(f"listening on {server.url}")
            click.echo(
                "to lead sidestep here, paste this into the shell that it runs in:", err=True
            )
            for line in _shell_lines(server, drill):
                click.echo(line, err=True)
        await server.stopped()


def _shell_lines(server: Stub, drill: Drill | None) -> Iterator[str]:
    """Return the variables that lead sidestep to *server*, and a turn for *drill*."""
    if drill is None:
        yield f'export {VARIABLE}="$(curl -s {server.url}/_stub/providers)"'
        for name, value in _made_up_keys(server).items():
            yield f"export {name}={value}"
        return
    hidden = server.keys.keys() - _made_up_keys(server).keys()
    for name, value in environ_of(drill, server).items():
        if name not in hidden:
            yield f"export {name}={shlex.quote(value)}"
    prompt, route = drill.file.turns[0].prompt, drill.file.route
    yield f"sidestep run {shlex.quote(prompt)} --model {shlex.quote(route)}"


def _made_up_keys(server: Stub) -> dict[str, str]:
    """Return the keys of *server* that the environment does not have, by variable."""
    return {name: key for name, key in server.keys.items() if not os.environ.get(name, "").strip()}
