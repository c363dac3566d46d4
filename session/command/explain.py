"""``sidestep explain``: what a failed answer is, and what sidestep does about it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from ...provider.classify.report import parse_body
from ...provider.classify.time_text import seconds_until
from ...provider.conversation import Reasoning, ToolCall
from ...provider.conversation import Text as TextPart
from ...provider.error import ConfigError
from ...provider.failure import FailureKind, Scope, Stage
from ...provider.recording.recorded_answer import Outcome, Recorded, read
from ...provider.route import Route
from ...provider.secret import redact_keys, redact_shapes
from ...provider.wire.reading import Reading
from ...provider.wire.stop_word import is_cut, is_proper_end
from ..event_json import failure_to_json
from ..step.decision import decide
from ..step.middleware import Sidestep
from ..step.step_state import Retry, StepState, Stop, Swap
from .exit_code import ExitCode
from .input_file import read_input
from .option import RouteName, as_json
from .terminal import log_to_stderr, printable, terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from ...provider.catalog.provider import Provider
    from ...provider.failure import Failure
    from ...provider.wire.protocol import Decoder
    from ..plan.config import FallbackConfig
    from ..plan.plan import Plan
    from ..step.step_state import Decision

_ELSEWHERE = Route("another/route")
"""Stands for a healthy sibling if no route was named."""

_SCOPES = {
    Scope.ROUTE: "route: every request to it fails, with any key",
    Scope.KEY: "key: other routes of this provider fail too",
    Scope.KEY_ON_ROUTE: "key_on_route: another key, or another route, may do",
}
"""What a failure concerns, in words."""
_OF_REQUEST = frozenset(
    {
        *(FailureKind.BAD_REQUEST, FailureKind.REQUEST_TOO_LARGE, FailureKind.HISTORY_REJECTED),
        *(FailureKind.CONTEXT_OVERFLOW, FailureKind.CONTENT_FILTER, FailureKind.REFUSAL),
        *(FailureKind.EMPTY_RESPONSE, FailureKind.TOOL_CALL_MALFORMED, FailureKind.UNKNOWN),
    }
)
"""Kinds of failures that say nothing of other requests."""

_PLACES = {"html": "a page of HTML", "text": "plain text", "binary": "binary data",
           "json": "JSON", "empty": "an empty body"}  # fmt: skip
"""What came in place of a stream, by its form."""


@click.command(
    short_help="Explain a failed answer, and what follows.",
    help="""
    Explain what a failed answer is, what sidestep does about it, and why.

    FILE is a capture, a raw HTTP answer (status line, headers, body), or a bare body; - is stdin.
    """,
)
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@click.option("--status", type=click.IntRange(100, 599), help="The status of a bare body.")
@click.option("--provider", help="The provider that answered, such as openrouter.")
@click.option("--model", "route", type=RouteName(), help="The route that answered.")
@as_json
def explain(
    file: str, *, status: int | None, provider: str | None, route: Route | None, is_json: bool
) -> int:
    log_to_stderr()
    name = provider or (route.provider if route else None)
    content = read_input(file)
    try:
        recorded = Recorded.parse(content, provider=name, status=status)
    except ConfigError as error:
        raise ConfigError(f"{file!r}: {error}") from None
    found = explain_answer(recorded, os.environ, route=route)
    if is_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        show(terminal(), found)
    return ExitCode.DONE


def explain_answer(
    recorded: Recorded, environ: Mapping[str, str], *, route: Route | None = None
) -> dict[str, Any]:
    """Return what *recorded* is, and what sidestep does about it, as plain data.

    Args:
        route: The route that answered; None: a route with a healthy sibling, if any has one.
    """
    middleware = Sidestep.from_env(environ)
    providers = middleware.providers
    provider = recorded.spoken_by(providers)
    reading = Reading(provider)
    decoder, outcome = reading.decoder, read(recorded, provider, reading)
    assumed = [*recorded.notes, *_notes(recorded, provider, providers)]
    if outcome.failure is None:
        return _answer(decoder) | {"assumed": [*assumed, *decoder.assumed]}
    if outcome.failure.kind is FailureKind.EMPTY_RESPONSE and is_proper_end(decoder.stop):
        assumed.append("a request that does not end in results of tools; after these it is ok")
    if route is None and middleware.config is not None:
        assumed.append("a route with a healthy sibling, as no --model was given")
    outcome.failure.route = route
    variables = {name for each in providers.values() for name in each.key_variables}
    keys = [environ.get(name, "") for name in sorted(variables)]
    outcome.failure.message = redact_keys(outcome.failure.message, keys)
    outcome.failure.because = outcome.failure.because or _fact(outcome, recorded, decoder)
    sibling, chain = _sibling(middleware.plan, route)
    if chain is not None:
        assumed.append(f"a step that asks for {chain!r}")
    decided = _decided(outcome.failure, middleware, sibling)
    return _described(outcome) | decided | {"assumed": assumed}


def _notes(recorded: Recorded, provider: Provider, providers: Mapping[str, Provider]) -> list[str]:
    """Return what was assumed of the provider, and what contradicts it."""
    name, wire = recorded.provider, recorded.looks_like
    if not name:
        return [f"the {provider.wire} wire, as no provider was given"]
    if not recorded.names_somebody and name not in providers:
        shown = redact_shapes(name)
        return [f"the {provider.wire} wire, as {shown!r} is no provider that sidestep knows"]
    if wire not in (None, provider.wire):
        return [f"the {provider.wire} wire of {name!r}, but the body looks like {wire}"]
    return []


def _fact(outcome: Outcome, recorded: Recorded, decoder: Decoder) -> str:
    """Return what decided, if no fact of the provider did."""
    failure = outcome.failure
    if failure is None or failure.stage is not Stage.END:
        return "no word or status that sidestep knows"
    if failure.kind is not FailureKind.TRUNCATED and decoder.stop is not None:
        return f"the reason for the end, {decoder.stop!r}"
    if not outcome.events:
        return f"no event, but {_PLACES[parse_body(recorded.body)[1]]}"
    end = "the end of the body" if recorded.is_clean else "a broken connection"
    return f"{end} before the terminal marker, events read: {outcome.events}"


def _answer(decoder: Decoder) -> dict[str, Any]:
    return {
        "kind": "max_tokens" if is_cut(decoder.stop) else "ok",
        "text": "".join(part.text for part in decoder.parts if isinstance(part, TextPart)),
        "thinking": "".join(part.text for part in decoder.parts if isinstance(part, Reasoning)),
        "tool_calls": [
            {"id": part.id, "name": part.name, "input": part.input}
            for part in decoder.parts
            if isinstance(part, ToolCall)
        ],
        "stop": decoder.stop,
        "usage": {
            name: value
            for name in ("input", "output", "cache_read", "cache_write")
            if (value := getattr(decoder.usage, name)) is not None
        },
    }


def _described(outcome: Outcome) -> dict[str, Any]:
    failure = outcome.failure
    assert failure is not None  # noqa: S101 - the caller has looked
    scope = None if failure.kind in _OF_REQUEST else _SCOPES[failure.effective_scope]
    shown = failure_to_json(failure) | {"scope": scope}
    return shown | {"delivered": outcome.has_shown, "because": failure.because}


def _sibling(plan: Plan | None, route: Route | None) -> tuple[Route | None, str | None]:
    """Return the sibling of *route*, and the chain that a step has to ask for; None: none."""
    if plan is None or route is None:
        return (None if plan is None else _ELSEWHERE), None
    holding = [
        name for name, chain in plan.chains.items() if route in (entry.route for entry in chain)
    ]
    for name in (route, *holding):
        options = plan.options_for(name)
        for sibling in options.siblings.get(route, ()):
            if sibling not in options.unfit:
                return sibling, None if name == route else name
    return None, None


def _decided(failure: Failure, middleware: Sidestep, sibling: Route | None) -> dict[str, Any]:
    config, limits = middleware.config, middleware.limits
    first = StepState(
        backoff=middleware.policy.first_wait,
        sibling=sibling,
        sibling_is_healthy=True,
        resets_in=seconds_until(failure.reset_at),
    )
    at_first = decide(failure, first, limits)
    is_again = isinstance(decide(failure, replace(first, retries=1), limits), Retry)
    retries = limits.max_retries if is_again else int(isinstance(at_first, Retry))
    at_last = decide(failure, replace(first, retries=retries), limits)
    cooldown = _cooldown(at_last, config)
    repair = None if failure.cure is None else str(failure.cure)
    return {
        "retry": isinstance(at_first, Retry),
        "swap": isinstance(at_last, Swap),
        "degrade": isinstance(at_last, Swap | Stop) and at_last.cooldown is not None,
        "repair": repair,
        "wait": at_first.wait if isinstance(at_first, Retry) else None,
        "cooldown": cooldown,
        "why": "; ".join([*_repairs(repair), *_why(at_first, at_last, retries, cooldown)]),
    }


def _cooldown(decision: Decision, config: FallbackConfig | None) -> float | None:
    """Return the first cooldown of the route, in seconds; None: it has none."""
    if config is None or not isinstance(decision, Swap | Stop) or decision.cooldown is None:
        return None
    return float(min(max(config.cooldown_seconds, decision.cooldown), config.max_cooldown_seconds))


def _repairs(change: str | None) -> list[str]:
    """Say that our own client repairs the request once, before all else."""
    return [] if change is None else [f"repaired once, where that changes the request: {change}"]


def _why(at_first: Decision, at_last: Decision, retries: int, cooldown: float | None) -> list[str]:
    """Say what sidestep does, in half a sentence each."""
    parts: list[str] = []
    if isinstance(at_first, Retry):
        often = "once" if retries == 1 else f"{retries} times at most, with waits that grow"
        parts.append(f"retried on the same route after {at_first.wait:g} s, {often}")
    if isinstance(at_last, Swap):
        where = "a sibling" if at_last.sibling is _ELSEWHERE else str(at_last.sibling)
        parts.append(f"then moved to {where}" if parts else f"moved to {where} at once")
    if isinstance(at_last, Stop):
        parts.append(f"{'then ' if parts else ''}the step fails: {at_last.why}")
    if cooldown is not None:
        parts.append(f"the route that failed is left alone for {cooldown:g} s")
    return parts


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print what `explain` found."""
    style = "bold green" if found["kind"] in {"ok", "max_tokens"} else "bold red"
    console.print(Text(str(found["kind"]), style=style))
    for name, value in found.items():
        if name != "kind" and value not in (None, "", [], {}):
            line = Text.assemble((f"  {name:12} ", "dim"), printable(_cell(name, value)))
            console.print(line, soft_wrap=True)


def _cell(name: str, value: Any) -> str:
    """Return *value* as text; its further lines are indented below the first."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "assumed":
        text = "\n".join(value)
    elif isinstance(value, float):
        text = f"{value:g} s"
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("\n", "\n" + " " * 15)
