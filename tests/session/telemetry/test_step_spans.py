"""The spans of steps and attempts that an agent drives itself."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncGenerator, Iterator

import anyio
import anyio.lowlevel
import pytest
from opentelemetry import context, trace
from opentelemetry.trace import SpanKind, StatusCode

from sidestep import (
    Failure,
    FailureKind,
    FallbackConfig,
    FallbackExhausted,
    ProviderError,
    RetryPolicy,
    Route,
    Sidestep,
)
from sidestep.provider.conversation import Conversation
from sidestep.session.observation import RequestSent

from ...virtual import VirtualClock
from ..another_task import close_in_another_task
from .seen import Seen, attributes_of, events_of

A, B = Route("gemini/m"), Route("anthropic/m")
STEP, FIRST, SECOND = "chat m", f"attempt {A}", f"attempt {B}"

pytestmark = pytest.mark.anyio


class Down(Exception):
    status_code = 503


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def middleware(seen: Seen) -> Sidestep:
    config = FallbackConfig.model_validate(
        {"fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 1}
    )
    made = Sidestep(config, clock=VirtualClock(), policy=RetryPolicy(jitter=0.0))
    seen.watch(made)
    return made


@pytest.fixture(autouse=True)
def _nothing_is_left(seen: Seen) -> Iterator[None]:
    """After each test every span has ended, and nothing of ours is the current span."""
    yield
    gc.collect()
    assert seen.open == 0
    assert not trace.get_current_span().is_recording()


async def take(middleware: Sidestep, *failing: Route) -> None:
    async for attempt in middleware.step(A):
        async with attempt:
            if attempt.route in failing:
                raise Down("down")


async def test_a_step_has_a_span_and_its_attempt_a_child(seen: Seen, middleware: Sidestep) -> None:
    await take(middleware)

    assert seen.tree == [STEP, f"  {FIRST}"]
    step, attempt = seen.spans
    assert (step.kind, attempt.kind) == (SpanKind.CLIENT, SpanKind.INTERNAL)
    assert attributes_of(step) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "m",
    }
    assert attributes_of(attempt) == {}
    assert {span.status.status_code for span in seen.spans} == {StatusCode.UNSET}


async def test_a_retry_and_a_swap_are_children_and_events(seen: Seen, middleware: Sidestep) -> None:
    await take(middleware, A)

    assert seen.tree == [STEP, f"  {FIRST}", f"  {FIRST}", f"  {SECOND}"]
    step, failed, *_ = seen.spans
    assert attributes_of(failed) == {
        "error.type": "overloaded",
        "sidestep.status": 503,
    }
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description == "Down: down"
    assert [name for name, _ in events_of(step)] == [
        "sidestep.waiting",
        "sidestep.degraded",
        "sidestep.swapped",
    ]
    waiting, degraded, swapped = (found for _, found in events_of(step))
    assert waiting["sidestep.seconds"] == 2.0
    assert degraded["sidestep.seconds"] == 60.0
    assert (swapped["sidestep.from_route"], swapped["sidestep.route"]) == (A, B)
    assert swapped["error.type"] == "overloaded"
    assert attributes_of(step) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "m",
        "sidestep.attempts": 3,
        "sidestep.swaps": 1,
        "sidestep.route": B,
    }


async def test_a_step_that_fails_says_why(seen: Seen, middleware: Sidestep) -> None:
    with pytest.raises(FallbackExhausted):
        await take(middleware, A, B)

    step = seen.spans[0]
    assert attributes_of(step)["error.type"] == "overloaded"
    assert step.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        pytest.param("m", "m", id="plain"),
        pytest.param('"}\\{', '"}\\{', id="quotes"),
        pytest.param("模型-é😀", "模型-é😀", id="unicode"),
        pytest.param("half-\ud83d", "half-?", id="half an emoji"),
        pytest.param("m" * 10_000, "m" * 199 + "…", id="10 kB"),
    ],
)
async def test_an_exporter_can_write_any_name_of_a_model(
    model: str, shown: str, seen: Seen, middleware: Sidestep
) -> None:
    with pytest.raises(Refused):
        await middleware.step(f"a/{model}").run(lambda _: fail(Refused()))

    step = seen.only(f"chat {shown}")
    assert attributes_of(step)["gen_ai.request.model"] == shown
    assert seen.spans[1].status.description == "Refused: half an emoji ?"
    assert max(len(text.encode()) for text in texts_of(seen)) <= 1000


class Refused(Exception):
    status_code = 413

    def __init__(self) -> None:
        super().__init__("half an emoji \ud83d")


def texts_of(seen: Seen) -> Iterator[str]:
    """Yield every text that an exporter would write."""
    for span in seen.spans:
        yield span.name
        yield span.status.description or ""
        for found in (span.attributes, *(event.attributes for event in span.events)):
            yield from (value for value in (found or {}).values() if isinstance(value, str))


@pytest.mark.parametrize(
    ("base_url", "found"),
    [
        pytest.param("https://api.b.com/v1", ("api.b.com", 443), id="https"),
        pytest.param("http://127.0.0.1:8503/b", ("127.0.0.1", 8503), id="a port"),
        pytest.param("http://u:secret@[::1]/b", ("::1", 80), id="a password"),
    ],
)
async def test_the_server_of_the_last_request_is_shown(
    base_url: str, found: tuple[str, int], seen: Seen, middleware: Sidestep
) -> None:
    observers = middleware.observers
    assert observers is not None
    step = middleware.step(A)
    async for attempt in step:
        async with attempt:
            url = "https://first" if attempt.route == A else base_url
            conversation = Conversation([])
            observers(RequestSent(step.number, attempt.number, attempt.route, conversation, url))
            if attempt.route == A:
                raise Down("down")

    shown = attributes_of(seen.only(STEP))
    assert (shown["server.address"], shown["server.port"]) == found


async def test_a_bug_of_the_agent_is_shown_without_its_message(
    seen: Seen, middleware: Sidestep
) -> None:
    with pytest.raises(LookupError):
        await middleware.step(A).run(lambda _: fail(LookupError("the whole prompt")))

    step, attempt = seen.spans
    assert attributes_of(step)["error.type"] == attributes_of(attempt)["error.type"] == "unknown"
    assert attempt.status.description == "LookupError"


async def fail(error: BaseException) -> None:
    raise error


async def test_a_step_for_which_no_route_is_found_has_a_span(
    seen: Seen, middleware: Sidestep
) -> None:
    with pytest.raises(Exception, match="no"):
        await middleware.step(A, serves=lambda _: "no key").run(lambda _: fail(Down()))

    assert seen.tree[0] == STEP
    assert "error.type" in attributes_of(seen.spans[0])


async def test_a_cancelled_step_ends_its_spans(seen: Seen, middleware: Sidestep) -> None:
    with anyio.move_on_after(0):
        async for attempt in middleware.step(A):
            async with attempt:
                await anyio.sleep_forever()

    assert seen.tree == [STEP, f"  {FIRST}"]
    assert [attributes_of(span)["error.type"] for span in seen.spans] == ["cancelled"] * 2


async def test_a_step_that_a_loop_leaves_before_its_attempt_ends_its_span(
    seen: Seen, middleware: Sidestep
) -> None:
    async def leave() -> None:
        async for _ in middleware.step(A):
            break

    await leave()
    gc.collect()

    assert seen.tree == [STEP]
    assert attributes_of(seen.spans[0])["error.type"] == "GeneratorExit"


async def test_the_span_of_an_attempt_is_current_in_its_body_alone(
    seen: Seen, middleware: Sidestep
) -> None:
    before = context.get_current()

    async for attempt in middleware.step(A):
        with seen.tracer.start_as_current_span("between"):
            pass
        async with attempt:
            with seen.tracer.start_as_current_span("POST"):
                if attempt.route == A:
                    raise Down

    assert context.get_current() is before
    posts = seen.named("POST")
    assert [seen.parent_of(post) for post in posts] == [FIRST, FIRST, SECOND]
    assert {seen.parent_of(span) for span in seen.named("between")} == {None}


async def test_the_agents_own_span_around_a_step_is_its_parent(
    seen: Seen, middleware: Sidestep
) -> None:
    with seen.tracer.start_as_current_span("the agent"):
        await take(middleware)
        inside = trace.get_current_span()
        with seen.tracer.start_as_current_span("after"):
            pass

    assert seen.tree == ["the agent", f"  {STEP}", f"    {FIRST}", "  after"]
    assert inside.get_span_context() == seen.only("the agent").context


async def test_attempts_side_by_side_have_their_own_children(
    seen: Seen, middleware: Sidestep
) -> None:
    async def work(name: str) -> None:
        with seen.tracer.start_as_current_span(name):
            async for attempt in middleware.step(A):
                async with attempt:
                    await anyio.lowlevel.checkpoint()
                    with seen.tracer.start_as_current_span(f"POST {name}"):
                        await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for name in "xyz":
            tasks.start_soon(work, name)

    for name in "xyz":
        attempt = next(
            span
            for span in seen.named(FIRST)
            if span.context and span.context.span_id == _parent_id(seen.only(f"POST {name}"))
        )
        step = next(
            span
            for span in seen.named(STEP)
            if span.context and span.context.span_id == _parent_id(attempt)
        )
        assert seen.parent_of(step) == name


def _parent_id(span: object) -> int:
    parent: trace.SpanContext = span.parent  # type: ignore[attr-defined]
    return parent.span_id


async def stream(middleware: Sidestep) -> AsyncGenerator[str, None]:
    """Yield in an attempt, as many an agent does."""
    async for attempt in middleware.step(A):
        async with attempt:
            yield "a"
            yield "b"


async def test_a_generator_that_yields_in_an_attempt_leaves_no_span_behind(
    seen: Seen, middleware: Sidestep
) -> None:
    async for _ in stream(middleware):
        pass
    with seen.tracer.start_as_current_span("after"):
        pass

    assert seen.parent_of(seen.only("after")) is None


async def test_a_generator_that_is_left_leaves_no_span_behind(
    seen: Seen, middleware: Sidestep
) -> None:
    chunks = stream(middleware)
    assert await anext(chunks) == "a"
    await chunks.aclose()
    with seen.tracer.start_as_current_span("after"):
        pass

    assert seen.parent_of(seen.only("after")) is None
    assert attributes_of(seen.only(STEP))["error.type"] == "cancelled"


async def test_a_generator_that_another_task_closes_leaves_no_parent_that_has_ended(
    seen: Seen, middleware: Sidestep
) -> None:
    """The context of this task cannot be changed from there, so that it keeps what is over."""
    with seen.tracer.start_as_current_span("the agent"):
        chunks = stream(middleware)
        assert await anext(chunks) == "a"
        await close_in_another_task(chunks)
        assert trace.get_current_span().get_span_context() == _only_parent(seen)
        with seen.tracer.start_as_current_span("after"):
            await take(middleware)
        await take(middleware)

    first, second, third = seen.named(STEP)
    assert seen.parent_of(seen.only("after")) == "the agent"
    assert [seen.parent_of(each) for each in (first, second, third)] == [
        "the agent",
        "after",
        "the agent",
    ]


def _only_parent(seen: Seen) -> trace.SpanContext | None:
    return seen.named(STEP)[0].parent


async def test_contexts_do_not_pile_up_behind_generators_that_are_left(
    seen: Seen, middleware: Sidestep
) -> None:
    for _ in range(5):
        chunks = stream(middleware)
        await anext(chunks)
        await close_in_another_task(chunks)

    present, depth = context.get_current(), 0
    while (scope := trace.get_current_span(present)) is not trace.INVALID_SPAN:
        present, depth = scope.outer, depth + 1  # type: ignore[attr-defined]
    assert depth <= 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_step_without_an_event_loop_has_the_same_spans(
    seen: Seen, middleware: Sidestep
) -> None:
    with seen.tracer.start_as_current_span("the agent"):
        for attempt in middleware.step_sync(A):
            with attempt, seen.tracer.start_as_current_span("POST"):
                if attempt.number == 1:
                    raise Down

    assert seen.tree == [
        "the agent",
        f"  {STEP}",
        *(f"    {FIRST}", "      POST") * 2,
    ]


async def test_a_second_call_replaces_the_first_and_its_end_ends_the_spans(
    seen: Seen, middleware: Sidestep
) -> None:
    end = seen.watch(middleware)
    await take(middleware)
    end()
    await take(middleware)

    assert seen.tree == [STEP, f"  {FIRST}"]
    assert middleware.observers is None


async def test_a_step_that_began_before_is_not_reported(seen: Seen) -> None:
    middleware = Sidestep()
    step = middleware.step(A)
    seen.watch(middleware)

    await step.run(lambda _: anyio.lowlevel.checkpoint())

    assert seen.spans == ()


async def test_another_key_is_an_event_and_no_value_of_a_key_is_shown(seen: Seen) -> None:
    house = {"wire": "openai-chat", "baseUrl": "http://house", "apiKeyEnv": ["K1", "K2"]}
    keys = {"K1": "the-first-key-of-the-house", "K2": "the-other-key-of-the-house"}
    middleware = Sidestep.from_env({"SIDESTEP_PROVIDERS": json.dumps({"house": house}), **keys})
    seen.watch(middleware)

    async for attempt in middleware.step("house/m"):
        async with attempt:
            if attempt.api_key_env == "K1":
                limited = Failure(kind=FailureKind.RATE_LIMIT, message=keys["K1"], status=429)
                raise ProviderError(limited)

    step, first, second = seen.spans
    (changed,) = (found for name, found in events_of(step) if name == "sidestep.key_changed")
    assert (changed["sidestep.api_key_env"], changed["sidestep.next_key_env"]) == ("K1", "K2")
    assert [attributes_of(each)["sidestep.api_key_env"] for each in (first, second)] == ["K1", "K2"]


async def test_a_wait_for_a_route_to_come_back_is_an_event(seen: Seen) -> None:
    config = {"fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 0, "patienceSeconds": 99}
    middleware = Sidestep(FallbackConfig.model_validate(config), clock=VirtualClock())
    seen.watch(middleware)

    async for attempt in middleware.step(A):
        async with attempt:
            if attempt.number <= 2:
                raise Down

    assert "sidestep.patience_started" in [name for name, _ in events_of(seen.spans[0])]
