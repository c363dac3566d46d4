"""What a conversation needs of a route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from sidestep import Image, Message, Reasoning, Text, ToolCall
from sidestep.provider.conversation import Conversation, Settings, ToolSpec
from sidestep.session.plan.needs import Needs

PICTURE = Image("image/png", "A" * 100_000)


def said(*parts: Any, **settings: Any) -> Conversation:
    return Conversation([Message("user", list(parts))], settings=Settings(**settings))


def called(output: str | list[Text | Image] | None, **given: str) -> Conversation:
    return said(ToolCall("1", "read", dict(given), output=output))


@dataclass(frozen=True)
class Case:
    id: str
    conversation: Conversation
    words: set[str]
    tokens: int


CASES = [
    Case("nothing", Conversation(), set(), 0),
    Case("text", said(Text("a" * 400), Text("b" * 40)), set(), 110),
    Case("a picture of the user's", said(PICTURE), {"images"}, 1_500),
    Case("a picture in a result", called([Text("a" * 84), PICTURE]), {"images"}, 1_522),
    Case("two pictures in a result", called([PICTURE, PICTURE]), {"images"}, 3_001),
    Case("a call that has not run", called(None), set(), 1),
    Case("a call and its text", called("b" * 400, path="a" * 386), set(), 200),
    Case("reasoning stays behind", said(Reasoning("a" * 400)), set(), 0),
    Case("it is to think", said(reasoning="low"), {"reasoning"}, 0),
    Case("it is not to think", said(reasoning="none"), set(), 0),
    Case("the longest answer", said(Text("a" * 40), max_output_tokens=1_000), set(), 1_010),
    Case(
        "tools",
        Conversation(
            tools=[ToolSpec("read", "a" * 100, {"required": ["b" * 66], "additional": False})]
        ),
        {"tool_calling"},
        50,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_the_next_step_needs(case: Case) -> None:
    needs = Needs.of(case.conversation)

    assert needs == Needs(capabilities=frozenset(case.words), tokens=case.tokens)


def test_a_boundary_is_kept() -> None:
    assert Needs.of(Conversation(), boundary="eu").boundary == "eu"
