"""Every SDK over a watched client: each outage moves to the sibling, with no line of judgement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import pytest
from _pytest.mark.structures import ParameterSet

import sidestep
from sidestep import Route, Sidestep
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.plan.config import FallbackConfig

from .call import HELLO, package
from .test_sdk import LIMIT, providers
from .watched_call import STREAMED, WHOLE, Watched

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what an SDK warns of is its own; raised, it would fail
]

PATIENCE = 30.0
SILENCE = 0.4
TEXT = "The sibling answers."
HALF = {"text": "Half an answer", "chunk": 4, "after": 2}
EVENTS = {"content-type": "text/event-stream"}
HTML = {"content-type": "text/html"}
JSON = {"content-type": "application/json"}
PAGE = "<!doctype html><html><body>Sign in to the network</body></html>"
ERROR: Mapping[str, Any] = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "down"}}

OUTAGES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "503": ({"status": 503}, ""),  # each vendor has its own word for it
    "429": ({"status": 429, "headers": {"retry-after": "90"}}, "rate_limit"),
    "empty": ({"status": 200, "headers": EVENTS, "body": ""}, "truncated"),
    "page": ({"status": 200, "headers": HTML, "body": PAGE}, "server_error"),
    "reset": ({**HALF, "reset": True}, "truncated"),
    "stall": ({**HALF, "stall": True}, "timeout"),
    "late": ({"text": "Late", "delay": PATIENCE}, "timeout"),
}
IN_STREAM: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "error first": ({"error": 500, "after": 0}, "server_error"),
    "error later": ({**HALF, "error": 500}, "server_error"),
    "cut": ({**HALF, "cut": True}, "truncated"),
    "nothing": ({"text": ""}, "empty_response"),
}
IN_BODY: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "error": ({"status": 200, "headers": JSON, "body": ERROR}, "overloaded"),
    "cut": ({**HALF, "abort": True}, "truncated"),
    "blank": ({"status": 200, "headers": JSON, "body": ""}, "truncated"),
    "nothing": ({"text": ""}, "empty_response"),
}


def rows(
    sdks: tuple[Watched, ...], outages: Mapping[str, tuple[Mapping[str, Any], str]]
) -> list[ParameterSet]:
    return [
        pytest.param(sdk, *outages[name], id=f"{sdk.name}-{name}")
        for sdk in sdks
        for name in outages
    ]


@pytest.mark.parametrize(
    ("sdk", "outage", "kind"),
    [*rows(STREAMED, {**OUTAGES, **IN_STREAM}), *rows(WHOLE, {**OUTAGES, **IN_BODY})],
)
async def test_an_outage_moves_to_the_sibling(
    sdk: Watched, outage: Mapping[str, Any], kind: str
) -> None:
    route, sibling = Route(f"{sdk.provider}/m"), Route(f"{sdk.provider}/n")
    is_silent = "stall" in outage or "delay" in outage
    seconds = SILENCE if is_silent else PATIENCE
    middleware = Sidestep(
        FallbackConfig(fallback_models_by_model={route: (sibling,)}, max_upstream_retry_attempts=0)
    )
    text = ""
    with anyio.fail_after(LIMIT):
        async with Stub(
            Scenario.parse({"answers": {route: outage, sibling: {"text": TEXT}}})
        ) as stub:
            known = providers(stub, seconds)
            http = sidestep.watched(sdk.client(), providers=known)
            try:
                step = middleware.step(route)
                async for attempt in step:
                    async with attempt:
                        text = await sdk.call(
                            known[sdk.provider].base_url, attempt.route.model, http
                        )
            finally:
                await close(http)
            asked = [received.route for received in stub.requests]

    failure = step.attempts[0].failure
    assert (text, asked) == (TEXT, [route, sibling])
    assert failure is not None
    assert failure.kind == kind or (not kind and failure.status == 503)
    if kind == "rate_limit":
        assert failure.retry_after == 90.0


@pytest.mark.parametrize("name", ["503", "reset", "stall", "empty"])
async def test_a_step_without_a_loop_moves_to_the_sibling(name: str) -> None:
    route, sibling = Route("openai-chat/m"), Route("openai-chat/n")
    middleware = Sidestep(
        FallbackConfig(fallback_models_by_model={route: (sibling,)}, max_upstream_retry_attempts=0)
    )
    answers = {route: OUTAGES[name][0], sibling: {"text": TEXT}}

    def work(known: Mapping[str, Any]) -> str:
        http = sidestep.watched(package("httpx2").Client(trust_env=False), providers=known)
        with package("openai").OpenAI(
            api_key="k",
            base_url=known["openai-chat"].base_url,
            max_retries=0,
            http_client=http,
        ) as client:
            text = ""
            for attempt in middleware.step_sync(route):
                with attempt:
                    chunks = client.chat.completions.create(
                        model=attempt.route.model, messages=HELLO, stream=True
                    )
                    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
            return text

    with anyio.fail_after(LIMIT):
        async with Stub(Scenario.parse({"answers": answers})) as stub:
            known = providers(stub, SILENCE if name == "stall" else PATIENCE)
            assert await anyio.to_thread.run_sync(work, known) == TEXT


async def test_the_log_says_that_an_sdk_retries(caplog: pytest.LogCaptureFixture) -> None:
    route, sibling = Route("openai-chat/m"), Route("openai-chat/n")
    middleware = Sidestep(
        FallbackConfig(fallback_models_by_model={route: (sibling,)}, max_upstream_retry_attempts=0)
    )
    answers = {route: {"status": 503, "headers": {"retry-after-ms": "1"}}, sibling: {"text": TEXT}}
    async with Stub(Scenario.parse({"answers": answers})) as stub:
        base = stub.providers()["openai-chat"]["baseUrl"]
        http = sidestep.watched(STREAMED[0].client())
        client = package("openai").AsyncOpenAI(api_key="k", base_url=base, http_client=http)
        async with client:
            async for attempt in middleware.step(route):
                async with attempt:
                    await client.chat.completions.create(model=attempt.route.model, messages=HELLO)
        assert [each.route for each in stub.requests] == [route, route, route, sibling]

    assert len([each for each in caplog.records if "sent again" in each.message]) == 1


async def close(http: Any) -> None:
    if hasattr(http, "aclose"):
        await http.aclose()
    else:
        http.close()
