"""Health of a key: what one client's own key is refused for concerns nobody else's key."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from sidestep import Event, PatienceStarted, Route, Sidestep
from sidestep.session.journal.journal import Journal
from sidestep.session.step.stored_cooldown import cooldowns_at

from ...virtual import VirtualClock
from .served import CLAUDE, in_front_of, serving
from .test_own_bytes import BODY, EVENTS, SSE
from .upstream import Upstream, upstream

pytestmark = pytest.mark.asyncio

OURS, ANNAS, BERTS = "sk-ours-0123456789", "sk-anna-0123456789", "sk-bert-0123456789"
OTHER = "groq/llama"
LISTED = {"fallbackOnErrors": [401, 402, 403, 404, 429, 503]}
CHAT = (
    b'data: {"choices":[{"index":0,"delta":{"content":"The sibling."}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
WHO: Mapping[str, str | None] = {"anna": ANNAS, "bert": BERTS, "nobody": None}
"""Each client, with the key that it sends; without one it is served with ours."""


@dataclass
class Providers:
    """A provider that needs a key, its sibling that needs none, and the address before them."""

    primary: Upstream
    sibling: Upstream
    http: httpx.AsyncClient
    middleware: Sidestep
    clock: VirtualClock
    last: httpx.Response | None = None

    async def ask(
        self, who: str, *, refused: int | None = None, retry_after: int | None = None
    ) -> tuple[str | None, bool]:
        """Return the key that the primary got, if it was asked, and if the sibling was.

        Args:
            refused: The status with which the primary answers; None: it answers well.
        """
        body = json.dumps({"error": {"type": "error", "message": "No."}}).encode()
        self.primary.status, self.primary.body = (refused, body) if refused else (200, EVENTS)
        hint = () if retry_after is None else (("retry-after", str(retry_after)),)
        self.primary.headers = (*SSE, *hint)
        asked, moved = len(self.primary.requests), len(self.sibling.requests)
        key = WHO[who]
        headers = {} if key is None else {"x-api-key": key}
        self.last = await self.http.post("/anthropic/v1/messages", content=BODY, headers=headers)
        sent = [each.headers.get("x-api-key") for each in self.primary.requests[asked:]]
        return (sent[-1] if sent else None), len(self.sibling.requests) > moved

    async def status(self) -> dict[tuple[str, str | None], tuple[str, int, int]]:
        """Return the state of each route and key, with its attempts and successes."""
        found = (await self.http.get("/_sidestep/status")).json()["routes"]
        return {
            (each["route"], each["api_key_env"]): (
                each["state"], each["attempts"], each["successes"],
            )
            for each in found
        }  # fmt: skip


@asynccontextmanager
async def providing(
    *, variables: tuple[str, ...] = ("ANTHROPIC_KEY",), **settings: object
) -> AsyncIterator[Providers]:
    async with (
        upstream(EVENTS, headers=SSE) as primary,
        upstream(CHAT, headers=SSE) as sibling,
        in_front_of(
            {
                "anthropic": {"baseUrl": primary.url, "apiKeyEnv": [*variables]},
                "groq": {"baseUrl": sibling.url, "apiKeyEnv": None},
            },
            siblings={CLAUDE: OTHER},
            environ={name: f"{OURS}{at or ''}" for at, name in enumerate(variables)},
            settings={**LISTED, **settings},
            token=None,
            use_own_keys=True,
        ) as (_, http, middleware, clock),
    ):
        yield Providers(primary, sibling, http, middleware, clock)


OF_KEY = [
    pytest.param(401, id="refused"),
    pytest.param(402, id="out of credits"),
    pytest.param(403, id="not for this model"),
    pytest.param(404, id="a model that this key does not see"),
    pytest.param(429, id="limited"),
]


@pytest.mark.parametrize("status", OF_KEY)
@pytest.mark.parametrize("others", ["bert", "nobody"])
async def test_a_clients_key_that_fails_puts_no_other_key_out(status: int, others: str) -> None:
    async with providing() as served:
        assert await served.ask("anna", refused=status) == (ANNAS, True)
        assert await served.ask(others) == (WHO[others] or OURS, False)
        assert await served.ask("anna") == (None, True)
        served.clock.now += 61
        assert await served.ask("anna") == (ANNAS, False)


@pytest.mark.parametrize("status", [each for each in OF_KEY if each.values != (404,)])
async def test_our_key_that_fails_puts_no_clients_key_out(status: int) -> None:
    async with providing() as served:
        assert await served.ask("nobody", refused=status) == (OURS, True)
        assert await served.ask("nobody") == (None, True)
        assert await served.ask("anna") == (ANNAS, False)
        assert await served.ask("nobody") == (None, True)


@pytest.mark.parametrize("first", WHO)
async def test_a_provider_that_is_down_is_down_for_every_key(first: str) -> None:
    async with providing() as served:
        await served.ask(first, refused=503)

        assert [await served.ask(who) for who in WHO] == [(None, True)] * 3


async def test_credits_that_are_used_up_concern_the_other_models_of_the_same_client() -> None:
    async with providing() as served:
        served.primary.status, served.primary.body = 402, b"{}"
        for key, model in [(ANNAS, "a"), (ANNAS, "b"), (BERTS, "b")]:
            body = {**json.loads(BODY), "model": model}
            await served.http.post("/anthropic/v1/messages", json=body, headers={"x-api-key": key})

        lost = served.middleware.degraded.clients_keys()
        assert {name: len(keys) for name, keys in lost.items()} == {"anthropic": 2}


async def test_the_clients_request_is_not_sent_again_with_a_key_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FIRST", OURS)
    monkeypatch.setenv("SECOND", f"{OURS}1")
    async with providing(variables=("FIRST", "SECOND")) as served:
        await served.ask("anna", refused=429)

        assert [each.headers["x-api-key"] for each in served.primary.requests] == [ANNAS]
        assert await served.ask("nobody", refused=429) == (f"{OURS}1", True)
        assert [each.headers["x-api-key"] for each in served.primary.requests[1:]] == [
            OURS, f"{OURS}1",
        ]  # fmt: skip


async def test_an_answer_for_one_client_makes_no_other_key_healthy() -> None:
    async with providing() as served:
        await served.ask("anna", refused=429)
        await served.ask("bert")
        await served.ask("nobody")

        assert await served.ask("anna") == (None, True)


async def test_the_client_is_sent_the_seconds_until_its_own_key_is_due_back() -> None:
    async with providing(fallbackModelsByModel={CLAUDE: "anthropic/other"}) as served:
        served.primary.requests.clear()
        await served.ask("anna", refused=429, retry_after=90)
        first = served.last
        await served.ask("bert", refused=429, retry_after=7)
        second = served.last

        assert first is not None
        assert second is not None
        assert (first.status_code, first.headers["retry-after"]) == (429, "90")
        assert "with the client's own key" in first.text
        assert second.headers["retry-after"] == "60"


LIMITED = {"text": "Hello there.", "chunk": 2, "pace": 0.05, "after": 3, "error": 429}


@pytest.mark.parametrize(
    ("siblings", "is_ready"), [({CLAUDE: OTHER}, True), ({OTHER: CLAUDE}, False)]
)
async def test_a_client_is_asked_to_come_again_at_once_only_if_its_own_key_or_a_sibling_is_ready(
    siblings: dict[str, str], is_ready: bool
) -> None:
    answers = {CLAUDE: LIMITED, OTHER: {"text": "The sibling."}}
    keys = {"anthropic": OURS}
    async with serving(answers, siblings=siblings, keys=keys, token=None, hold="first") as served:
        answer = await served.ask(CLAUDE, headers={"x-api-key": ANNAS})

        assert '"He"' in answer.text
        assert ("send the request again" in answer.text) is is_ready


async def test_a_step_waits_for_the_clients_own_key_to_come_back() -> None:
    async with providing(fallbackModelsByModel={}, patienceSeconds=600) as served:
        served.primary.status, served.primary.body = 429, b"{}"
        served.primary.headers = (("retry-after", "100"),)

        def recover(event: Event) -> None:
            if isinstance(event, PatienceStarted):
                served.primary.status, served.primary.body = 200, EVENTS
                served.primary.headers = SSE

        served.middleware.on_event = recover
        answer = await served.http.post(
            "/anthropic/v1/messages", content=BODY, headers={"x-api-key": ANNAS}
        )

        assert (answer.status_code, answer.content) == (200, EVENTS)
        assert [each.headers["x-api-key"] for each in served.primary.requests] == [ANNAS] * 2
        assert sum(served.clock.slept) == pytest.approx(100, abs=1)


async def test_the_status_names_the_clients_key_and_ours_apart() -> None:
    async with providing() as served:
        await served.ask("anna", refused=429)
        await served.ask("bert")
        await served.ask("nobody")

        assert await served.status() == {
            (CLAUDE, None): ("healthy", 1, 1),
            (CLAUDE, "the client's own key"): ("degraded", 2, 1),
            (OTHER, None): ("healthy", 1, 1),
        }


async def test_no_key_is_kept_where_anybody_can_read_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="sidestep")
    async with providing() as served:
        served.middleware.journal = Journal(tmp_path / "journal", clock=served.clock)
        await served.ask("anna", refused=402)
        served.middleware.journal.close()
        status = await served.http.get("/_sidestep/status")
        metrics = await served.http.get("/_sidestep/metrics")
        health = served.middleware.degraded
        written = [path.read_text() for path in tmp_path.iterdir()]  # noqa: ASYNC240 - tiny
        (lost,) = health.clients_keys()["anthropic"]

        assert "the client's own key" in written[0]
        assert "the client's own key" in f"{status.text}{caplog.text}"
        for text in (*written, status.text, metrics.text, caplog.text, repr(vars(health))):
            assert ANNAS not in text
        for text in (*written, status.text, metrics.text, caplog.text):
            assert lost not in text
        assert cooldowns_at(health, 0.0) == ()  # what a session stores


async def test_a_client_without_a_key_is_no_fault_of_ours() -> None:
    async with (
        upstream(b"{}", 401) as primary,
        in_front_of(
            {"anthropic": {"baseUrl": primary.url, "apiKeyEnv": "ANTHROPIC_KEY"}},
            siblings={CLAUDE: OTHER},
            keys={"anthropic": OURS},
            settings={"fallbackOnErrors": [401]},
            token=None,
        ) as (_, http, middleware, _clock),
    ):
        await http.post("/anthropic/v1/messages", content=BODY)

        assert not middleware.degraded.is_degraded(Route(CLAUDE))
