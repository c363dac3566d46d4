"""What an answer is paid for, over real sockets, when the server counts in a form of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestep import AttemptCost, Budget, BudgetExceeded, Route, Session

from .outage import Outage

pytestmark = pytest.mark.asyncio

EVENTS = {"content-type": "text/event-stream"}
FACADE = Route("zai-anthropic/glm-5")
CLAUDE = Route("anthropic/claude-sonnet-5")

Counts = dict[str, int]


def answer(first: Counts, last: Counts) -> dict[str, Any]:
    """Return an answer on Anthropic's wire that counts at its start and at its end."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"model": "m", "usage": first}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0}
        | {"delta": {"type": "text_delta", "text": "Done."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last},
        {"type": "message_stop"},
    ]
    body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return {"status": 200, "headers": EVENTS, "body": body}


async def ask(session: Session, *, times: int) -> None:
    for _ in range(times):
        await session.turn("hi")


COUNTED_TWICE = [
    pytest.param(
        {"input_tokens": 10_000, "output_tokens": 1},
        {"input_tokens": 200, "cache_read_input_tokens": 9_800, "output_tokens": 7},
        id="the whole prompt, then what no cache had",
    ),
    pytest.param(
        {"input_tokens": 10_000, "cache_read_input_tokens": 0, "output_tokens": 1},
        {"input_tokens": 0, "cache_read_input_tokens": 10_000, "output_tokens": 7},
        id="the whole prompt, then all of it from a cache",
    ),
    pytest.param(
        {"input_tokens": 10_000},
        {"input_tokens": 200, "cache_creation_input_tokens": 9_800, "output_tokens": 7},
        id="the whole prompt, then what a cache took",
    ),
    pytest.param(
        {"input_tokens": 200, "cache_read_input_tokens": 9_800, "output_tokens": 1},
        {"output_tokens": 7},
        id="once, as Anthropic counts",
    ),
    pytest.param(
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": 10_000, "output_tokens": 7},
        id="nothing, then all",
    ),
]


@pytest.mark.parametrize("route", [CLAUDE, FACADE], ids=str)
@pytest.mark.parametrize(("first", "last"), COUNTED_TWICE)
async def test_a_prompt_that_is_counted_twice_is_paid_once(
    route: Route, first: Counts, last: Counts
) -> None:
    """Bifrost PR 5355: the later count replaces the earlier one."""
    async with Outage({route: answer(first, last)}, route=route) as outage:
        await outage.session.turn("hi")

    (spent,) = [event for event in outage.events if isinstance(event, AttemptCost)]
    assert (spent.input, spent.output, spent.is_estimated) == (10_000, 7, False)


async def test_a_budget_of_tokens_ends_where_the_prompts_counted_once_end_it() -> None:
    first = {"input_tokens": 10_000, "output_tokens": 1}
    last = {"input_tokens": 200, "cache_read_input_tokens": 9_800, "output_tokens": 7}
    options = {"session_budget": Budget(input_tokens=25_000)}
    async with Outage({CLAUDE: answer(first, last)}, route=CLAUDE, session=options) as outage:
        await outage.session.turn("hi")
        await outage.session.turn("hi")
        with pytest.raises(BudgetExceeded):
            await ask(outage.session, times=2)

    assert 2 <= len(outage.asked) <= 3


# `cost/test_budget.py` has the two wires of `outage.py`.
WIRES = [Route("openai/gpt-5.1"), Route("gemini/gemini-3-pro")]


@pytest.mark.parametrize("route", WIRES, ids=str)
@pytest.mark.parametrize(
    ("usage", "is_estimated"),
    [
        pytest.param({"input": 0, "output": 0}, True, id="nothing counted"),
        pytest.param(
            {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}, True, id="all are 0"
        ),
        pytest.param({"input": 900, "output": 0}, True, id="no output counted"),
        pytest.param({"input": 900, "output": 12}, False, id="counted"),
    ],
)
async def test_a_whole_answer_that_is_counted_as_nothing_is_estimated_and_says_so(
    route: Route, usage: Counts, *, is_estimated: bool
) -> None:
    async with Outage({route: {"text": "x" * 400, "usage": usage}}, route=route) as outage:
        await outage.session.turn("hi")

    (spent,) = [event for event in outage.events if isinstance(event, AttemptCost)]
    assert spent.is_estimated is is_estimated
    assert spent.input > 0
    assert spent.output == (usage["output"] or 100)


@pytest.mark.parametrize("route", WIRES, ids=str)
@pytest.mark.parametrize(
    "budget",
    [Budget(output_tokens=150), Budget(input_tokens=100), Budget(money=0.0035)],
    ids=["output", "input", "money"],
)
async def test_a_budget_ends_on_every_wire_although_nothing_is_counted(
    route: Route, budget: Budget
) -> None:
    options = {
        "session_budget": budget,
        "price": lambda _route, usage: ((usage.input or 0) + (usage.output or 0)) * 1e-5,
    }
    counted = {"text": "x" * 400, "usage": {"input": 0, "output": 0}}
    async with Outage({route: counted}, route=route, session=options) as outage:
        with pytest.raises(BudgetExceeded):
            await ask(outage.session, times=6)

    assert len(outage.asked) < 6


CHAT, RESPONSES, GEMINI = Route("openrouter/x/y"), *WIRES
TEXT = "x" * 400


def events(*values: Any, named: bool = False, ends: str = "") -> dict[str, Any]:
    """Return an answer of *values* as server-sent events."""
    lines = (
        (f"event: {value['type']}\n" if named else "") + f"data: {json.dumps(value)}\n\n"
        for value in values
    )
    return {"status": 200, "headers": EVENTS, "body": "".join(lines) + ends}


def chat(*last: Any, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": TEXT}, "finish_reason": "stop"}
    return events({"id": "1", "choices": [choice], **more}, *last, ends="data: [DONE]\n\n")


def responses(**more: Any) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant"}
    item["status"] = "completed"
    item["content"] = [{"type": "output_text", "text": TEXT, "annotations": []}]
    response = {"id": "resp_1", "status": "completed", "output": [item], **more}
    return events(
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
        | {"item_id": "msg_1", "delta": TEXT},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
        named=True,
    )


def gemini(**more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": TEXT}]}
    return events({"candidates": [{"content": content, "finishReason": "STOP"}], **more})


def claude(first: Any, last: Any) -> dict[str, Any]:
    whole = answer({}, {})
    body = whole["body"].replace('"usage": {}', f'"usage": {json.dumps(first)}', 1)
    body = body.replace('"usage": {}', f'"usage": {json.dumps(last)}', 1).replace("Done.", TEXT)
    return whole | {"body": body}


ZERO_CHAT = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
ZERO_RESPONSES = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
ZERO_GEMINI = {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}
UNCOUNTED = [
    pytest.param(CHAT, chat(), id="chat, none"),
    pytest.param(CHAT, chat(usage=None), id="chat, null"),
    pytest.param(CHAT, chat(usage={}), id="chat, empty"),
    pytest.param(CHAT, chat({"choices": [], "usage": ZERO_CHAT}), id="chat, 0 at the end"),
    pytest.param(CHAT, chat(usage=ZERO_CHAT), id="chat, 0"),
    pytest.param(
        CHAT, chat(usage={"prompt_tokens": None, "completion_tokens": None}), id="chat, nulls"
    ),
    pytest.param(RESPONSES, responses(), id="Responses, none"),
    pytest.param(RESPONSES, responses(usage=None), id="Responses, null"),
    pytest.param(RESPONSES, responses(usage={}), id="Responses, empty"),
    pytest.param(RESPONSES, responses(usage=ZERO_RESPONSES), id="Responses, 0"),
    pytest.param(GEMINI, gemini(), id="Gemini, none"),
    pytest.param(GEMINI, gemini(usageMetadata={}), id="Gemini, empty"),
    pytest.param(GEMINI, gemini(usageMetadata=ZERO_GEMINI), id="Gemini, 0"),
    pytest.param(GEMINI, gemini(usageMetadata={"totalTokenCount": 0}), id="Gemini, a total of 0"),
    pytest.param(CLAUDE, claude(None, None), id="Anthropic, null"),
    pytest.param(CLAUDE, claude({}, {}), id="Anthropic, empty"),
    pytest.param(
        CLAUDE, claude({"input_tokens": 0, "output_tokens": 0}, {"output_tokens": 0}),
        id="Anthropic, 0",
    ),
    pytest.param(FACADE, claude({}, {"output_tokens": 0}), id="a facade, 0"),
]  # fmt: skip


@pytest.mark.parametrize(("route", "uncounted"), UNCOUNTED)
async def test_an_answer_without_a_count_is_estimated_and_ends_every_budget(
    route: Route, uncounted: dict[str, Any]
) -> None:
    def price(_route: Route, usage: Any) -> float:
        return ((usage.input or 0) + (usage.output or 0)) * 1e-5

    for budget in (
        Budget(output_tokens=250),
        Budget(input_tokens=100),
        Budget(money=0.0035),
    ):
        options = {"session_budget": budget, "price": price}
        async with Outage({route: uncounted}, route=route, session=options) as outage:
            with pytest.raises(BudgetExceeded):
                await ask(outage.session, times=8)

        spent = [event for event in outage.events if isinstance(event, AttemptCost)]
        assert len(outage.asked) < 8
        assert all(each.is_estimated for each in spent)
        assert all((each.input > 0, each.output) == (True, 100) for each in spent)
