"""Thinking, sampling and the longest answer in an Anthropic request."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep import Route
from sidestep.provider.conversation import (
    Conversation,
    Effort,
    Message,
    Reasoning,
    Settings,
    Text,
)
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.note import Note
from sidestep.provider.wire.anthropic.encode import encode

from .requests import (
    ADAPTIVE,
    FOREIGN,
    MANUAL,
    OTHER,
    PIXEL,
    READ,
    STRICT,
    THINKING,
    UNTHINKING,
    USER,
    answer,
    assistant,
    body_of,
    call,
    target,
    use,
)

EARLY = Route("anthropic/claude-opus-4-6")

LIMITS = [
    pytest.param(None, None, 4096, id="nothing is known"),
    pytest.param(0, None, 4096, id="zero is nothing"),
    pytest.param(None, 1000, 1000, id="it gives less"),
    pytest.param(9000, 8192, 8192, id="too much"),
    pytest.param(5000, 8192, 5000, id="as asked"),
]


@pytest.mark.parametrize(("asked", "most", "sent"), LIMITS)
def test_the_longest_answer(asked: int | None, most: int | None, sent: int) -> None:
    settings = Settings(max_output_tokens=asked)

    assert body_of(to=target(max_answer_tokens=most), settings=settings)["max_tokens"] == sent


def effort(word: str) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}}


def told(word: str) -> dict[str, Any]:
    return {"output_config": {"effort": word}}


def budget(tokens: int) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


OFF = {"thinking": {"type": "disabled"}}
WARM = {"temperature": 0.5, "top_p": 0.9}
HALF = {"temperature": 0.5}  # from 4.1 on one of both is refused
KIMI = Route("moonshot-anthropic/kimi-k3")

THOUGHT = [
    pytest.param(ADAPTIVE, None, 9000, {}, {}, id="adaptive: nothing is asked"),
    pytest.param(ADAPTIVE, "minimal", 9000, {}, effort("low"), id="adaptive: minimal"),
    pytest.param(ADAPTIVE, "xhigh", None, {}, effort("xhigh"), id="adaptive: xhigh"),
    pytest.param(ADAPTIVE, "max", 10, {}, effort("max"), id="adaptive: however short"),
    pytest.param(ADAPTIVE, "none", 9000, {}, OFF, id="adaptive: none"),
    pytest.param(EARLY, "xhigh", 9000, {}, effort("high"), id="adaptive: before xhigh"),
    pytest.param(EARLY, "max", 9000, {}, effort("max"), id="adaptive: max before xhigh"),
    pytest.param(STRICT, "none", 9000, {}, {}, id="cannot be silenced"),
    pytest.param(STRICT, "high", 9000, {}, effort("high"), id="always thinks"),
    pytest.param(MANUAL, None, 9000, {}, HALF, id="manual: nothing is asked"),
    pytest.param(MANUAL, "none", 9000, {}, {**OFF, **HALF}, id="manual: none"),
    pytest.param(MANUAL, "minimal", 64000, {}, budget(1024), id="manual: minimal"),
    pytest.param(MANUAL, "low", 64000, {}, budget(2048), id="manual: low"),
    pytest.param(MANUAL, "medium", 64000, {}, budget(8192), id="manual: medium"),
    pytest.param(MANUAL, "high", 64000, {}, budget(16384), id="manual: high"),
    pytest.param(MANUAL, "xhigh", 64000, {}, budget(24576), id="manual: xhigh"),
    pytest.param(MANUAL, "max", 64000, {}, budget(32000), id="manual: half of the answer"),
    pytest.param(MANUAL, "high", None, {}, budget(2048), id="manual: half of the default"),
    pytest.param(MANUAL, "low", 2048, {}, budget(1024), id="manual: just room enough"),
    pytest.param(MANUAL, "low", 2047, {}, HALF, id="manual: no room"),
    pytest.param(KIMI, "medium", 9000, {}, told("low"), id="Kimi: medium"),
    pytest.param(KIMI, "xhigh", 9000, {}, told("high"), id="Kimi: xhigh"),
    pytest.param(KIMI, "none", 9000, {}, WARM, id="Kimi: none"),
    pytest.param(UNTHINKING, "high", 9000, {}, WARM, id="does not think"),
    pytest.param(UNTHINKING, "none", 9000, {}, WARM, id="does not think anyway"),
    pytest.param(
        ADAPTIVE,
        "high",
        9000,
        {"unsupported_parameters": frozenset({"thinking"}), "takes_sampling": True},
        {"output_config": {"effort": "high"}},
        id="effort alone",
    ),
    pytest.param(
        ADAPTIVE,
        "high",
        9000,
        {"unsupported_parameters": frozenset({"output_config"})},
        {"thinking": {"type": "adaptive"}},
        id="without effort",
    ),
    pytest.param(
        MANUAL,
        "high",
        9000,
        {"unsupported_parameters": frozenset({"thinking", "top_p"})},
        {"temperature": 0.5},
        id="thinking unsupported_parameters, and one of sampling",
    ),
    pytest.param(MANUAL, None, 9000, {"takes_sampling": False}, {}, id="no sampling"),
]


@pytest.mark.parametrize(("route", "asked", "limit", "facts", "sent"), THOUGHT)
def test_thinking_and_sampling(
    route: Route,
    asked: Effort | None,
    limit: int | None,
    facts: dict[str, Any],
    sent: dict[str, Any],
) -> None:
    settings = Settings(max_output_tokens=limit, reasoning=asked, temperature=0.5, top_p=0.9)

    body = body_of(to=target(route, **facts), settings=settings)

    for name in ("model", "max_tokens", "stream", "messages"):
        del body[name]
    assert body == sent


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        pytest.param(0, 0, id="zero"),
        pytest.param(1.0, 1.0, id="the highest"),
        pytest.param(1.7, 1.0, id="higher than it takes"),
    ],
)
def test_temperature_ends_at_one(asked: float, sent: float) -> None:
    handover = hand_over(Conversation([USER], settings=Settings(temperature=asked)), target(MANUAL))

    assert encode(handover)["temperature"] == sent
    assert len(handover.notes) == (asked != sent)


THOUGHTFUL = answer(Reasoning("Hm", signature="sig"), call(), route=MANUAL)
STEP = answer(call("toolu_2"), route=MANUAL)
FOREIGN_THOUGHT = answer(Reasoning("?"), call("toolu_4"), route=OTHER)
REFUSED_PICTURE = answer(call("toolu_5", [PIXEL], is_error=True), route=MANUAL)

LOOPS = [
    pytest.param([USER], True, 0, id="no step"),
    pytest.param([USER, THOUGHTFUL], True, 1, id="it began with thinking"),
    pytest.param([USER, THOUGHTFUL, STEP], True, 1, id="only the first step thinks"),
    pytest.param([USER, THOUGHTFUL, FOREIGN], False, 0, id="a foreign step after one that thinks"),
    pytest.param([USER, FOREIGN], False, 0, id="a foreign step"),
    pytest.param([USER, FOREIGN_THOUGHT], False, 0, id="a foreign step that thought"),
    pytest.param([USER, FOREIGN, THOUGHTFUL], False, 0, id="one that thinks after a foreign step"),
    pytest.param(
        [USER, FOREIGN, answer(Text("Done."), route=OTHER), USER], True, 0, id="a loop that is over"
    ),
    pytest.param(
        [USER, FOREIGN, answer(Text("Done."), route=OTHER), USER, THOUGHTFUL],
        True,
        1,
        id="a new loop",
    ),
    pytest.param([USER, FOREIGN, USER], False, 0, id="the user spoke right after foreign results"),
    pytest.param([USER, THOUGHTFUL, USER], True, 1, id="the user spoke right after results"),
    pytest.param(
        [USER, THOUGHTFUL, USER, FOREIGN], False, 0, id="a foreign step after the user spoke so"
    ),
    pytest.param([USER, REFUSED_PICTURE], False, 0, id="a picture after results"),
    pytest.param(
        [USER, REFUSED_PICTURE, USER], False, 0, id="a picture and the user's word after results"
    ),
    pytest.param([USER, answer(Text("a"), route=MANUAL), THOUGHTFUL], False, 0, id="text first"),
]


@pytest.mark.parametrize(("messages", "thinks", "kept"), LOOPS)
def test_with_a_budget_the_answer_that_goes_on_must_have_begun_with_thinking(
    messages: list[Message], thinks: bool, kept: int
) -> None:
    handover = hand_over(
        Conversation(messages, tools=[READ], settings=Settings(reasoning="low")), target(MANUAL)
    )

    body = encode(handover)

    types = [block["type"] for message in body["messages"] for block in message["content"]]
    note = Note("dropped", "thinking", "the answer that goes on did not begin with it")
    assert body.get("thinking") == (budget(2048)["thinking"] if thinks else None)
    assert types.count("thinking") == kept
    assert (note in handover.notes) is not thinks


@pytest.mark.parametrize(
    ("route", "asked", "facts", "kept"),
    [
        pytest.param(MANUAL, "low", {}, True, id="on"),
        pytest.param(MANUAL, None, {}, False, id="off by default"),
        pytest.param(MANUAL, "none", {}, False, id="disabled"),
        pytest.param(MANUAL, "low", {"thinking": "none"}, False, id="switched off by a refusal"),
        pytest.param(ADAPTIVE, "low", {}, True, id="adaptive"),
        pytest.param(ADAPTIVE, None, {}, True, id="left to the model"),
        pytest.param(ADAPTIVE, "none", {}, False, id="adaptive, disabled"),
        pytest.param(
            MANUAL, None, {"missing_reasoning": "?"}, True, id="where it must not be missing"
        ),
    ],
)
def test_no_thinking_is_shown_while_it_is_off(
    route: Route, asked: Effort | None, facts: dict[str, Any], kept: bool
) -> None:
    step = answer(Reasoning("Hm", signature="sig"), call(), route=route)
    handover = hand_over(
        Conversation([USER, step], tools=[READ], settings=Settings(reasoning=asked)),
        target(route, **facts),
    )

    body = encode(handover)

    note = Note("dropped", "reasoning", "thinking is off, and then none may be shown")
    assert body["messages"][1] == (assistant(THINKING, use()) if kept else assistant(use()))
    assert (note in handover.notes) is not kept
