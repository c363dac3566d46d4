"""``sidestep stub``: play model providers on this machine."""

from __future__ import annotations

import json

import anyio
import click

from ...provider.stub.scenario import Scenario
from ...provider.stub.server import Stub
from ..drill.drill import find_scenario
from . import signals
from .exit_code import ExitCode
from .option import Place, as_json

PORT = 8503


@click.command(
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
    help="0 takes any that is free.",
)  # fmt: skip
@click.option(
    "--scenario", type=Place(), metavar="FILE|DRILL",
    help="What to answer: a file, or the name of a drill; without one, a short text.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True, help="Refuse what the real APIs refuse, in their own words."
)
@as_json
def stub(*, host: str, port: int, scenario: str | None, strict: bool, is_json: bool) -> int:
    played = None if scenario is None else find_scenario(scenario)
    signals.run(lambda: _serve(played, host, port, strict=strict, is_json=is_json))
    return ExitCode.DONE


async def _serve(
    scenario: Scenario | None, host: str, port: int, *, strict: bool, is_json: bool
) -> None:
    """Serve until a signal comes, and print where."""
    async with Stub(scenario, host, port, strict=strict) as server:
        if is_json:
            click.echo(json.dumps({"listening": server.url, "providers": server.providers()}))
        else:
            click.echo(f"listening on {server.url}")
            lead = f'export SIDESTEP_PROVIDERS="$(curl -s {server.url}/_stub/providers)"'
            click.echo(f"lead sidestep here with: {lead}", err=True)
        await anyio.sleep_forever()
