"""The page, the status and the metrics of the local address, as HTTP has them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from typing import Any

import anyio
import pytest

from sidestep.session.embed import framework
from sidestep.session.serve.recent_steps import MOST_STEPS

from .served import CLAUDE, SIBLING, Served, in_front_of, serving
from .upstream import upstream

pytestmark = pytest.mark.asyncio

PAGES = ["/_sidestep/", "/_sidestep/page.css", "/_sidestep/page.js"]
DATA = ["/_sidestep/status", "/_sidestep/metrics"]
WORD = "the-token-of-the-test"
HELLO = {CLAUDE: {"text": "Hello."}}
SWAPS: Mapping[str, object] = {CLAUDE: {"status": 503}, SIBLING: {"text": "Hello."}}
PROMPT = "a prompt that nobody else may read"


async def status_of(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = (await served.http.get("/_sidestep/status")).json()
    return found


@pytest.mark.parametrize(
    ("path", "kind"), [*zip(PAGES, ["text/html", "text/css", "text/javascript"], strict=True)]
)
async def test_the_page_is_there_without_a_token_because_it_asks_for_it(
    path: str, kind: str
) -> None:
    async with serving(HELLO, token=WORD) as served:
        answer = await served.http.get(path)

        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
        assert WORD not in answer.text


@pytest.mark.parametrize("path", DATA)
async def test_what_the_page_shows_wants_the_token(path: str) -> None:
    async with serving(HELLO, token=WORD) as served:
        bare = await served.http.get(path)
        named = await served.http.get(path, headers={"authorization": f"Bearer {WORD}"})

        assert (bare.status_code, named.status_code) == (401, 200)


@pytest.mark.parametrize("path", [*PAGES, *DATA])
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"host": "evil.example:80"}, id="another host"),
        pytest.param({"origin": "https://evil.example"}, id="a page of somebody else"),
        pytest.param({"sec-fetch-site": "cross-site"}, id="a frame in one"),
        pytest.param({"sec-fetch-site": "same-site"}, id="a page at another port"),
    ],
)
async def test_no_other_page_reads_any_of_it(headers: dict[str, str], path: str) -> None:
    async with serving(HELLO, token=None) as served:
        assert (await served.http.get(path, headers=headers)).status_code == 403


@pytest.mark.parametrize("path", [*PAGES, *DATA])
async def test_everything_is_safe_to_open(path: str) -> None:
    async with serving(HELLO) as served:
        answer = await served.http.get(path)
        policy = answer.headers["content-security-policy"].split("; ")

        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= {*policy}
        assert not re.search(r"unsafe|https?:|\*", answer.headers["content-security-policy"])
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


async def test_the_page_loads_nothing_from_elsewhere_and_has_no_script_inside() -> None:
    async with serving(HELLO) as served:
        html, css, script = [(await served.http.get(path)).text for path in PAGES]

        assert not re.search(r"https?://|//[a-z]+\.", html + css + script)
        assert not re.search(r"\son\w+=|style=|<style|javascript:|<script>", html)
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval", script)
        assert not re.search(r"@import|url\(", css)


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        pytest.param("/_sidestep", "GET", 308, id="without the slash"),
        pytest.param("/_sidestep/page", "GET", 404, id="another name"),
        pytest.param("/_sidestep/../pages.py", "GET", 404, id="up"),
        pytest.param("/_sidestep/page.html", "GET", 404, id="the name of the file"),
        pytest.param("/_sidestep/", "POST", 404, id="a post"),
    ],
)
async def test_nothing_else_is_served_there(path: str, method: str, status: int) -> None:
    async with serving(HELLO) as served:
        request = served.http.build_request(
            method, "/", extensions={"target": path.encode()}
        )  # fmt: skip
        answer = await served.http.send(request)

        assert answer.status_code == status
        assert answer.headers.get("location") == ("/_sidestep/" if status == 308 else None)


@pytest.mark.parametrize("path", [*PAGES, *DATA])
async def test_a_head_is_answered_like_a_get_without_a_body(path: str) -> None:
    async with serving(HELLO) as served:
        head, got = await served.http.head(path), await served.http.get(path)

        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == got.headers["content-type"]


async def test_the_status_has_the_last_steps_with_their_attempts_and_what_was_saved() -> None:
    async with serving(SWAPS, siblings={CLAUDE: SIBLING}) as served:
        await served.ask(CLAUDE)
        found = await status_of(served)
        (step,) = found["steps"]

        assert found["counts"] == {"answered": 1, "failed": 0, "left": 0, "saved": 1}
        assert (step["requested"], step["route"], step["state"]) == (CLAUDE, SIBLING, "answered")
        assert (step["swaps"], step["attempt_count"]) == (1, 2)
        assert [(each["route"], each["kind"], each["status"]) for each in step["attempts"]] == [
            (CLAUDE, "server_error", 503), (SIBLING, None, None),
        ]  # fmt: skip


async def test_a_wait_counts_for_the_attempt_after_it() -> None:
    answers = {CLAUDE: [{"status": 503}, {"text": "Hello."}]}
    settings = {"maxUpstreamRetryAttempts": 1}
    async with serving(answers, settings=settings) as served:
        await served.ask(CLAUDE)
        (step,) = (await status_of(served))["steps"]
        first, second = [each["waited"] for each in step["attempts"]]

        assert (first, second) == (0.0, pytest.approx(sum(served.clock.slept)))
        assert second > 0


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(HELLO, id="the client's own bytes"),
        pytest.param(SWAPS, id="a sibling"),
    ],
)
async def test_the_tokens_of_an_answer_are_counted(
    answers: Mapping[str, object], stream: bool
) -> None:
    async with serving(answers, siblings={CLAUDE: SIBLING}) as served:
        await served.ask(CLAUDE, stream=stream)
        (step,) = (await status_of(served))["steps"]
        *failed, answered = step["attempts"]

        assert answered["tokens"]["input"] > 0
        assert answered["tokens"]["output"] > 0
        assert [each["tokens"] for each in failed] == [None] * len(failed)


@pytest.mark.parametrize(
    ("model", "money"),
    [
        pytest.param("claude-sonnet-4-5", (1000 * 3 + 1000 * 0.3 + 100 * 15) / 1e6, id="known"),
        pytest.param("claude-of-tomorrow", None, id="not known"),
    ],
)
async def test_a_step_has_its_price_if_one_is_known(model: str, money: float | None) -> None:
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 1000, "output_tokens": 100}
    message = {
        "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hello."}], "usage": usage,
    }  # fmt: skip
    async with (
        upstream(json.dumps(message).encode()) as provider,
        in_front_of({"anthropic": {"baseUrl": provider.url, "apiKeyEnv": None}}) as (_, http, *_r),
    ):
        asked = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        await http.post("/anthropic/v1/messages", json=asked)
        found = (await http.get("/_sidestep/status")).json()
        (attempt,) = found["steps"][0]["attempts"]

        assert found["knows_prices"] is True
        assert attempt["money"] == (money and pytest.approx(money))
        assert attempt["tokens"] == {
            "input": 2000, "output": 100, "cache_read": 1000, "cache_write": None,
        }  # fmt: skip


async def test_a_step_whose_client_left_is_no_failure() -> None:
    async with serving({CLAUDE: {"text": "Hello.", "stall": True}}) as served:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(served.ask, CLAUDE)
            received = await served.stub.wait_for(1)
            running = [step["state"] for step in (await status_of(served))["steps"]]
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            await received.over.wait()
        found = await status_of(served)

        assert running == ["running"]
        assert [step["state"] for step in found["steps"]] == ["left"]
        assert found["counts"] == {"answered": 0, "failed": 0, "left": 1, "saved": 0}


async def test_only_the_last_fifty_steps_are_kept() -> None:
    async with serving(HELLO) as served:
        for _ in range(MOST_STEPS + 3):
            await served.ask(CLAUDE)
        steps = (await status_of(served))["steps"]

        assert [step["step"] for step in steps] == [*range(MOST_STEPS + 3, 3, -1)]


@pytest.mark.parametrize("path", [*PAGES, *DATA])
async def test_no_prompt_no_answer_and_no_key_is_shown(path: str) -> None:
    key = "sk-ours-0123456789abcdef"
    answers = {CLAUDE: {"status": 400, "body": f"no: {key}"}, SIBLING: {"text": "The answer."}}
    keys = {"anthropic": key}
    async with serving(answers, keys=keys, siblings={CLAUDE: SIBLING}, token=WORD) as served:
        headers = {"authorization": f"Bearer {WORD}"}
        for route in (CLAUDE, SIBLING):
            said = [{"role": "user", "content": PROMPT}]
            await served.ask(route, messages=said, system=PROMPT, headers=headers)
        shown = (await served.http.get(path, headers=headers)).text

        assert [text for text in (PROMPT, key, WORD, "The answer.") if text in shown] == []


async def test_the_metrics_are_what_prometheus_reads() -> None:
    async with serving(SWAPS, siblings={CLAUDE: SIBLING}) as served:
        await served.ask(CLAUDE)
        first = await served.http.get("/_sidestep/metrics")
        again = await served.http.get("/_sidestep/metrics")

        assert first.headers["content-type"].startswith("text/plain; version=")
        assert first.text == again.text
        assert "sidestep_steps_saved_total 1.0" in first.text
        assert f'sidestep_cooldown_seconds_left{{route="{CLAUDE}"}}' in first.text


async def test_without_the_package_the_metrics_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(framework, "version", version)
    async with serving(HELLO) as served:
        answer = await served.http.get("/_sidestep/metrics")

        assert answer.status_code == 404
        assert "pip install 'sidestep[prometheus]'" in answer.text


async def test_a_closed_address_observes_no_more() -> None:
    async with serving(HELLO) as served:
        before = len(served.middleware.observers.all) if served.middleware.observers else 0
    after = len(served.middleware.observers.all) if served.middleware.observers else 0

    assert (before, after) == (2, 1)  # the metrics count on
