"""The ``sidestep`` command."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import anyio
import click

from ... import __version__
from ...provider.error import ConfigError, InstallError
from ...provider.secret import masked
from . import signals as interrupt
from .option import Place, RouteName, Seconds, budget_option

if TYPE_CHECKING:
    from rich.console import Console

    from ...provider.route import Route
    from ..cost.budget import Budget
    from ..drill.drill import Drill

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
STUB_PORT = 8503
MIN_WIDTH = 20

as_json = click.option("--json", "is_json", is_flag=True, help="Print JSON instead of text.")


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Keep a coding agent's turn alive while a model provider fails.",
)
@click.version_option(__version__, prog_name="sidestep")
def cli() -> None:
    pass


@cli.command(
    help="""
    Rehearse an outage against a stub, without a key and without a network.

    NAME is one of --list, by default primary-503; FILE is a drill of your own, as TOML or JSON.
    """,
)
@click.argument("name", required=False, metavar="[NAME|FILE]")
@click.option("--list", "is_list", is_flag=True, help="List the drills that come with sidestep.")
@click.option("--all", "is_all", is_flag=True, help="Play every one of them.")
@click.option(
    "--time-scale",
    type=Seconds(min=0, min_open=True, max=10),
    help="Real seconds that a second of the drill takes; 1 is the real pace.  [default: 0.02]",
)
@as_json
def drill(
    name: str | None, *, is_list: bool, is_all: bool, time_scale: float | None, is_json: bool
) -> int:
    from ..drill.drill import DEFAULT, Drill, list_drills

    if is_list:
        return _list_drills(list_drills(), is_json=is_json)
    if is_all and name is not None:
        raise click.UsageError(f"--all plays every drill: leave {name!r} out, or leave --all out")
    # The timeline shows what the log would; its lines are for agents.
    logging.getLogger("sidestep").addHandler(logging.NullHandler())
    drills = list_drills() if is_all else [Drill.find(name or DEFAULT)]
    passed = [_play(each, time_scale, is_json=is_json) for each in drills]
    if is_all and not is_json:
        click.echo(f"{sum(passed)} of {len(passed)} drills passed")
    return 0 if all(passed) else EXIT_FAILED


def _list_drills(drills: list[Drill], *, is_json: bool) -> int:
    from ..drill.timeline import listing

    if is_json:
        for each in drills:
            click.echo(json.dumps({"drill": each.name, "title": each.file.title}))
    else:
        terminal().print(listing(drills))
    return 0


def _play(each: Drill, time_scale: float | None, *, is_json: bool) -> bool:
    from ..drill.drill import TIME_SCALE, play
    from ..drill.judge import judge, report
    from ..drill.timeline import draw

    for warning in each.warnings:
        click.echo(f"{each.name}: {warning}", err=True)
    turns = interrupt.run(lambda: play(each, time_scale=time_scale or TIME_SCALE))
    complaints = judge(each, turns)
    if is_json:
        click.echo(json.dumps(report(each, turns, complaints), ensure_ascii=False))
    else:
        draw(terminal(), each, turns, complaints)
        click.echo()
    return not complaints


@cli.command(
    help="""
    Take a turn: PROMPT, or what stands in stdin for -, to the model, its answer to stdout.

    Notices go to stderr: of retries, of swaps, of a sibling that is passed over, of an answer
    above that is void.

    The key is read from the provider's own variable, such as OPENROUTER_API_KEY. Where the turn
    may go is read from SIDESTEP_FALLBACK_CONFIG, SIDESTEP_ROUTING_RULES, SIDESTEP_HINT or
    MODEL_BASE_URL and its like, other providers from SIDESTEP_PROVIDERS.

    A KEY of a budget is attempts, input-tokens, output-tokens, money (in US dollars) or seconds.
    """,
)
@click.argument("prompt")
@click.option(
    "--model", "asked", required=True, metavar="PROVIDER/MODEL",
    help="The route to ask for, or the name of a chain.",
)  # fmt: skip
@click.option("--system", help="Instructions that stand before the conversation.")
@click.option("--max-output-tokens", type=click.IntRange(min=1), help="Longest answer, in tokens.")
@click.option(
    "--deadline", type=Seconds(min=0, min_open=True), help="Seconds after which to give up."
)
@budget_option("--budget", help="What the turn may spend, such as attempts=40; several times.")
@budget_option(
    "--session-budget", help="What all turns in the --session file may, such as money=10."
)
@click.option(
    "--workspace",
    type=Place(path_type=Path),
    metavar="DIR",
    help="Give the model tools to read, write and run things in this folder.",
)
@click.option("--yes", is_flag=True, help="Do not ask before a tool writes or runs something.")
@click.option(
    "--session",
    type=Place(path_type=Path),
    metavar="FILE",
    help="Keep the conversation in this file.",
)
@click.option("--resume", is_flag=True, help="Go on with the conversation in the --session file.")
@click.option(
    "--journal",
    type=Place(path_type=Path),
    metavar="FILE",
    help="Append what happens to this file, for `check --journal`.",
)
@click.option("--no-stream", is_flag=True, help="Print the answer only once it is complete.")
@as_json
def run(
    prompt: str,
    *,
    asked: str,
    system: str | None,
    max_output_tokens: int | None,
    deadline: float | None,
    budget: Budget | None,
    session_budget: Budget | None,
    workspace: Path | None,
    yes: bool,
    session: Path | None,
    resume: bool,
    journal: Path | None,
    no_stream: bool,
    is_json: bool,
) -> int:
    from .run_setup import Desk
    from .turn import take_turn

    if resume and session is None:
        raise click.UsageError("--resume needs --session FILE: name the file to go on with")
    if yes and workspace is None:
        raise click.UsageError("--yes needs --workspace DIR: without one there are no tools")
    if prompt == "-":
        prompt = _stdin("write PROMPT itself, or lead it into it").read()
    if not prompt.strip():
        raise click.UsageError("PROMPT is empty: write what the model is to do, or - for stdin")
    desk = Desk(workspace=workspace, is_trusted=yes, session=session, is_resumed=resume)
    return take_turn(
        prompt, asked, os.environ, system=system, max_output_tokens=max_output_tokens,
        deadline=deadline, budget=budget, session_budget=session_budget,
        desk=desk, is_streamed=not no_stream, is_json=is_json, journal=journal,
    )  # fmt: skip


@cli.command(
    help="""
    Play model providers on this machine, for drills of other programs.

    Every provider is served under /PROVIDER, as /anthropic/v1/messages and
    /openrouter/api/v1/chat/completions. GET /_stub/requests lists what came, GET /_stub/providers
    is what SIDESTEP_PROVIDERS needs to lead here.
    """,
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=STUB_PORT, show_default=True,
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
    interrupt.run(lambda: _serve(host, port, scenario, strict=strict, is_json=is_json))
    return 0


async def _serve(
    host: str, port: int, scenario: str | None, *, strict: bool, is_json: bool
) -> None:
    from ...provider.stub.server import Stub
    from ..drill.drill import find_scenario

    played = None if scenario is None else find_scenario(scenario)
    async with Stub(played, host, port, strict=strict) as server:
        if is_json:
            click.echo(json.dumps({"listening": server.url, "providers": server.providers()}))
        else:
            click.echo(f"listening on {server.url}")
            lead = f'export SIDESTEP_PROVIDERS="$(curl -s {server.url}/_stub/providers)"'
            click.echo(f"lead sidestep here with: {lead}", err=True)
        await anyio.sleep_forever()


@cli.command(
    help="""
    Say what the configuration in the environment means, and what is wrong with it.

    With --journal, say what a journal tells: who answered, why steps moved, what failures cost.
    """,
)
@click.option("--model", "asked", help="Explain the chain from this route, or of this name.")
@click.option(
    "--journal", metavar="FILE", help="Sum up this journal instead; - is stdin.",
)  # fmt: skip
@as_json
def check(*, asked: str | None, journal: str | None, is_json: bool) -> int:
    from .check import inspect, show

    if journal is not None and asked is not None:
        raise click.UsageError("--model explains a chain, --journal a file: leave one of them out")
    if journal is not None:
        return _sum_up(journal, is_json=is_json)

    found = inspect(os.environ, asked)
    if is_json:
        click.echo(masked(json.dumps(found, ensure_ascii=False)))
    elif not found["error"]:
        show(terminal(), found)
    if not found["error"]:
        return 0
    click.echo(f"Error: {found['error']}", err=True)
    return EXIT_USAGE


def _sum_up(journal: str, *, is_json: bool) -> int:
    from ..journal.summary import summarise
    from .journal_table import show

    found = summarise(journal)
    if is_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        show(terminal(), found)
    return 0


@cli.command(
    help="""
    Say what a failed answer is, what sidestep does about it, and why.

    FILE is a capture, a raw HTTP answer (status line, headers, body), or a bare body; - is stdin.
    """,
)
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@click.option("--status", type=click.IntRange(100, 599), help="The status of a bare body.")
@click.option("--provider", help="Whose answer it is, such as openrouter.")
@click.option("--model", "route", type=RouteName(), help="The route that answered.")
@as_json
def explain(
    file: str, *, status: int | None, provider: str | None, route: Route | None, is_json: bool
) -> int:
    from ...provider.recording.recorded_answer import Recorded
    from .explain import explain as explain_answer
    from .explain import show

    name = provider or (route.provider if route else None)
    recorded = Recorded.parse(_content(file), provider=name, status=status)
    found = explain_answer(recorded, os.environ, route=route)
    if is_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        show(terminal(), found)
    return 0


@cli.command(
    help="""
    Print the request body that a stored conversation becomes on a route.

    FILE is a conversation as fixtures/conversations shows; - is stdin. With --explain follows a
    line for each thing that was dropped, kept, changed or made up; with --json as well, both are
    in one object.
    """,
)
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@click.option("--to", "route", type=RouteName(), required=True, help="The route to render for.")
@click.option("--explain", "with_notes", is_flag=True, help="Say what was changed, and why.")
@as_json
def render(file: str, *, route: Route, with_notes: bool, is_json: bool) -> int:
    from ...provider.conversation_json import read_conversation
    from .render import render as render_conversation
    from .render import show

    content = _content(file)
    try:
        conversation = read_conversation(content)
    except ConfigError as error:
        raise ConfigError(f"{file!r}: {error}") from None
    found = render_conversation(conversation, route, os.environ)
    if is_json:
        told = found if with_notes else found["body"]
        click.echo(json.dumps(told, ensure_ascii=False))
    else:
        click.echo(show(found, with_notes=with_notes))
    return 0


def _content(file: str) -> bytes:
    from ...provider.env_value import read_file

    if file == "-":
        return _stdin("name a file, or lead the answer into it").buffer.read()
    path = Path(file)
    try:
        # A pipe that the shell names, as in <(curl …), has an end.
        return path.read_bytes() if path.is_fifo() else read_file(path)
    except ConfigError as error:
        raise ConfigError(f"{file!r}: {error}") from None
    except OSError as error:
        raise ConfigError(f"{file!r}: it cannot be read ({error.strerror})") from None


def _stdin(instead: str) -> TextIO:
    if sys.stdin is None:
        raise click.UsageError(f"stdin is closed: {instead}")
    return sys.stdin


def terminal() -> Console:
    """Return where tables and timelines go; a width that nothing fits in counts as none."""
    from rich.console import Console

    console = Console()
    return console if console.width >= MIN_WIDTH else Console(width=80)


def _tell(error: click.ClickException) -> None:
    """Print what was typed wrong; a key may have been typed in the wrong place."""
    told = io.StringIO()
    error.show(told)
    click.echo(masked(told.getvalue()), err=True, nl=False)


def _tell_of_file(error: OSError) -> None:
    """Print what happened to a file; the error names the file unless it is our output."""
    if error.filename is not None:
        click.echo(masked(f"Error: {error.filename!r}: {error.strerror}"), err=True)
        return
    if not isinstance(error, BrokenPipeError):
        click.echo(f"Error: the output cannot be written ({error.strerror})", err=True)
    # Nothing may be written at exit either.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main() -> None:
    """Run the command, and exit."""
    try:
        code = cli.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        code = EXIT_INTERRUPTED
    except click.ClickException as error:
        _tell(error)
        code = error.exit_code
    except ConfigError as error:
        click.echo(f"Error: {error}", err=True)
        code = EXIT_USAGE
    except InstallError as error:
        click.echo(f"Error: {error}", err=True)
        code = EXIT_FAILED
    except OSError as error:
        _tell_of_file(error)
        code = EXIT_FAILED
    sys.exit(code if isinstance(code, int) else 0)
