"""A conversation that is moved to another route and comes back finds all its own reasoning.

Everything goes over real sockets, against a stub that refuses what the real APIs refuse.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sidestep.provider.conversation import Conversation, Message, Reasoning, Text, ToolCall
from sidestep.provider.route import Route

from .test_any_route_to_any_other import begun, step, strict_stub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidestep.provider.conversation import Part

OWNERS = tuple(
    map(
        Route,
        (
            "anthropic/claude-fable-5-1",  # binds its thinking to all that came before
            "anthropic/claude-opus-5-5",  # likewise
            "anthropic/claude-haiku-5-5",  # likewise
            "anthropic/claude-sonnet-5",
            "openrouter-anthropic/anthropic/claude-fable-5.1",
            "openrouter/anthropic/claude-fable-5.1",
            "openrouter/anthropic/claude-sonnet-5",
            "openai/gpt-5.1",
            "gemini/gemini-3-pro",
            "deepseek/deepseek-reasoner",
            "cerebras/gpt-oss-120b",
            "mistral/magistral-medium-latest",
        ),
    )
)
OTHERS = tuple(
    map(
        Route,
        (
            "anthropic/claude-sonnet-4-5",
            "openrouter/anthropic/claude-sonnet-5",
            "openai/gpt-5.1",
            "gemini/gemini-3-pro",
            "zai-anthropic/glm-4.6",
        ),
    )
)
"""The routes in between: each wire, and other Claudes."""
PAIRS = [(owner, other) for owner in OWNERS for other in OTHERS if owner != other]
ORDERS = ("AABBAAA", "ABABABA", "AAAABAA")
"""A step each: swaps between two turns, and between a call and what follows its result."""


GEMINI = Route("gemini/gemini-3-pro")
LONGEST_TEXT = 20
"""The reasoning of the answers is no longer than this, and all proofs are."""


def issued(part: Part) -> Iterator[str]:
    """Yield what *part* proves its origin by; for reasoning without any proof its text."""
    if isinstance(part, ToolCall | Text) and part.signature:
        yield part.signature
    if isinstance(part, Reasoning):
        proofs = [part.signature, part.encrypted]
        proofs += [detail.get("signature") for detail in part.details]
        found = [proof for proof in proofs if proof]
        yield from found or ([part.text] if part.text else [])


@pytest.mark.asyncio
@pytest.mark.parametrize(("owner", "other"), PAIRS)
async def test_after_a_swap_away_and_back_a_route_gets_all_its_own_reasoning(
    owner: Route, other: Route, *, whole: bool
) -> None:
    """Source: fault W28, and Claudes that bind their thinking to what came before."""
    quick = ORDERS[PAIRS.index((owner, other)) % len(ORDERS)]
    for order in ORDERS if whole else [quick]:
        async with strict_stub(owner, other) as (stub, client):
            conversation = begun()
            for letter in order:
                # Steps are numbered 1, so that the agent neither compacts nor interrupts.
                await step(client, conversation, owner if letter == "A" else other, 1)

            last = json.dumps(stub.requests[-1].body, ensure_ascii=False)
            assert len(stub.requests) == len(order)  # none was refused
            for message in _before_the_last_answer(conversation):
                proofs = [proof for part in message.parts for proof in issued(part)]
                if message.route == GEMINI:  # takes back signatures alone
                    proofs = [proof for proof in proofs if len(proof) > LONGEST_TEXT]
                if message.route == owner:
                    assert all(_is_in(proof, last) for proof in proofs)
                else:
                    assert not any(
                        _is_in(proof, last) for proof in proofs if len(proof) > LONGEST_TEXT
                    )


def _before_the_last_answer(conversation: Conversation) -> list[Message]:
    answers = [message for message in conversation.messages if message.role == "assistant"]
    return answers[:-1]


def _is_in(proof: str, body: str) -> bool:
    return json.dumps(proof, ensure_ascii=False)[1:-1] in body


def test_what_is_issued_is_found() -> None:
    parts: list[Part] = [Reasoning("T", signature="s"), Reasoning("U"), Text("V", signature="w")]

    assert [proof for part in parts for proof in issued(part)] == ["s", "U", "w"]
