"""A conversation that moves between any two APIs, at any step, and back, refused by none.

Everything goes over real sockets, against a stub that refuses what the real APIs refuse.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.client.client import Client
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Part,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.route import Route
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

ROUTES = tuple(
    map(
        Route,
        (
            "anthropic/claude-sonnet-5",  # thinks adaptively
            "anthropic/claude-sonnet-4-5",  # thinks by a budget
            "anthropic/claude-fable-5-1",  # binds its thinking to the conversation before it
            "openai/gpt-5.1",
            "gemini/gemini-3-pro",
            "gemini/gemini-2.5-flash",
            "openai-chat/gpt-5.1",
            "openrouter/anthropic/claude-sonnet-5",
            "openrouter/google/gemini-3-pro",
            "groq/openai/gpt-oss-120b",
            "cerebras/gpt-oss-120b",
            "mistral/magistral-medium-latest",
            "deepseek/deepseek-reasoner",
            "zai/glm-4.6",
            "moonshot/kimi-k2-thinking",
            "minimax/MiniMax-M2",
            "openrouter-anthropic/anthropic/claude-sonnet-5",
            "deepseek-anthropic/deepseek-reasoner",
            "zai-anthropic/glm-4.6",
            "moonshot-anthropic/kimi-k2-thinking",
            "minimax-anthropic/MiniMax-M2",
        ),
    )
)
WIRES = tuple(map(Route, ("anthropic/claude-sonnet-5", "openai/gpt-5.1", "gemini/gemini-3-pro",
                          "openai-chat/gpt-5.1")))  # fmt: skip
"""One route for each."""
ON_RESPONSES = (Route("xai/grok-4"), Route("deepseek/deepseek-v4-pro"), Route("azure/gpt-5.1"))
"""Routes of others than OpenAI on the wire of Responses, each with rules of its own."""
STEPS = 7
SHOWN = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501

READ = {"name": "read_file", "input": {"path": "src/a.py"}}
LIST = {"name": "list", "input": {}}
ANSWERS = [
    {"reasoning": "Two files.", "text": "Reading both.", "tool_calls": [READ, LIST]},
    {"reasoning": "A picture.", "tool_calls": [{"name": "screenshot", "input": {"of": "app"}}]},
    {"reasoning": "Done.", "text": "The parser drops the last token."},
    {"reasoning": "Mend it.", "tool_calls": [{"name": "edit", "input": {"path": "a.py"}}]},
    {"reasoning": "Run them.", "tool_calls": [{"name": "shell", "input": {"command": "pytest"}}]},
    {"text": "All tests pass."},
]
"""What every route answers, in its own order; each is asked in the middle of another's."""

TOOLS = tuple(
    ToolSpec(name, f"The tool {name}.", {"type": "object", "properties": {}})
    for name in ("read_file", "list", "screenshot", "edit", "shell")
)


@asynccontextmanager
async def strict_stub(
    *more: Route, on_responses: tuple[Route, ...] = ()
) -> AsyncIterator[tuple[Stub, Client]]:
    """Start a stub that answers for `ROUTES` and more, and a client for it."""
    routes = (*ROUTES, *more, *on_responses)
    scenario = Scenario.parse({"answers": dict.fromkeys(routes, ANSWERS)})
    async with (
        Stub(scenario, strict=True) as stub,
        httpx.AsyncClient(timeout=None, trust_env=False) as http,  # noqa: S113
    ):
        providers = {**catalog(provider_settings(stub.providers(), where="stub"))}
        for name in {route.provider for route in on_responses}:
            providers[name] = Provider(name, "openai-responses", f"{stub.url}/{name}/v1", None)
        yield stub, Client(http=http, providers=providers, environ={})


def begun() -> Conversation:
    settings = Settings(max_output_tokens=8192, reasoning="medium", cache_key="session-1")
    messages = [
        Message("system", [Text("You are a coding agent.")]),
        Message("user", [Text("Why does test_parser fail?")]),
    ]
    return Conversation(messages, TOOLS, settings)


async def step(client: Client, conversation: Conversation, route: Route, number: int) -> None:
    """Ask *route*, run the tools that it calls, and let the user go on if it calls none."""
    async with client.stream(route, conversation) as reply:
        async for _ in reply:
            pass
    parts = [run(part, number) for part in reply.parts]
    conversation.messages.append(Message("assistant", parts, route=route))
    if not any(isinstance(part, ToolCall) for part in parts):
        conversation.messages.append(Message("user", [Text("Go on, please.")]))
    elif number == 3:
        conversation.messages.append(Message("user", [Text("Hurry.")]))  # between two steps
    if number == 4:
        compact(conversation)


def run(part: Part, number: int) -> Part:
    """Return *part* with a result if it is a call; one gets a picture, one stays open."""
    if not isinstance(part, ToolCall):
        return part
    if part.name == "screenshot":
        return replace(part, state="completed", output=[Text("Here:"), Image("image/png", SHOWN)])
    if part.name == "edit" and number % 2:
        return replace(part, state="interrupted")
    if part.name == "shell":
        return replace(part, state="error", output="pytest: not found", is_error=True)
    return replace(part, state="completed", output="" if part.name == "list" else "print(1)")


def compact(conversation: Conversation) -> None:
    """Put a summary in place of the older messages; what reasoning proves is gone with them."""
    kept = conversation.messages[-3:]
    while kept and kept[0].role != "assistant":
        kept = kept[1:]
    conversation.messages[1:] = [
        Message("user", [Text("Summary of the work so far: two files were read.")]),
        *(replace(m, parts=[p for p in m.parts if not isinstance(p, Reasoning)]) for m in kept),
    ]
    if conversation.messages[-1].role == "assistant" and not any(
        isinstance(part, ToolCall) for part in conversation.messages[-1].parts
    ):
        conversation.messages.append(Message("user", [Text("Go on.")]))


async def move(stub: Stub, client: Client, first: Route, second: Route, at: int) -> None:
    """Take seven steps on *first*, except two from number *at* on, which go to *second*."""
    stub.reset()
    conversation = begun()
    for number in range(STEPS):
        route = second if at <= number < at + 2 else first
        await step(client, conversation, route, number)
    assert [received.route for received in stub.requests].count(second) >= 2
    assert len(stub.requests) == STEPS  # none was refused


def sample(first: Route) -> set[Route]:
    """Return the routes that a quick run moves to from *first*: one of each wire, in rotation."""
    of_wire: dict[str, list[Route]] = {}
    for route in ROUTES:
        of_wire.setdefault(catalog()[route.provider].wire, []).append(route)
    place = ROUTES.index(first)
    return {routes[place % len(routes)] for routes in of_wire.values()}


@pytest.mark.asyncio
@pytest.mark.parametrize("first", WIRES)
async def test_a_conversation_moves_between_wires_at_any_step_and_back(
    first: Route, *, whole: bool
) -> None:
    async with strict_stub() as (stub, client):
        for place, second in enumerate(WIRES, start=WIRES.index(first)):
            for at in range(1, STEPS - 1):
                if whole or (place + at) % 2:
                    await move(stub, client, first, second, at)


@pytest.mark.asyncio
@pytest.mark.parametrize("first", ROUTES)
async def test_a_conversation_moves_to_any_other_route_and_back(
    first: Route, *, whole: bool
) -> None:
    seconds = {*ROUTES} if whole else sample(first)
    async with strict_stub() as (stub, client):
        for place, second in enumerate(ROUTES, start=ROUTES.index(first)):
            if second in seconds:
                await move(stub, client, first, second, 1 + place % (STEPS - 2))


@pytest.mark.asyncio
@pytest.mark.parametrize("second", ON_RESPONSES)
async def test_a_conversation_moves_to_responses_of_another_vendor_and_back(second: Route) -> None:
    async with strict_stub(on_responses=ON_RESPONSES) as (stub, client):
        for at in range(1, STEPS - 1):
            await move(stub, client, WIRES[at % len(WIRES)], second, at)
            await move(stub, client, second, WIRES[at % len(WIRES)], at)


def test_the_sample_moves_to_every_route_from_some_other() -> None:
    assert {second for first in ROUTES for second in sample(first) - {first}} == {*ROUTES}
