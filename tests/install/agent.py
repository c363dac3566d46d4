"""An agent as a user writes it: type checkers read it, PyInstaller freezes it, and it runs.

It prints which route answered, once over its own call and once over a `Session`. With arguments, it
is the `sidestep` command.
"""

from __future__ import annotations

import asyncio
import sys
from typing import assert_type

import httpx

from sidestep import (
    Attempt,
    AttemptFailed,
    Budget,
    Client,
    ConfigError,
    ContextOverflow,
    Conversation,
    Event,
    Failure,
    FallbackExhausted,
    MemoryStore,
    Message,
    Provider,
    Route,
    Session,
    Settings,
    Sidestep,
    StepFailed,
    Swapped,
    Text,
    TextDelta,
    Tool,
    ToolSpec,
    TurnEnded,
    Usage,
    Waiting,
)
from sidestep.__main__ import main as command

ASKED = "openrouter/anthropic/claude-sonnet-5"
PATHS = {"openrouter": "/chat/completions", "anthropic": "/v1/messages"}


def told(event: Event) -> str | None:
    """Return what a user is shown of an event."""
    match event:
        case AttemptFailed(route=route, failure=failure):
            assert_type(route, Route)
            assert_type(failure, Failure)
            return f"{route}: {failure.kind}"
        case Swapped(from_route=before, route=after):
            return f"{before} -> {after}"
        case Waiting(seconds=seconds):
            return f"{assert_type(seconds, float):.1f} s"
        case _:
            return None


def listen(event: Event) -> None:
    line = told(event)
    if line is not None:
        print(line)


async def ask(http: httpx.AsyncClient, middleware: Sidestep, route: Route) -> int:
    """Send a request of our own to *route*, and return the status of the answer."""
    provider = middleware.providers[route.provider]
    url = provider.base_url + PATHS[route.provider]
    answer = await http.post(url, json={"model": route.model, "messages": []})
    answer.raise_for_status()
    return answer.status_code


def speaks(route: Route) -> bool:
    return route.provider in PATHS


async def over_attempts(middleware: Sidestep) -> Route:
    async with httpx.AsyncClient() as http:
        step = middleware.step(ASKED, serves=speaks, on_event=listen)
        async for attempt in step:
            async with attempt:
                assert_type(attempt, Attempt)
                await ask(http, middleware, attempt.route)

        async def call(attempt: Attempt) -> int:
            return await ask(http, middleware, attempt.route)

        status = await middleware.step(ASKED, serves=speaks).run(call)
    assert_type(status, int)
    return step.route


def look_up(name: str, limit: int = 3) -> list[str]:
    """Look a name up."""
    return [name] * limit


async def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


async def over_a_session(middleware: Sidestep) -> Route:
    async with Client() as client:
        session = Session(
            ASKED,
            middleware=middleware,
            client=client,
            tools=[look_up, Tool(weather, timeout=10)],
            store=MemoryStore(),
            budget=Budget(attempts=20),
            on_event=listen,
        )
        ended = await session.turn("Why does test_parser fail?")
        assert_type(ended, TurnEnded)
        async with session.stream("And now?") as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    assert_type(event.text, str)
        messages = session.transcript.messages
        assert all(isinstance(message, Message) for message in messages)
    print(ended.text, f"after {len(session.cost.attempts)} attempts")
    return ended.route


async def over_a_request(client: Client, provider: Provider) -> Usage:
    """Make one request, without a session."""
    conversation = Conversation(
        [Message("user", [Text("Why does test_parser fail?")])],
        tools=[ToolSpec("look_up", "Look a name up.")],
        settings=Settings(max_output_tokens=4_000, reasoning="low"),
    )
    assert_type(provider.context_window, int | None)
    async with client.stream(Route(f"{provider.name}/claude-sonnet-5"), conversation) as reply:
        async for _ in reply:
            pass
    return assert_type(reply.usage, Usage)


async def main() -> str:
    try:
        own = await over_attempts(Sidestep.from_env())
        return f"answered by {own} and {await over_a_session(Sidestep.from_env())}"
    except ContextOverflow as error:
        return f"too long for {error.requested}"
    except FallbackExhausted as error:
        last = error.attempts[-1].failure
        return "nothing was tried" if last is None else f"all failed, at last: {last.kind}"
    except StepFailed as error:
        assert_type(error.failure, Failure | None)
        return str(error)
    except ConfigError as error:
        return f"wrong settings: {error}"


if __name__ == "__main__":
    if sys.argv[1:]:
        command()
    print(asyncio.run(main()))
