"""What the log says of a function of the agent's own that raises."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import httpx
import pytest

from sidestep import Needs, ProviderError, Sidestep
from sidestep.provider.cure import Change, Cure
from sidestep.provider.failure import Failure, FailureKind

from ..virtual import VirtualClock
from .turn.outage import A, Outage

KEY = "sk-test-1234567890abcdef"
RULES = """
[[rules]]
task_class = "coding"
[[rules.candidates]]
provider = "anthropic"
model = "claude-sonnet-5"
capabilities = { context_window_tokens = 100 }
"""
REFUSED = Failure(
    kind=FailureKind.HISTORY_REJECTED, message="no", status=400, cure=Cure(Change.DROP_REASONING)
)

pytestmark = pytest.mark.asyncio


def broken(*_: object) -> Any:
    """Raise what httpx does: its words name the URL, and so the key in it."""
    request = httpx.Request("GET", f"https://h.test/m?key=another-key&also={KEY}")
    httpx.Response(403, request=request).raise_for_status()


async def broken_later(*_: object) -> Any:
    broken()


async def refuse(engine: Sidestep, **options: Any) -> None:
    """Take a step that is refused."""
    with suppress(ProviderError):
        async for attempt in engine.step("coding", needs=Needs(tokens=99), **options):
            async with attempt:
                raise ProviderError(REFUSED)


@pytest.mark.parametrize(
    ("name", "hooks", "options"),
    [
        pytest.param("on_event", {"on_event": broken}, {}, id="on_event of all steps"),
        pytest.param("on_event", {}, {"on_event": broken}, id="on_event of a step"),
        pytest.param("classify", {"classify": broken}, {}, id="classify"),
        pytest.param("repair", {}, {"repair": broken}, id="repair"),
        pytest.param("count", {}, {"count": broken_later}, id="count"),
    ],
)
async def test_a_hook_that_raises_is_logged_with_its_traceback_and_no_key(
    name: str, hooks: dict[str, Any], options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    engine = Sidestep.from_env({"SIDESTEP_ROUTING_RULES": RULES}, clock=VirtualClock(), **hooks)

    await refuse(engine, **options)

    assert_told(name, caplog)


def cancelled(*_: object) -> Any:
    """Raise what a future that was cancelled raises when it is asked for its result."""
    raise asyncio.CancelledError


async def cancelled_later(*_: object) -> Any:
    cancelled()


@pytest.mark.parametrize(
    ("name", "hooks", "options"),
    [
        pytest.param("on_event", {"on_event": cancelled}, {}, id="on_event of all steps"),
        pytest.param("on_event", {}, {"on_event": cancelled}, id="on_event of a step"),
        pytest.param("classify", {"classify": cancelled}, {}, id="classify"),
        pytest.param("repair", {}, {"repair": cancelled}, id="repair"),
        pytest.param("count", {}, {"count": cancelled_later}, id="count"),
        pytest.param("count", {}, {"count": cancelled}, id="count, synchronously"),
    ],
)
async def test_a_hook_that_asks_what_was_cancelled_does_not_cancel_the_step(
    name: str, hooks: dict[str, Any], options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    engine = Sidestep.from_env({"SIDESTEP_ROUTING_RULES": RULES}, clock=VirtualClock(), **hooks)

    await refuse(engine, **options)

    assert f"`{name}` raised" in caplog.text


async def test_a_callback_of_a_session_that_asks_what_was_cancelled_does_not_cancel_the_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Outage({A: {"text": "hello"}}, session={"price": cancelled}) as outage:
        outage.session.on_event = cancelled
        assert (await outage.session.turn("hi")).text == "hello"

    assert "`on_event` raised on TurnEnded" in caplog.text
    assert "`price` raised" in caplog.text


async def test_a_price_that_raises_is_logged_with_its_traceback_and_no_key(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Outage({A: {"text": "hello"}}, session={"price": broken}) as outage:
        await outage.session.turn("hi")

    assert_told("price", caplog)


def assert_told(name: str, caplog: pytest.LogCaptureFixture) -> None:
    told = next(each for each in caplog.records if f"`{name}` raised" in each.getMessage())
    said = logging.Formatter().format(told)
    assert "Traceback (most recent call last)" in said
    assert "in broken\n" in said
    assert said.endswith(
        "HTTPStatusError: Client error '403 Forbidden' for url "
        "'https://h.test/m?key=[key]&also=[key]'\n"
        "For more information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/403"
    )
    assert (told.levelno, told.name) == (logging.ERROR, "sidestep")
    assert KEY not in caplog.text
