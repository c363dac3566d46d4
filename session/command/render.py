"""``sidestep render``: a stored conversation as the request that a route would get."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from ...provider.catalog.catalog import unknown_provider
from ...provider.client.rendering import body_of
from ...provider.conversation_json import read_conversation
from ...provider.error import ConfigError
from ...provider.handover.settings_diff import settings_diff
from ...provider.handover.target_facts import target_of
from ..step.middleware import Sidestep
from .exit_code import ExitCode
from .input_file import read_input
from .option import RouteName, as_json
from .terminal import log_to_stderr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...provider.conversation import Conversation
    from ...provider.handover.note import Note
    from ...provider.route import Route


@click.command(
    short_help="Print a conversation as the request to a route.",
    help="""
    Print the request body that a stored conversation becomes on a route.

    FILE is a conversation as fixtures/conversations shows; - is stdin. With --explain a
    line follows for each thing that was dropped, kept, changed or made up. With --json as well,
    one object has both.
    """,
)
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@click.option("--to", "route", type=RouteName(), required=True, help="The route to render for.")
@click.option("--explain", "with_notes", is_flag=True, help="Say what was changed, and why.")
@as_json
def render(file: str, *, route: Route, with_notes: bool, is_json: bool) -> int:
    log_to_stderr()
    content = read_input(file)
    try:
        conversation = read_conversation(content)
    except ConfigError as error:
        raise ConfigError(f"{file!r}: {error}") from None
    found = render_conversation(conversation, route, os.environ)
    if is_json:
        click.echo(json.dumps(found if with_notes else found["body"], ensure_ascii=False))
    else:
        click.echo(show(found, with_notes=with_notes))
    return ExitCode.DONE


def render_conversation(
    conversation: Conversation, route: Route, environ: Mapping[str, str]
) -> dict[str, Any]:
    """Return the body for *route*, the path it goes to, and a note for every change, as data.

    Raises:
        ConfigError: The provider of *route* is not known.
    """
    providers = Sidestep.from_env(environ).providers
    provider = providers.get(route.provider)
    if provider is None:
        raise ConfigError(unknown_provider(route.provider, providers))
    body, rendering = body_of(conversation, provider, route)
    changed = settings_diff(
        conversation.settings,
        conversation.tools,
        body,
        renamed=rendering.renamed,
        thinks=target_of(provider, route).thinking != "none",
    )
    return {
        "route": str(route),
        "url": provider.base_url + rendering.path,
        "body": body,
        "notes": [_note(note) for note in _together(rendering.notes, changed)],
    }


def _together(notes: Sequence[Note], found: Iterable[Note]) -> Iterator[Note]:
    """Return the notes of both, and of two notes about one thing only the first."""
    yield from notes
    things = {note.what.partition(" to ")[0] for note in notes}
    settings = {thing.partition(" ")[0] for thing in things}
    if "thinking" in settings:
        settings.add("effort")
    for note in found:
        name = note.what.partition(" ")[0]
        if name in {"name", "schema"}:
            is_new = note.what.partition(" to ")[0] not in things
        else:
            is_new = name not in settings
        if is_new:
            yield note


def show(found: Mapping[str, Any], *, with_notes: bool) -> str:
    """Return the body as indented JSON, and after it a line for every change."""
    lines = [json.dumps(found["body"], ensure_ascii=False, indent=2)]
    if with_notes:
        lines += ["", *(f"{note['text']}" for note in found["notes"])]
        if not found["notes"]:
            lines.append("everything crosses as it is stored")
    return "\n".join(lines)


def _note(note: Note) -> dict[str, Any]:
    return {
        "action": note.action,
        "what": note.what,
        "why": note.why,
        "message": note.message,
        "part": note.part,
        "text": str(note),
    }
