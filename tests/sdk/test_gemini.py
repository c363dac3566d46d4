"""What raises on the wire of Gemini, which the stub does not speak: a server of our own does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from _pytest.mark.structures import ParameterSet

from sidestep import FailureKind, Route, Sidestep
from sidestep.provider.classify.classify import classify_error_object, classify_response
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.failure import Failure, Stage
from sidestep.provider.json_value import read_json
from sidestep.provider.stub.capture import load_capture
from sidestep.session.plan.config import FallbackConfig

from .call import Call, gemini_aiohttp, gemini_httpx2, litellm, pydantic_ai_gemini, raised_by, told
from .server import Answer, serving, streamed, whole

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what an SDK warns of is its own; raised, it would fail
]

LIMIT = 60
SILENCE = 0.3
PATIENCE = 30.0
ROUTE = Route("gemini/m")
K = FailureKind

HALF = load_capture("gemini_stream_raw_json_error").pieces[0]
OVERLOADED = load_capture("gemini_stream_raw_json_error").pieces[1]


@dataclass(frozen=True)
class Row:
    """An answer, and the failure that it means; None of an answer: nothing listens."""

    answer: Answer | None
    failure: Failure
    seconds: float = PATIENCE


def captured(name: str) -> Row:
    capture = load_capture(name)
    status, headers, body = capture.status, dict(capture.headers), b"".join(capture.pieces)
    failure = classify_response(status, headers, body, provider="gemini", wire="gemini")
    return Row(whole(status, body, headers), failure)


def limited() -> Row:
    body, headers = b'{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}', {"retry-after": "7"}
    failure = classify_response(429, headers, body, provider="gemini", wire="gemini")
    return Row(whole(429, body, {"content-type": "application/json", **headers}), failure)


def page() -> Row:
    body, headers = b"<html>Bad</html>", {"content-type": "text/html"}
    failure = classify_response(502, headers, body, provider="gemini", wire="gemini")
    return Row(whole(502, body, headers), failure)


def broken_in_stream(*pieces: bytes) -> Row:
    failure = classify_error_object(read_json(OVERLOADED), provider="gemini", wire="gemini")
    return Row(streamed(*pieces), failure)


def named(kind: FailureKind, stage: Stage, code: str | None = None) -> Failure:
    return Failure(kind=kind, message="", code=code, stage=stage)


ROWS: Mapping[str, Row] = {
    "400 for a key": captured("gemini_400_api_key"),
    "402": captured("gemini_402_prepay"),
    "429 for capacity": captured("gemini_429_model_capacity"),
    "429 with a wait in its text": captured("gemini_429_text_ms"),
    "429 with a header": limited(),
    "page": page(),
    "error first": broken_in_stream(OVERLOADED),
    "error first, as an event": broken_in_stream(
        b"data: " + b"".join(OVERLOADED.split()) + b"\n\n"
    ),
    "error later": broken_in_stream(HALF, OVERLOADED),
    "unreadable": Row(streamed(b"data: {x\r\n\r\n"), named(K.SERVER_ERROR, Stage.STREAM)),
    "abort": Row(streamed(HALF, is_whole=False), named(K.TRUNCATED, Stage.END, "reset")),
    "no answer": Row(Answer(b""), named(K.NETWORK, Stage.RESPONSE, "reset")),
    "no HTTP": Row(Answer(b"nonsense\r\n\r\n"), named(K.NETWORK, Stage.RESPONSE, "reset")),
    "refused": Row(None, named(K.NETWORK, Stage.CONNECT, "refused")),
    "silent": Row(Answer(b"", is_open=True), named(K.TIMEOUT, Stage.RESPONSE), SILENCE),
    "silent later": Row(
        streamed(HALF, is_whole=False, is_open=True), named(K.TIMEOUT, Stage.STREAM), SILENCE
    ),
}


@dataclass(frozen=True)
class Sdk:
    """One way to ask Gemini.

    Args:
        silent: The outages in which it ends as if the answer were whole.
        lost: What is gone by the time it raises.
    """

    name: str
    call: Call
    silent: tuple[str, ...] = ()
    lost: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


IN_STREAM = ("error first", "error first, as an event", "error later")
SDKS = (
    Sdk("google-genai", gemini_aiohttp),
    Sdk("google-genai-httpx2", gemini_httpx2),
    Sdk("pydantic-ai", pydantic_ai_gemini),
    Sdk(
        "litellm",
        litellm("gemini"),
        ("unreadable",),
        {
            # Of an error in a stream it keeps the status, and drops the rest.
            **{name: {"code": None} for name in IN_STREAM},
            # Its transport has no name for what is no HTTP.
            "no HTTP": {},
        },
    ),
)


def row(sdk: Sdk, *rest: str) -> ParameterSet:
    return pytest.param(sdk, *rest, id="-".join((sdk.name, *rest)))


@pytest.mark.parametrize(
    ("sdk", "name"), [row(sdk, name) for sdk in SDKS for name in ROWS if name not in sdk.silent]
)
async def test_an_exception_says_what_the_answer_says(sdk: Sdk, name: str) -> None:
    expected = ROWS[name]
    with anyio.fail_after(LIMIT):
        async with serving(expected.answer) as base:
            error = await raised_by(sdk.call, base, expected.seconds)

    assert error is not None
    failure = classify_exception(error, route=ROUTE)
    assert told(failure) == {**told(expected.failure), **sdk.lost.get(name, {})}


@pytest.mark.parametrize("sdk", [row(sdk) for sdk in SDKS])
async def test_a_stream_that_was_cut_is_taken_for_a_whole_one(sdk: Sdk) -> None:
    """Nothing is raised, so nothing can be named: the agent must look at the finish reason."""
    with anyio.fail_after(LIMIT):
        async with serving(streamed(HALF)) as base:
            assert await raised_by(sdk.call, base, PATIENCE) is None


@pytest.mark.parametrize("sdk", [row(sdk) for sdk in SDKS])
async def test_a_step_moves_a_call_that_fails_to_a_sibling(sdk: Sdk) -> None:
    sibling = Route("gemini/n")
    middleware = Sidestep(
        FallbackConfig(fallback_models_by_model={ROUTE: (sibling,)}, max_upstream_retry_attempts=0)
    )
    step = middleware.step(ROUTE)
    with anyio.fail_after(LIMIT):
        async with serving(ROWS["page"].answer) as bad, serving(streamed(HALF)) as good:
            async for attempt in step:
                async with attempt:
                    base = bad if attempt.route == ROUTE else good
                    await sdk.call(base, attempt.route.model, PATIENCE)

    assert step.route == sibling
    assert [attempt.failure and attempt.failure.status for attempt in step.attempts] == [502, None]
