"""How much of a conversation is read to find its remembered answers, counted and not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sidestep import Conversation, Message, Route, Text
from sidestep.provider.conversation import Part
from sidestep.session.serve.conversation_hash import ConversationHash
from sidestep.session.serve.history import history_of
from sidestep.session.serve.memory import AnswerMemory

from .test_memory import call, restored, said, user

ROUTE = Route("anthropic/claude")


class CountedParts(list[Part]):
    """Parts that count how often they are read."""

    reads = 0

    def __iter__(self) -> Iterator[Part]:
        CountedParts.reads += 1
        return super().__iter__()


def with_calls(at: int) -> list[Message]:
    return [user(f"Prompt {at}."), said(call(f"toolu_{at:032}", output="1"))]


def with_texts(at: int) -> list[Message]:
    return [user("Go on."), said(Text(f"Done {at}."))]


def with_answers_in_a_row(at: int) -> list[Message]:
    return [said(Text(f"Done {at}."))] if at else [user("Go on."), said(Text("Done 0."))]


def with_prompts_in_a_row(at: int) -> list[Message]:
    return [user(f"Prompt {at}.")]


def with_results_in_a_row(at: int) -> list[Message]:
    return [said(call(f"toolu_{at:032}", output="1"))] if at else [user("Read.")]


def with_prompts_without_text(at: int) -> list[Message]:
    return [user("" if at else "Go on."), said(Text(f"Done {at}."))]


def work_per_message(count: int, pair: Callable[[int], list[Message]]) -> float:
    """Return how often each message is read if every answer of a conversation is remembered."""
    messages = [message for at in range(count) for message in pair(at)]
    memory = AnswerMemory()
    for at, message in enumerate(messages):
        if message.role == "assistant":
            memory.keep(ROUTE, Conversation(messages[:at]), message.parts, message.parts)
    counted = [Message(each.role, CountedParts(each.parts)) for each in messages]
    conversation = Conversation(counted)
    CountedParts.reads = 0
    memory.restore(conversation)
    history_of(conversation)
    return CountedParts.reads / len(messages)


@pytest.mark.parametrize(
    "pair",
    [
        with_calls,
        with_texts,
        with_answers_in_a_row,
        with_prompts_in_a_row,
        with_results_in_a_row,
        with_prompts_without_text,
    ],
)
def test_a_message_of_a_long_conversation_is_read_no_oftener_than_one_of_a_short_conversation(
    pair: Callable[[int], list[Message]],
) -> None:
    assert work_per_message(200, pair) <= work_per_message(20, pair) + 1


def test_nothing_is_read_if_no_answer_of_the_conversation_is_remembered() -> None:
    memory = AnswerMemory()
    memory.keep(ROUTE, Conversation([user("Hi.")]), [call("other")], [call("other")])
    prompt = CountedParts([Text("A long prompt.")])
    CountedParts.reads = 0

    restored(memory, Message("user", prompt), said(call("toolu_1")))

    assert CountedParts.reads <= 1  # whether it begins a turn


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_a_hash_that_grows_is_the_hash_of_the_whole(steps: int) -> None:
    messages = [message for at in range(7) for message in with_calls(at)]
    grown = ConversationHash()
    for at in range(0, len(messages), steps):
        grown.messages += messages[at : at + steps]
        whole = ConversationHash(messages[: at + steps])

        assert (grown.digest(), grown.question()) == (whole.digest(), whole.question())
        assert (grown.digest(), grown.question()) == (whole.digest(), whole.question())
