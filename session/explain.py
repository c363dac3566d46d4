"""What a recorded answer is, and what sidestep does about it under the current configuration."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..provider.part import Reasoning, ToolCall
from ..provider.part import Text as TextPart
from ..provider.reader import DECODERS
from ..provider.recorded import Outcome, Recorded, read
from ..provider.route import Route
from .console import printable
from .decision import Retry, Standing, Stop, Swap, decide
from .middleware import Sidestep
from .source import known_providers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from ..provider.failure import Failure
    from ..provider.wire import Decoder
    from .decision import Decision

_CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_length"})
"""The words of all wires for an answer that reached its longest length."""

_ELSEWHERE = Route("another/route")
"""Stands for a healthy sibling where no route was named."""


def explain(
    recorded: Recorded, environ: Mapping[str, str], *, route: Route | None = None
) -> dict[str, Any]:
    """Return what *recorded* is, and what follows from it, as plain data.

    Args:
        route: The route that answered; None: one that has a healthy sibling, if any has.
    """
    middleware = Sidestep.from_env(environ)
    provider = recorded.spoken_by(known_providers(middleware.config, environ))
    decoder = DECODERS[provider.wire](provider)
    outcome = read(recorded, provider, decoder)
    if outcome.failure is None:
        return _answer(decoder)
    outcome.failure.route = route
    return _described(outcome) | _decided(outcome.failure, middleware, route)


def _answer(decoder: Decoder) -> dict[str, Any]:
    return {
        "kind": "max_tokens" if decoder.stop in _CUT_SHORT else "ok",
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
    return {
        "kind": failure.kind,
        "status": failure.status,
        "code": failure.code,
        "message": failure.message,
        "retry_after": failure.retry_after,
        "reset_at": failure.reset_at and failure.reset_at.isoformat(),
        "stage": failure.stage,
        "delivered": outcome.has_shown,
        "because": failure.because,
        "request_id": failure.request_id,
    }


def _decided(failure: Failure, middleware: Sidestep, route: Route | None) -> dict[str, Any]:
    config, limits = middleware.config, middleware.limits
    siblings = config.fallback_models_by_model if config else {}
    sibling = (siblings.get(route) or (None,))[0] if route else _ELSEWHERE
    resets_in = None
    if failure.reset_at is not None:
        resets_in = (failure.reset_at - datetime.now(UTC)).total_seconds()
    first = Standing(
        backoff=middleware.policy.first,
        sibling=sibling if config else None,
        sibling_is_healthy=True,
        resets_in=resets_in,
    )
    at_first = decide(failure, first, limits)
    at_last = decide(failure, replace(first, retries=limits.retries), limits)
    return {
        "retry": isinstance(at_first, Retry),
        "swap": isinstance(at_last, Swap),
        "degrade": not isinstance(at_last, Retry) and at_last.cooldown is not None,
        "repair": None,
        "wait": at_first.wait if isinstance(at_first, Retry) else None,
        "why": _why(at_first, at_last, limits.retries),
    }


def _why(at_first: Decision, at_last: Decision, retries: int) -> str:
    """Tell in a sentence what sidestep does."""
    told = []
    if isinstance(at_first, Retry):
        told.append(
            f"retried on the same route, {at_first.wait:g} s later, {retries} times at most"
        )
    if isinstance(at_last, Swap):
        told.append("then moved to a sibling" if told else "moved to a sibling at once")
    if isinstance(at_last, Stop):
        told.append(f"{'then ' if told else ''}the step fails: {at_last.why}")
    return "; ".join(told)


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print what `explain` found."""
    style = "bold green" if found["kind"] in {"ok", "max_tokens"} else "bold red"
    console.print(Text(str(found["kind"]), style=style))
    for name, value in found.items():
        if name != "kind" and value not in (None, "", [], {}):
            line = Text.assemble((f"  {name:12} ", "dim"), printable(str(value)))
            console.print(line, soft_wrap=True)
