"""``sidestep check``: what the configuration means, or what a journal holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...provider.secret import redact_shapes
from ..journal.journal import VARIABLE as JOURNAL_VARIABLE
from ..journal.journal_file import why_unopenable
from ..journal.summary import summarise
from ..plan.check import VARIABLES
from ..plan.check import inspect as inspect_plan
from ..plan.config_warning import ConfigWarning
from ..plan.retry import DEFAULT_RETRIES, DEFAULT_RETRIES_BESIDE_SIBLING, RetryPolicy
from . import journal_table
from .exit_code import ExitCode
from .option import as_json
from .terminal import terminal


@click.command(
    short_help="Explain the configuration, or a journal.",
    help="""
    Explain what the configuration in the environment means, and what is wrong with it.

    With --journal, sum up a journal: who answered, why steps moved, what failures cost.
    """,
)
@click.option("--model", help="Explain the chain from this route, or of this name.")
@click.option(
    "--journal", metavar="FILE", help="Sum up this journal instead; - is stdin.",
)  # fmt: skip
@as_json
def check(*, model: str | None, journal: str | None, is_json: bool) -> int:
    if journal is not None and model is not None:
        raise click.UsageError("--model explains a chain, --journal a file: leave one of them out")
    if journal is not None:
        return _check_journal(journal, is_json=is_json)
    return _check_environment(model, is_json=is_json)


def _check_journal(journal: str, *, is_json: bool) -> int:
    found = summarise(journal)
    if is_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        journal_table.show(terminal(), found)
    return ExitCode.DONE


def _check_environment(model: str | None, *, is_json: bool) -> int:
    found = inspect(os.environ, model)
    if is_json:
        click.echo(redact_shapes(json.dumps(found, ensure_ascii=False)))
    elif not found["error"]:
        show(terminal(), found)
    return _complain(found)


def _complain(found: Mapping[str, Any]) -> int:
    """Print what is wrong with all of it, if anything is; return the exit status."""
    problem = found["error"] or found["stuck"]
    if not problem:
        return ExitCode.DONE
    click.echo(redact_shapes(f"Error: {problem}"), err=True)
    return ExitCode.USAGE if found["error"] else ExitCode.FAILED


def inspect(environ: Mapping[str, str], model: str | None = None) -> dict[str, Any]:
    """Return what is printed of *environ*, as plain data.

    Args:
        model: Explain only the chain from this route, or of this name; None: every one.
    """
    return inspect_plan(environ, model, further=journal_warnings(environ))


def journal_warnings(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    path = os.path.expanduser(environ.get(JOURNAL_VARIABLE, "").strip())
    why = why_unopenable(path) if path else None
    if why is not None:
        message = f"{JOURNAL_VARIABLE} names {path!r}, which cannot be opened ({why})"
        cure = "set it to a file that can be written, because now nothing is recorded"
        yield ConfigWarning("C021", message, cure)


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print what `inspect` found, if there is no error."""
    _show_state(console, found)
    for chain in found["chains"]:
        _show_chain(console, chain)
    for provider, keys in found["keys"].items():
        _show_keys(console, provider, keys)
    for warning in found["warnings"]:
        console.print(
            Text.assemble(
                (warning["code"], "bold yellow"), f"  {warning['message']}: {warning['fix']}"
            ),
            soft_wrap=True,
        )


def _show_keys(console: Console, provider: str, keys: Mapping[str, bool]) -> None:
    """Say which of several keys of *provider* are set; of a single one only a warning does."""
    if len(keys) > 1:
        states = ", ".join(f"{name} {'is' if has else 'is not'} set" for name, has in keys.items())
        console.print(Text(redact_shapes(f"keys of {provider}: {states}")), soft_wrap=True)


def _show_state(console: Console, found: Mapping[str, Any]) -> None:
    if found["state"] == "none":
        name = found["source"]
        unset = f"no {', '.join(VARIABLES[:-1])} or {VARIABLES[-1]} is set"
        reason = f"{name} is empty" if name else unset
        console.print(
            f"no configuration ({reason}): failed calls are retried, "
            "and never moved to another route"
        )
        return
    style = "bold green" if found["state"] == "on" else "bold yellow"
    console.print(Text.assemble((found["state"], style), f"  read from {found['source']}"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in found["settings"].items():
        if name != "fallbackModelsByModel":
            table.add_row(f"  {name}", Text(redact_shapes(_cell(name, value))))
    console.print(table)


UNSET = {
    "maxUpstreamRetryAttempts": f"unset: {DEFAULT_RETRIES}, or {DEFAULT_RETRIES_BESIDE_SIBLING} "
    "while a sibling is healthy",
    "maxWaitSeconds": f"unset: {RetryPolicy().max_wait:g}",
}
"""The values of missing settings, if the agent has no policy of its own."""


def _cell(name: str, value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return UNSET.get(name, "unset") if value is None else str(value)


def _show_chain(console: Console, chain: Mapping[str, Any]) -> None:
    walk = " → ".join(chain["walk"])
    if chain["route"] != chain["walk"][0]:
        walk = f"{chain['route']}: {walk}"
    if console.options.ascii_only:
        walk = walk.replace("→", ">")
    back = "and back, two ways" if len(chain["walk"]) == 2 else "and back to the first"
    end = back if chain["is_cycle"] else "and no further"
    line = f"{walk}  ({end})" if len(chain["walk"]) > 1 else f"{walk}  (no sibling)"
    console.print(Text(redact_shapes(line)), soft_wrap=True)
    for route, why in chain["unfit"].items():
        console.print(Text(redact_shapes(f"  {route} is passed over: {why}")), soft_wrap=True)
