"""What holds for an answer in every wire of the stub."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.conversation import Reasoning, Text, ToolCall
from sidestep.provider.route import Route
from sidestep.provider.stub.answer import Cut, ModelAnswer
from sidestep.provider.stub.endpoint import KNOWN
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.script import script_of
from sidestep.provider.stub.server import Stub
from sidestep.provider.stub.wire.base import StubRequest

from ..stub_client import (
    ANTHROPIC,
    CALL,
    CHAT,
    DIALECTS,
    RESPONSES,
    ask,
    decoded,
    outputs,
    rendered,
)

if TYPE_CHECKING:
    pass


HIDING = {"openai-chat"}
"""Who does not show thinking: OpenAI in Chat Completions."""


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", KNOWN)
async def test_an_answer_is_read_back_as_it_was_meant(provider: str) -> None:
    route = f"{provider}/m"
    text, thought = "Gr\u00fc\u00dfe, \u2028 \U0001f600" * 2, "I think so. " * 3
    answer = {"reasoning": thought, "text": text, "tool_calls": [CALL], "chunk": 5}
    async with Stub(Scenario.parse({"answers": {route: answer}})) as stub:
        response = await ask(stub, route)

    read = decoded(response.content, route)
    *reasoning, said, call = read.parts
    assert isinstance(said, Text)
    assert isinstance(call, ToolCall)
    assert [(each.text, each.complete) for each in reasoning if isinstance(each, Reasoning)] == (
        [] if provider in HIDING else [(thought, True)]
    )
    assert said.text == text
    assert (call.id, call.name, call.input) == ("call_1", CALL["name"], CALL["input"])
    assert read.model == "m"


@pytest.mark.parametrize(
    ("route", "form"),
    [
        pytest.param(ANTHROPIC, "toolu_[0-9a-f]{24}", id="anthropic"),
        pytest.param(CHAT, "call_[0-9a-f]{24}", id="chat"),
        pytest.param(RESPONSES, "call_[0-9a-f]{24}", id="responses"),
        pytest.param("mistral/x", "[0-9a-f]{9}", id="mistral"),
    ],
)
def test_a_call_without_an_id_gets_one_in_the_form_of_its_provider(route: str, form: str) -> None:
    answer = {"tool_calls": [{"name": "pwd"}, {"name": "ls"}]}

    first, second = decoded(b"".join(rendered(answer, route)), route).parts

    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert re.fullmatch(form, first.id)
    assert re.fullmatch(form, second.id)
    assert first.id != second.id


def test_the_stub_signs_reasoning_for_one_route_and_request_only() -> None:
    answer = ModelAnswer(reasoning="Hm")
    requests = [
        StubRequest(route=Route(ANTHROPIC), dialect="anthropic", number=number)
        for number in (1, 1, 2)
    ]

    first, again, other = (script_of(answer, each).pieces for each in requests)

    assert first == again
    assert b"signature_delta" in b"".join(first)
    assert first != other


@given(
    text=st.text(max_size=40),
    reasoning=st.text(max_size=20),
    chunk=st.integers(1, 9),
    after=st.none() | st.integers(0, 20),
)
def test_a_fault_comes_after_the_same_output_in_every_wire(
    text: str, reasoning: str, chunk: int, after: int | None
) -> None:
    answer = ModelAnswer(text=text, reasoning=reasoning, chunk=chunk, fault=Cut(), after=after)

    came = [
        b"".join(script_of(answer, StubRequest(route=Route(route), dialect=dialect)).pieces)
        for route, dialect in DIALECTS.items()
    ]

    assert all(outputs(each) == outputs(came[0]) for each in came)
    assert len(outputs(came[0])) == min(
        len(outputs(came[0])) if after is None else after,
        -(-len(text) // chunk) - (-len(reasoning) // chunk),
    )
    if after == 0:
        assert came == [b""] * len(DIALECTS)
