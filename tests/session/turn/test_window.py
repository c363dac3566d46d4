"""A conversation that outgrows its window is shortened, and goes on; in all four configurations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from sidestep import Client, Compacted, ContextOverflow, Event, Session, Sidestep, Summary
from sidestep.session.turn.compaction import ASK

from ...virtual import VirtualClock
from .worker import answer

pytestmark = pytest.mark.asyncio

WINDOW = 2_000
PROMPT = "word " * 400
"""500 tokens as estimated, so that the fourth turn is past the window."""
TURNS = 6

MAP = {"fallbackModelsByModel": {"anthropic/m": "openrouter/m"}, "maxUpstreamRetryAttempts": 0}
RULES = """
[limits]
max_upstream_retry_attempts = 0
[[rules]]
task_class = "coding"
[[rules.candidates]]
provider = "anthropic"
model = "m"
[[rules.candidates]]
provider = "openrouter"
model = "m"
"""
NUMBERED = {
    "MODEL_BASE_URL": "http://anthropic/v1",
    "MODEL_API_KEY": "k",
    "MODEL_BALANCED": "m",
    "MODEL_FALLBACK_1_BASE_URL": "http://openrouter/v1",
    "MODEL_FALLBACK_1_API_KEY": "k",
    "MODEL_FALLBACK_1_BALANCED": "m",
}
WAYS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "map": ("anthropic/m", {"SIDESTEP_FALLBACK_CONFIG": json.dumps(MAP)}),
    "rules": ("coding", {"SIDESTEP_ROUTING_RULES": RULES}),
    "hint": ("anthropic/m", {"SIDESTEP_HINT": "anthropic:m,openrouter:m"}),
    "numbered": ("balanced", NUMBERED),
    "none": ("anthropic/m", {}),
}
CHAINS = [way for way in WAYS if way != "none"]


@dataclass
class Providers:
    """Two providers of one window, which count and refuse as the real ones do.

    Args:
        density: Tokens for each token of our estimate.
        counts: The first provider counts tokens when it is asked to.
        is_down: The first provider answers nothing.
        first: The window of the first provider.
        calls: How many steps of each turn call a tool.
        summary: What a model writes that is asked for a summary; None: a filter ends it.
    """

    density: float = 1.0
    counts: bool = False
    is_down: bool = False
    first: int = WINDOW
    calls: int = 0
    summary: str | None = "It is about words."
    steps: int = 0
    events: list[Event] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        tokens = round(self._size(body) / 4 * self.density)
        if request.url.path.endswith("/count_tokens"):
            return httpx.Response(200 if self.counts else 404, json={"input_tokens": tokens})
        if self.is_down and request.url.host == "anthropic":
            return httpx.Response(503)
        is_chat = request.url.path.endswith("/completions")
        if tokens > (self.first if request.url.host == "anthropic" else WINDOW):
            return _refusal(tokens, is_chat=is_chat)
        asked = json.dumps(body["messages"][-1])
        if ASK[:20] in asked:
            return _answer(self.summary, is_chat=is_chat)
        calls = [("look", {"n": self.steps})] if self.steps < self.calls else []
        self.steps += 1
        return _answer("Done.", calls, is_chat=is_chat)

    def _size(self, body: Mapping[str, Any]) -> int:
        return len(json.dumps([body.get("system"), body["messages"], body.get("tools")]))


def _refusal(tokens: int, *, is_chat: bool) -> httpx.Response:
    if is_chat:
        words = f"This model's maximum context length is {WINDOW} tokens, you requested {tokens}."
        error = {"message": words, "code": "context_length_exceeded"}
        return httpx.Response(400, json={"error": error})
    words = f"prompt is too long: {tokens} tokens > {WINDOW} maximum"
    error = {"type": "invalid_request_error", "message": words}
    return httpx.Response(400, json={"type": "error", "error": error})


def _answer(text: str | None, calls: Any = (), *, is_chat: bool) -> httpx.Response:
    if text is None:
        ended = _answer("I", is_chat=is_chat)
        words = ('"stop"', '"content_filter"') if is_chat else ('"end_turn"', '"refusal"')
        return httpx.Response(200, headers=ended.headers, text=ended.text.replace(*words))
    if not is_chat:
        return answer(text, calls)
    delta: dict[str, Any] = {"content": text}
    if calls:
        functions = [{"name": name, "arguments": json.dumps(given)} for name, given in calls]
        delta["tool_calls"] = [
            {"index": index, "id": f"call_{index}", "function": each}
            for index, each in enumerate(functions)
        ]
    stop = "tool_calls" if calls else "stop"
    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}
    content = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n"
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=content)


def session_before(
    providers: Providers, way: str, *, declared: int | None, **options: Any
) -> Session:
    asked, environ = WAYS[way]
    window = {} if declared is None else {"contextWindow": declared}
    first = {"contextWindow": providers.first} if providers.first != WINDOW else window
    known: dict[str, Any] = {
        "anthropic": {"baseUrl": "http://anthropic", **first},
        "openrouter": {"baseUrl": "http://openrouter/v1", **window},
    }
    keys = {"ANTHROPIC_API_KEY": "k", "OPENROUTER_API_KEY": "k"}
    environ = {"SIDESTEP_PROVIDERS": json.dumps(known), **keys, **environ}
    middleware = Sidestep.from_env(environ, clock=VirtualClock())
    http = httpx.AsyncClient(transport=httpx.MockTransport(providers.answer))
    client = Client(http=http, providers=middleware.providers, environ=environ)
    return Session(
        asked,
        middleware=middleware,
        client=client,
        compact=Summary(),
        max_output_tokens=100,
        on_event=providers.events.append,
        **options,
    )


def compactions(providers: Providers) -> int:
    return sum(isinstance(event, Compacted) for event in providers.events)


DECLARED = pytest.mark.parametrize(
    ("declared", "counts"),
    [
        pytest.param(WINDOW, False, id="declared"),
        pytest.param(WINDOW, True, id="counted"),
        pytest.param(None, False, id="unknown"),
        pytest.param(10 * WINDOW, False, id="declared too large"),
    ],
)
DENSITY = pytest.mark.parametrize("density", [1.0, 1.8])


@DECLARED
@DENSITY
@pytest.mark.parametrize(
    ("way", "is_down"),
    [
        *(pytest.param(way, False, id=way) for way in WAYS),
        *(pytest.param(way, True, id=f"{way}, the first one is down") for way in CHAINS),
    ],
)
async def test_turns_past_the_window_are_answered(
    way: str, declared: int | None, density: float, *, counts: bool, is_down: bool
) -> None:
    providers = Providers(density=density, counts=counts, is_down=is_down)
    session = session_before(providers, way, declared=declared)

    for _ in range(TURNS):
        assert (await session.turn(PROMPT)).text == "Done."

    assert compactions(providers) >= 1


@pytest.mark.parametrize("share", [0.3, 0.9, 1.1, 20.0], ids="{} of the window".format)
@DENSITY
@DECLARED
@pytest.mark.parametrize("way", WAYS)
async def test_turns_are_answered_however_long_a_summary_is(
    way: str, declared: int | None, density: float, share: float, *, counts: bool
) -> None:
    summary = "[start]" + "word" * round(share * WINDOW) + "[end]"
    providers = Providers(density=density, counts=counts, summary=summary)
    session = session_before(providers, way, declared=declared)

    for _ in range(TURNS):
        assert (await session.turn(PROMPT)).text == "Done."

    sent = str(session.conversation.messages)
    assert "[start]" in sent
    assert "[end]" in sent


@DECLARED
@pytest.mark.parametrize("way", WAYS)
async def test_turns_are_answered_although_no_model_writes_a_summary(
    way: str, declared: int | None, *, counts: bool
) -> None:
    providers = Providers(counts=counts, summary=None)
    session = session_before(providers, way, declared=declared)

    for number in range(TURNS):
        assert (await session.turn(f"turn {number} {PROMPT}")).text == "Done."

    assert "turn 0" in str(session.conversation.messages)
    assert compactions(providers) >= 1


@pytest.mark.parametrize("prompts", [1, 2], ids="{} in a row".format)
@pytest.mark.parametrize("before", [0, 2], ids="after {} turns".format)
@DECLARED
@pytest.mark.parametrize("way", WAYS)
async def test_a_prompt_longer_than_the_window_does_not_end_later_turns(
    way: str, declared: int | None, before: int, prompts: int, *, counts: bool
) -> None:
    providers = Providers(counts=counts)
    session = session_before(providers, way, declared=declared)
    for _ in range(before):
        await session.turn("word")

    for _ in range(prompts):
        with pytest.raises(ContextOverflow):
            await session.turn(PROMPT * 6)

    for _ in range(2):
        assert (await session.turn("What else?")).text == "Done."
    assert "What else?" in str(session.conversation.messages)


@DECLARED
@DENSITY
@pytest.mark.parametrize("share", [0.25, 0.6, 2.0], ids="each result {} of the window".format)
@pytest.mark.parametrize("way", WAYS)
async def test_a_turn_of_many_steps_goes_past_the_window(
    way: str, share: float, declared: int | None, density: float, *, counts: bool
) -> None:
    ran: list[int] = []

    def look(n: int) -> str:
        """Look at something."""
        ran.append(n)
        return "word" * round(share * WINDOW)

    providers = Providers(density=density, counts=counts, calls=8)
    session = session_before(providers, way, declared=declared, tools=[look])

    assert (await session.turn("Look around.")).text == "Done."
    assert ran == list(range(8))
    assert compactions(providers) >= 1


@DECLARED
@DENSITY
@pytest.mark.parametrize("share", [0.25, 0.6, 2.0], ids="each result {} of the window".format)
@pytest.mark.parametrize("way", ["map", "rules", "hint"])
async def test_a_long_conversation_goes_on_where_the_window_is_much_smaller(
    way: str, share: float, declared: int | None, density: float, *, counts: bool
) -> None:
    """The steps that a summary keeps by default do not fit there.

    By numbered variables a conversation with calls does not move at all.
    """

    def look(n: int) -> str:
        """Look at something."""
        return "word" * round(share * WINDOW)

    providers = Providers(density=density, counts=counts, calls=8, first=100 * WINDOW)
    session = session_before(providers, way, declared=declared, tools=[look])

    await session.turn("Look around.")
    assert compactions(providers) == 0
    providers.is_down = True

    for _ in range(TURNS):
        assert (await session.turn(PROMPT)).text == "Done."


@pytest.mark.parametrize("way", WAYS)
async def test_a_prompt_that_fits_nowhere_is_told_as_such(way: str) -> None:
    providers = Providers()
    session = session_before(providers, way, declared=WINDOW)
    await session.turn("Begin.")

    with pytest.raises(ContextOverflow):
        await session.turn(PROMPT * 10)
