"""What the configuration says of moving, staying and keys holds for a client's conversation too."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .served import CLAUDE, in_front_of, serving

pytestmark = pytest.mark.asyncio

SIBLING = "groq/llama"
MAP = {CLAUDE: SIBLING}
CALL = {"id": "call_1", "name": "read_file", "input": {"path": "a.py"}}
TURN: list[Any] = [
    {"role": "user", "content": "Read a.py"},
    {"role": "assistant", "content": [{"type": "tool_use", **CALL}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "print(1)"}],
    },
]
REMINDER = {"type": "text", "text": "<total_tokens>9 left</total_tokens>"}
REMINDED = [*TURN[:2], {"role": "user", "content": [*TURN[2]["content"], REMINDER]}]
"""What Claude Code sends beside a result."""
TOOLS = [{"name": "read_file", "input_schema": {"type": "object"}}]


@pytest.mark.parametrize(
    ("settings", "messages", "moves"),
    [
        pytest.param({}, TURN, True, id="any conversation"),
        pytest.param({"movePolicy": "first_call"}, TURN[:1], True, id="before the first call"),
        pytest.param({"movePolicy": "first_call"}, TURN, False, id="after the first call"),
        pytest.param({"movePolicy": "idempotent"}, TURN, False, id="a tool that is not listed"),
        pytest.param({"movePolicy": "idempotent"}, REMINDED, False, id="a text beside the result"),
        pytest.param(
            {"movePolicy": "idempotent", "idempotentTools": ["read_file"]},
            TURN,
            True,
            id="a tool that is listed",
        ),
        pytest.param(
            {"movePolicy": "idempotent"},
            [*TURN, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "So?"}],
            True,
            id="a tool of an earlier turn",
        ),
    ],
)
async def test_a_conversation_moves_only_if_the_policy_lets_it(
    settings: dict[str, Any], messages: list[Any], moves: bool
) -> None:
    answers = {CLAUDE: {"status": 503}, SIBLING: {"text": "Moved."}}
    async with serving(answers, siblings=MAP, settings=settings) as served:
        answer = await served.ask(CLAUDE, messages=messages, tools=TOOLS)

        assert answer.status_code == (200 if moves else 503)


@pytest.mark.parametrize(
    ("policy", "third", "fourth"),
    [
        pytest.param("step", CLAUDE, CLAUDE, id="step"),
        pytest.param("turn", SIBLING, CLAUDE, id="turn"),
        pytest.param("session", SIBLING, SIBLING, id="session"),
    ],
)
async def test_a_conversation_returns_when_the_policy_says_so(
    policy: str, third: str, fourth: str
) -> None:
    answers = {
        CLAUDE: [{"status": 503}, {"text": "Back."}],
        SIBLING: [{"tool_calls": [CALL]}, {"text": "Stayed."}],
    }
    async with serving(answers, siblings=MAP, settings={"returnPolicy": policy}) as served:
        await served.ask(CLAUDE, messages=TURN[:1], tools=TOOLS)
        served.clock.now += 61
        during = await served.ask(CLAUDE, messages=TURN, tools=TOOLS, stream=False)
        content = during.json()["content"]
        after = [
            *TURN,
            {"role": "assistant", "content": content},
            {"role": "user", "content": "So?"},
        ]
        later = await served.ask(CLAUDE, messages=after, tools=TOOLS)

        assert during.headers["x-sidestep-route"] == third
        assert later.headers["x-sidestep-route"] == fourth


async def test_the_next_key_is_sent_where_the_first_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = {"FIRST_KEY": "first-key-of-the-test", "SECOND_KEY": "second-key-of-the-test"}
    for name, key in keys.items():
        monkeypatch.setenv(name, key)
    limited = {"status": 429, "headers": {"retry-after": "30"}}
    played = Scenario.parse({"answers": {CLAUDE: [limited, {"text": "Hello."}]}})
    async with Stub(played) as stub:
        settings = {**stub.providers()["anthropic"], "apiKeyEnv": ["FIRST_KEY", "SECOND_KEY"]}
        async with in_front_of(
            {"anthropic": settings},
            environ=keys,
            siblings={CLAUDE: "anthropic/other"},
        ) as (serve, http, *_rest):
            body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": TURN[:1]}
            headers = {"x-api-key": serve.token or ""}
            answer = await http.post("/anthropic/v1/messages", json=body, headers=headers)

            assert answer.headers["x-sidestep-route"] == CLAUDE
            assert len(stub.requests) == 2
