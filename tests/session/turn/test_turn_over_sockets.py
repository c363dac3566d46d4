"""A turn of our own session over real sockets: what is kept, what is sent, what a listener sees."""

from __future__ import annotations

import gc
import json
import math
import re
import sys
from itertools import permutations
from typing import Any

import anyio
import httpx
import pytest

import sidestep
from sidestep import (
    Client,
    ConfigError,
    FallbackConfig,
    FallbackExhausted,
    ProviderError,
    Route,
    Session,
    Sidestep,
    StreamInterrupted,
    TurnEnded,
)
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Reasoning, Text
from sidestep.session.drill.judge import shown
from sidestep.session.step.step import Step
from sidestep.session.turn.turn import Turn

from ...virtual import VirtualClock, run_virtually
from .outage import A, B, Outage

pytestmark = pytest.mark.asyncio

HALF = {"reasoning": "Half a thought.", "signature": "EqQBhalf", "text": "Half an answer, and more"}


async def test_an_answer_is_kept_with_the_route_that_gave_it() -> None:
    async with Outage({A: {"status": 503}, B: {"text": "hello"}}) as outage:
        ended = await outage.session.turn("hi")

    assert ended == sidestep.TurnEnded("hello", B, A)
    user, answer = outage.session.conversation.messages
    assert (user.role, user.parts) == ("user", [Text("hi")])
    assert (answer.route, answer.requested, answer.parts) == (B, A, [Text("hello")])


def alive(kind: type) -> list[object]:
    return [each for each in gc.get_objects() if type(each) is kind]


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="elsewhere all is collected")
@pytest.mark.parametrize("kind", [Step, Turn])
async def test_what_a_turn_needed_is_freed_without_the_garbage_collector(kind: type) -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        await outage.session.turn("hi")
        gc.collect()
        gc.disable()
        earlier = alive(kind)  # of other tests, for which somebody keeps them
        try:
            for _ in range(5):
                await outage.session.turn("hi")
            left = [each for each in alive(kind) if all(each is not one for one in earlier)]
        finally:
            gc.enable()

    assert len(left) <= 1


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"error": 503}, id="an error object"),
        pytest.param({"cut": True}, id="a clean close"),
        pytest.param({"abort": True}, id="a close in the middle"),
        pytest.param({"reset": True}, id="a reset"),
    ],
)
@pytest.mark.parametrize("route", [A, B])
async def test_nothing_of_a_failed_attempt_is_kept_sent_or_left_on_the_screen(
    route: Route, fault: dict[str, Any]
) -> None:
    """OpenClaw #84430: a half block was saved, and every later request was refused."""
    sibling = B if route == A else A
    answers = {route: HALF | {"after": 3} | fault, sibling: [{"text": "whole"}, {"text": "more"}]}
    async with Outage(answers) as outage:
        outage.session.route = route
        await outage.session.turn("hi")
        assert shown(outage.events) == "whole"
        await outage.session.turn("and then?")

    assert outage.asked == [route, sibling, sibling]
    sent = json.dumps([received.body for received in outage.stub.requests])
    assert "Half" not in sent
    assert "EqQBhalf" not in sent
    kept = [part for message in outage.session.conversation.messages for part in message.parts]
    assert kept == [Text("hi"), Text("whole"), Text("and then?"), Text("more")]


async def test_parts_are_retracted_before_the_next_attempts_first_event() -> None:
    async with Outage({A: HALF | {"after": 3, "error": 503}, B: {"text": "whole"}}) as outage:
        await outage.session.turn("hi")

    names = [type(event).__name__ for event in outage.events]
    retracted = names.index("PartsRetracted")
    assert "ReasoningDelta" in names[:retracted]
    assert names[retracted:] == [
        "PartsRetracted", "RouteDegraded", "Swapped", "AttemptStarted", "TextDelta", "AttemptCost",
        "StepEnded", "TurnEnded",
    ]  # fmt: skip


async def test_a_signature_is_kept_only_with_its_finished_block() -> None:
    whole = {"reasoning": "A whole thought.", "signature": "EqQBwhole", "text": "whole"}
    async with Outage({B: whole}) as outage:
        outage.session.route = B
        await outage.session.turn("hi")

    assert outage.session.conversation.messages[-1].parts == [
        Reasoning("A whole thought.", signature="EqQBwhole"),
        Text("whole"),
    ]


async def test_a_host_that_cannot_take_text_back_gets_what_was_shown_without_a_signature() -> None:
    answers = {B: HALF | {"after": 1, "error": 503}, A: {"text": "whole"}}
    async with Outage(answers, onPartial="interrupt") as outage:
        outage.session.route = B
        with pytest.raises(StreamInterrupted) as caught:
            await outage.session.turn("hi")

    assert outage.asked == [B]
    assert caught.value.emitted == [Reasoning("Half a thought.", complete=False)]
    assert not [event for event in outage.events if isinstance(event, sidestep.PartsRetracted)]
    assert outage.middleware.degraded.is_degraded(B)


async def test_a_failed_step_keeps_the_requested_route_and_the_users_message_once() -> None:
    answers = {A: [{"status": 503}] * 2 + [{"text": "back"}], B: {"status": 503}}
    async with Outage(answers) as outage:
        with pytest.raises(sidestep.FallbackExhausted):
            await outage.session.turn("hi")
        failed = outage.session.conversation.messages[-1]
        outage.clock.now += 60
        await outage.session.turn("again")

    assert (failed.route, failed.requested, failed.parts) == (A, A, [])
    assert json.dumps(outage.stub.requests[-1].body).count('"hi"') == 1
    ended = [event for event in outage.events if isinstance(event, sidestep.TurnEnded)]
    assert ended[0].error is not None
    assert ended[0].error["class"] == "FallbackExhausted"
    assert (ended[1].text, ended[1].error) == ("back", None)


async def test_a_route_of_an_unknown_provider_is_never_taken_as_a_sibling() -> None:
    config = {A: ["nowhere/x", str(B)]}
    answers = {A: {"status": 503}, B: {"text": "hello"}}
    async with Outage(answers, fallbackModelsByModel=config) as outage:
        ended = await outage.session.turn("hi")

    assert ended.route == B
    assert (
        sidestep.CandidateSkipped(1, Route("nowhere/x"), "no provider 'nowhere' is known")
        in outage.events
    )
    assert list(outage.middleware.degraded.snapshot()) == [A]


@pytest.mark.parametrize(
    ("route", "error", "says"),
    [
        pytest.param(
            Route("nowhere/x"),
            ConfigError,
            "no provider that sidestep knows",
            id="unknown provider",
        ),
        pytest.param(Route("keyless/x"), ProviderError, "NO_SUCH_KEY is not set", id="no key"),
    ],
)
async def test_a_route_that_cannot_be_asked_is_a_mistake_and_no_reason_to_move(
    route: Route, error: type[Exception], says: str
) -> None:
    """Claude-code-router #1535: every request to a model without a route lived on its siblings."""
    async with Outage({B: {"text": "hello"}}, fallbackModelsByModel={route: B}) as outage:
        keyless = Provider("keyless", "anthropic", outage.stub.url, "NO_SUCH_KEY")
        client = Client(http=outage.http, providers={B.provider: keyless, "keyless": keyless})
        session = Session(route, middleware=outage.middleware, client=client)
        with pytest.raises(error, match=says):
            await session.turn("hi")

    assert outage.asked == []
    assert outage.middleware.degraded.snapshot() == {}


@pytest.mark.parametrize("is_aside", [False, True], ids=["turn", "side call"])
async def test_a_prompt_that_a_sibling_cannot_hold_goes_past_it(*, is_aside: bool) -> None:
    third = Route("zai/glm-5")
    answers = {A: {"status": 429}, B: {"text": "no"}, third: {"text": "hello"}}
    siblings = {A: [B, third]}
    windows = {B.provider: {"contextWindow": 100}}
    async with Outage(answers, fallbackModelsByModel=siblings, providers=windows) as outage:
        if is_aside:
            said = await outage.session.side_call("a" * 5_000)
        else:
            said = (await outage.session.turn("a" * 5_000)).text

    assert (said, outage.asked) == ("hello", [A, third])


async def test_a_sibling_that_hangs_is_left_at_its_own_deadline() -> None:
    """Atomic PR 1581: the second fallback opened a stream, sent nothing, and held a batch up."""
    third = Route("zai/glm-5")
    answers = {A: {"status": 503}, B: {"text": "", "stall": True}, third: {"text": "hello"}}
    timeouts = {B.provider: {"firstEvent": 0.1}}
    outage = Outage(answers, fallbackModelsByModel={A: B, B: third}, timeouts=timeouts)

    async def turn() -> TurnEnded:
        async with outage:
            with anyio.fail_after(60):
                ended = await outage.session.turn("hi")
                await outage.stub.requests[1].left.wait()
                return ended

    ended = await anyio.to_thread.run_sync(run_virtually, turn)

    assert (ended.route, outage.asked) == (third, [A, B, third])
    assert set(outage.middleware.degraded.snapshot()) == {A, B}


def look(path: str) -> str:
    """Look at a file."""
    return path


WIRES = [B, Route("openai/gpt-5.1"), Route("gemini/gemini-3-pro"), A]
ALIKE: dict[str, Any] = {
    "system": "Be brief.", "tools": [look], "max_output_tokens": 4_000, "reasoning": "low",
}  # fmt: skip


async def sent_to(outage: Outage, route: Route) -> list[tuple[str, Any]]:
    """Let *outage* see a turn and a side call; return what came for *route*, less its cache."""
    await outage.session.turn("hi")
    outage.middleware.degraded.clear()
    await outage.session.side_call("A title?")
    came = [received for received in outage.stub.requests if received.route == route]
    for received in came:
        assert isinstance(received.body, dict)
        received.body.pop("prompt_cache_key", None)
    return [(received.path, received.body) for received in came]


@pytest.mark.parametrize(("route", "sibling"), [*permutations(WIRES, 2)], ids=str)
async def test_a_sibling_is_sent_what_it_would_have_been_sent_first(
    route: Route, sibling: Route
) -> None:
    """LiteLLM #16061: a request was translated from the one made for the first provider."""
    answers = {route: {"status": 503}, sibling: {"text": "hello"}}
    siblings = {route: sibling}
    async with Outage(
        answers, route=route, session=ALIKE, fallbackModelsByModel=siblings
    ) as outage:
        moved = await sent_to(outage, sibling)
    async with Outage(answers, route=sibling, session=ALIKE) as outage:
        first = await sent_to(outage, sibling)

    assert moved == first
    said, aside = (json.dumps(body).lower() for _, body in moved)
    assert ('"none"' in said, '"none"' in aside) == (False, True)  # it may call no tool


async def test_a_step_moves_with_the_address_the_key_and_the_wire_of_its_sibling() -> None:
    """Portkey #855: a nested target was asked at the address of the one around it."""
    asked: list[tuple[str, str | None, str | None, str]] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        key, bearer = (request.headers.get(name) for name in ("x-api-key", "authorization"))
        asked.append((str(request.url), key, bearer, json.loads(request.content)["model"]))
        return httpx.Response(503)

    one = Provider("one", "openai-chat", "https://one.test/v1", "ONE_KEY")
    two = Provider("two", "anthropic", "https://two.test/api", "TWO_KEY")
    three = Provider("three", "openai-responses", "https://three.test/v1", None)
    config = FallbackConfig(
        fallback_models_by_model={Route("one/m"): (Route("two/n"), Route("three/a/b"))},
        max_upstream_retry_attempts=0,
    )
    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as http:
        client = Client(
            http=http,
            providers={each.name: each for each in (one, two, three)},
            environ={"ONE_KEY": "1", "TWO_KEY": "2"},
        )
        middleware = Sidestep(config, clock=VirtualClock())
        with pytest.raises(FallbackExhausted):
            await Session("one/m", middleware=middleware, client=client).turn("hi")

    assert asked == [
        ("https://one.test/v1/chat/completions", None, "Bearer 1", "m"),
        ("https://two.test/api/v1/messages", "2", None, "n"),
        ("https://three.test/v1/responses", None, None, "a/b"),
    ]


async def test_a_cancelled_turn_closes_its_connection_and_leaves_the_session_usable() -> None:
    answers = {A: [HALF | {"after": 1, "stall": True}, {"text": "whole"}]}
    async with Outage(answers) as outage:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outage.session.turn, "hi")
                received = await outage.stub.wait_for(1)
                tasks.cancel_scope.cancel()
            await received.left.wait()
        assert outage.middleware.degraded.snapshot() == {}

        ended = await outage.session.turn("hi")

    assert ended.text == "whole"


async def test_one_session_refuses_a_second_turn_at_once() -> None:
    stalled = Outage({A: {"text": "hello", "stall": True}})
    async with stalled as outage, anyio.create_task_group() as tasks:
        tasks.start_soon(outage.session.turn, "hi")
        await outage.stub.wait_for(1)
        with pytest.raises(RuntimeError, match="a turn of this session is running"):
            await outage.session.turn("hi")
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "deadline",
    [
        pytest.param(0, id="none"),
        pytest.param(-1.0, id="negative"),
        pytest.param(math.nan, id="not a number"),
        pytest.param(10**400, id="beyond any float"),
        pytest.param("5", id="text"),
    ],
)
async def test_a_turn_whose_deadline_is_no_number_above_0_does_not_begin(deadline: Any) -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        with pytest.raises(ValueError, match="`deadline` must be a number of seconds above 0"):
            await outage.session.turn("hi", deadline=deadline)
        with pytest.raises(ValueError, match="`deadline` must be a number of seconds above 0"):
            outage.session.stream("hi", deadline=deadline)

    assert (outage.asked, outage.events) == ([], [])
    assert outage.session.conversation.messages == []


COUNT = "a whole number above 0"
EFFORT = "one of none, minimal, low, medium, high, xhigh, max, or None"
WRONG_SETTINGS = [
    pytest.param({"max_output_tokens": -1}, f"{COUNT}, or None, got -1", id="negative"),
    pytest.param({"max_output_tokens": 0}, f"{COUNT}, or None, got 0", id="no token"),
    pytest.param({"max_output_tokens": math.nan}, f"{COUNT}, or None, got nan", id="no number"),
    pytest.param({"max_output_tokens": "9"}, f"{COUNT}, or None, got '9'", id="text"),
    pytest.param({"reasoning": "enormous"}, f"{EFFORT}, got 'enormous'", id="no effort"),
    pytest.param({"reasoning": 5}, f"{EFFORT}, got 5", id="no word"),
    pytest.param({"max_steps": 0}, f"{COUNT}, got 0", id="no step"),
    pytest.param({"max_steps": 1.5}, f"{COUNT}, got 1.5", id="half a step"),
    pytest.param({"max_steps": None}, f"{COUNT}, got None", id="no limit of steps"),
]


@pytest.mark.parametrize(("options", "says"), WRONG_SETTINGS)
async def test_a_setting_that_cannot_be_is_refused_when_the_session_is_made(
    options: dict[str, Any], says: str
) -> None:
    (name,) = options
    async with Outage({A: {"text": "hello"}}) as outage:
        with pytest.raises(ValueError, match=f"^`{name}` must be {re.escape(says)}$"):
            outage.open(**options)


async def test_a_side_call_refuses_a_longest_answer_that_cannot_be() -> None:
    async with Outage({A: {"text": "hello"}}) as outage:
        with pytest.raises(ValueError, match="`max_output_tokens` must be a whole number above 0"):
            await outage.session.side_call("A title?", max_output_tokens=0)

    assert outage.asked == []


async def test_two_sessions_share_what_one_of_them_learnt() -> None:
    answers = {A: {"status": 503}, B: {"text": "hello"}}
    async with Outage(answers) as outage:
        other = Session(A, middleware=outage.middleware, client=outage.client)
        await outage.session.turn("hi")
        await other.turn("hi")

    assert outage.asked == [A, B, B]


async def test_of_fifty_steps_at_the_end_of_a_cooldown_one_request_reaches_the_stub() -> None:
    answers = {A: {"status": 503}, B: {"text": "hello"}}
    async with Outage(answers) as outage:
        outage.middleware.degraded.degrade(A, cooldown=60)
        outage.clock.now += 60
        sessions = [
            Session(A, middleware=outage.middleware, client=outage.client) for _ in range(50)
        ]
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for session in sessions:
                    tasks.start_soon(session.turn, "hi")

    assert outage.asked.count(A) == 1
    assert outage.asked.count(B) == 50


async def test_without_a_configuration_the_providers_error_comes_through() -> None:
    async with Outage({A: {"status": 402}}) as outage:
        outage.environ.pop("SIDESTEP_FALLBACK_CONFIG")
        with pytest.raises(ProviderError) as caught:
            await outage.session.turn("hi")

    assert caught.value.failure.kind == "quota"
    assert caught.value.failure.route == A
    assert outage.asked == [A]
