"""What is remembered of siblings' answers, and when it takes the place of a client's copy."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from sidestep import ConfigError, Conversation, Message, Route, Text, ToolCall
from sidestep.provider.conversation import Part, Reasoning
from sidestep.session.serve import memory as memory_module
from sidestep.session.serve.memory import AnswerMemory
from sidestep.session.serve.memory_file import SqliteMemory

ROUTE = Route("anthropic/claude")
THINKING = Reasoning("Hm.", signature="proof")


def user(text: str) -> Message:
    return Message("user", [Text(text)])


def call(id_: str = "call_1", path: str = "a.py", output: str | None = None) -> ToolCall:
    state = "pending" if output is None else "completed"
    return ToolCall(id_, "read", {"path": path}, state=state, output=output)  # type: ignore[arg-type]


def said(*parts: Part) -> Message:
    return Message("assistant", [*parts])


def remembered(*parts: Part, memory: AnswerMemory | None = None) -> AnswerMemory:
    """Return a memory of the *parts* that answered one question."""
    memory = AnswerMemory() if memory is None else memory
    memory.keep(ROUTE, Conversation([user("Read it.")]), parts, parts)
    return memory


def restored(memory: AnswerMemory, *messages: Message) -> list[Message]:
    conversation = Conversation([*messages])
    memory.restore(conversation)
    return conversation.messages


def test_parts_come_back_under_the_id_of_their_call_with_the_clients_result() -> None:
    memory = remembered(THINKING, Text("Reading."), call())

    messages = restored(memory, user("Read it."), said(Text("Reading."), call(output="print()")))

    assert messages[1].route == ROUTE
    assert messages[1].parts == [THINKING, Text("Reading."), call(output="print()")]


def test_parts_come_back_under_their_text_where_nothing_was_called() -> None:
    memory = remembered(THINKING, Text("Done."))

    messages = restored(memory, user("Read it."), said(Text("Done.\n")), user("Go on."))

    assert messages[1].parts == [THINKING, Text("Done.")]


def test_one_answer_that_a_client_writes_as_several_messages_comes_back_as_one() -> None:
    memory = remembered(THINKING, Text("Reading."), call("a"), call("b"))
    copies = (said(Text("Reading.")), said(call("a", output="1"), call("b", output="2")))

    messages = restored(memory, user("Read it."), *copies)

    assert len(messages) == 2
    assert messages[1].parts == [
        THINKING, Text("Reading."), call("a", output="1"), call("b", output="2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "copy"),
    [
        pytest.param("Read it.", said(Text("Reading."), call("call_2")), id="another id"),
        pytest.param("Read it.", said(Text("Reading."), call(path="b.py")), id="other arguments"),
        pytest.param("Read it.", said(Text("I read."), call()), id="another text"),
        pytest.param("Read it.", said(Text("Reading."), call(), call("x")), id="one call more"),
    ],
)
def test_what_a_client_has_changed_stays_as_the_client_wrote_it(
    question: str, copy: Message
) -> None:
    memory = remembered(THINKING, Text("Reading."), call())

    assert restored(memory, user(question), copy)[1] == copy


def test_the_same_short_text_after_another_question_is_another_answer() -> None:
    memory = remembered(THINKING, Text("Done."))

    assert restored(memory, user("And this?"), said(Text("Done.")))[1].route is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(call(path="a.py"), call(path="b.py"), id="other arguments"),
        pytest.param(call(), ToolCall("call_1", "write", {"path": "a.py"}), id="another tool"),
    ],
)
def test_two_sessions_with_the_same_id_of_a_call_both_get_their_parts_back(
    first: ToolCall, second: ToolCall
) -> None:
    memory = remembered(THINKING, first)
    remembered(other := Reasoning("Other.", signature="its own"), second, memory=memory)

    assert restored(memory, user("Read it."), said(first))[1].parts == [THINKING, first]
    assert restored(memory, user("Read it."), said(second))[1].parts == [other, second]


def conversation(told: str) -> list[Message]:
    """Return what comes before the same answer in one of several conversations."""
    return [user(told), said(call("call_0", output=f"{told}.py")), user("Go on.")]


SAME_ANSWERS = [
    pytest.param([call()], id="the same call"),
    pytest.param([Text("Reading."), call(), call("call_2")], id="the same calls and text"),
    pytest.param([Text("Done.")], id="the same text"),
]


@pytest.mark.parametrize("answer", SAME_ANSWERS)
def test_no_conversation_gets_the_thoughts_of_another(answer: list[Part]) -> None:
    memory, thoughts = AnswerMemory(), {}
    for told in ("one", "two"):
        thought = thoughts[told] = Reasoning(f"Of {told}.", signature=told)
        memory.keep(ROUTE, Conversation(conversation(told)), [thought, *answer], answer)

    for told, thought in thoughts.items():
        assert restored(memory, *conversation(told), said(*answer))[-1].parts == [thought, *answer]


@pytest.mark.parametrize("answer", SAME_ANSWERS)
def test_no_conversation_gets_thoughts_for_an_answer_of_another_route(answer: list[Part]) -> None:
    memory = AnswerMemory()
    memory.keep(ROUTE, Conversation(conversation("one")), [THINKING, *answer], answer)

    assert restored(memory, *conversation("two"), said(*answer))[-1] == said(*answer)


@pytest.mark.parametrize("answer", SAME_ANSWERS)
def test_the_same_answer_twice_in_one_conversation_keeps_its_own_thoughts(
    answer: list[Part],
) -> None:
    memory, told = AnswerMemory(), [user("Go on.")]
    for thought in (first := Reasoning("First."), second := Reasoning("Second.")):
        memory.keep(ROUTE, Conversation([*told]), [thought, *answer], answer)
        told += [said(*answer), user("Go on.")]

    found = restored(memory, *told)

    assert [found[1].parts[0], found[3].parts[0]] == [first, second]


@pytest.mark.parametrize(
    ("answer", "is_found"),
    [
        pytest.param(call("toolu_01AbCdEfGhIjKlMnOpQrStUv"), True, id="an id made by chance"),
        pytest.param(call("call_1"), False, id="a number"),
        pytest.param(call("functions.read:12"), False, id="Kimi's number"),
        pytest.param(Text("A long text. " * 20), True, id="a long text"),
        pytest.param(Text("Done."), False, id="a short text"),
    ],
)
def test_an_answer_that_no_other_conversation_has_is_found_in_a_shortened_one(
    answer: Part, is_found: bool
) -> None:
    memory = AnswerMemory()
    memory.keep(ROUTE, Conversation(conversation("one")), [THINKING, answer], [answer])

    found = restored(memory, user("A summary."), user("Go on."), said(answer))[-1]

    assert found.parts == ([THINKING, answer] if is_found else [answer])


@pytest.mark.parametrize("count", [1, 2_000])
def test_an_answer_is_kept_once_however_many_calls_it_has(tmp_path: Path, count: int) -> None:
    file = SqliteMemory(tmp_path / "store")
    calls = [call(f"call_{number}") for number in range(count)]
    remembered(THINKING, *calls, memory=AnswerMemory(file))

    assert len(file.load()) == 1
    file.close()
    again = AnswerMemory(SqliteMemory(tmp_path / "store"))
    assert restored(again, user("Read it."), said(*calls))[1].parts == [THINKING, *calls]


HOSTILE = ["", " ", "a b", "a\0b", "'; DROP TABLE answer; --", "\ud800", "\u2028", "i" * 100_000]


@pytest.mark.parametrize("id_", HOSTILE, ids=range(len(HOSTILE)))
def test_an_id_may_be_anything(tmp_path: Path, id_: str) -> None:
    file = SqliteMemory(tmp_path / "store")
    remembered(THINKING, call(id_), memory=AnswerMemory(file))
    remembered(Text("Done."), memory=AnswerMemory(file))
    file.close()

    again = AnswerMemory(SqliteMemory(tmp_path / "store"))
    assert restored(again, user("Read it."), said(Text("Done.")))[1].route == ROUTE
    sent = id_.encode("utf-8", "replace").decode()
    assert restored(again, user("Read it."), said(call(sent)))[1].route == ROUTE


def test_a_client_may_write_numbers_and_keys_in_its_own_way() -> None:
    came = ToolCall("call_1", "wait", {"seconds": 1.0, "why": "é", "more": [0.5]})
    sent = ToolCall("call_1", "wait", {"more": [0.5], "why": "é", "seconds": 1})

    found = restored(remembered(THINKING, came), user("Read it."), said(sent))[1]
    assert found.parts[0] == THINKING


def test_no_prompt_and_no_output_of_a_tool_is_kept(tmp_path: Path) -> None:
    file = SqliteMemory(tmp_path / "store")
    memory = AnswerMemory(file)
    asked = Conversation([user("PROMPT"), said(call("old", output="OUTPUT")), user("SECOND")])
    memory.keep(ROUTE, asked, [THINKING, call()], [call()])
    memory.keep(ROUTE, asked, [Text("Done.")], [Text("Done.")])
    file.close()

    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"proof" in kept
    assert not [word for word in (b"PROMPT", b"OUTPUT", b"SECOND") if word in kept]


def test_which_routes_have_answered_in_the_running_turn_is_returned() -> None:
    memory = remembered(THINKING, call())
    turn = [user("Read it."), said(call(output="1"))]

    assert memory.restore(Conversation([*turn])) == [ROUTE]
    assert memory.restore(Conversation([*turn, said(Text("1.")), user("Thanks.")])) == []


@pytest.mark.parametrize("count", [1, 2])
def test_a_text_after_a_result_does_not_end_the_running_turn(count: int) -> None:
    memory = remembered(THINKING, call())
    reminders = [user("<total_tokens>9000 tokens left</total_tokens>")] * count

    told = [user("Read it."), said(call(output="1")), *reminders]

    assert memory.restore(Conversation(told)) == [ROUTE]


def test_the_oldest_answers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "MOST_KEYS", 2)
    memory = remembered(call("a"))
    remembered(call("b"), memory=memory)
    restored(memory, user("Read it."), said(call("a")))  # used last
    remembered(call("c"), memory=memory)

    routes = [
        restored(memory, user("Read it."), said(call(id_)))[1].route for id_ in ("a", "b", "c")
    ]
    assert routes == [ROUTE, None, ROUTE]


@pytest.mark.parametrize(("size", "is_kept"), [(100, True), (5_000, False)])
def test_the_bytes_are_bounded(size: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "MOST_BYTES", 2_000)
    memory = remembered(Reasoning("x" * size), call())

    assert memory.is_empty is not is_kept


def test_a_file_keeps_it_for_the_next_process_and_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "store"
    first = SqliteMemory(path)
    remembered(THINKING, call(), memory=AnswerMemory(first))
    first.close()
    again = SqliteMemory(path)
    memory = AnswerMemory(again)
    again.close()

    assert restored(memory, user("Read it."), said(call()))[1].parts[0] == THINKING
    modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.touch(0o644)
    SqliteMemory(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["text", "directory", "link", "another program's"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "store"
    match kind:
        case "text":
            path.write_text("not a database, but long enough to be read as one" * 40)
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to(tmp_path / "elsewhere")
        case _:
            with sqlite3.connect(path) as other:
                other.execute("CREATE TABLE theirs (x)")
            other.close()

    with pytest.raises(ConfigError, match="cannot be used"):
        SqliteMemory(path)


def test_a_device_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o644)

    with pytest.raises(ConfigError, match="no regular file"):
        SqliteMemory(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize(
    "body",
    [
        "text",
        5,
        b"no JSON",
        b"{}",
        b"[]",
        b"\xff",
        b'{"message": {"role": "assistant", "parts": 5}, "ids": []}',
        b'{"message": {"role": "assistant", "parts": []}, "ids": 5}',
    ],
)
def test_a_row_that_is_no_answer_is_passed_over(tmp_path: Path, body: object) -> None:
    path = tmp_path / "store"
    remembered(THINKING, call(), memory=AnswerMemory(file := SqliteMemory(path)))
    file.close()
    with sqlite3.connect(path) as other:
        other.execute("UPDATE answer SET body = ?", (body,))
    other.close()

    memory = AnswerMemory(file := SqliteMemory(path))
    messages = restored(memory, user("Read it."), said(call(output="1")))
    file.close()

    assert messages[1].parts == [call(output="1")]


def test_a_call_comes_back_with_the_id_of_its_route_and_the_result_of_the_client() -> None:
    memory = AnswerMemory()
    own, shown = call("functions.read:0"), call("call_x")
    memory.keep(ROUTE, Conversation([user("Read it.")]), [THINKING, own], [shown])

    messages = restored(memory, user("Read it."), said(call("call_x", output="print()")))

    assert messages[1].parts == [THINKING, call("functions.read:0", output="print()")]
