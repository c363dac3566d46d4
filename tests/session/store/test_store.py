"""What every store promises, whatever it keeps a conversation in."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import MemoryStore, Route, SqliteStore, StoreError
from sidestep.provider.conversation import (
    AttemptRecord,
    Image,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    Usage,
)
from sidestep.session.store.store import Store

from ...provider.conversations import messages

pytestmark = pytest.mark.anyio

A, B = Route("anthropic/claude"), Route("openrouter/anthropic/claude")
PROOF = "EqQBCkYIBxgCKkB/+==\n\u2028é😀\x00"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "session.db")
    async with aclosing(made):
        yield made


def said(text: str) -> Message:
    return Message("user", [Text(text)])


def called(*names: str) -> Message:
    return Message("assistant", [ToolCall(n, "read_file", {"path": n}) for n in names], A, B)


PARTS = [
    pytest.param(Text("hi"), id="text"),
    pytest.param(Text(""), id="empty text"),
    pytest.param(Text("", signature=PROOF, item_id="msg_1"), id="text with proofs"),
    pytest.param(Text("hi", phase="commentary"), id="text with a phase"),
    pytest.param(Text("half a pair: \ud83d"), id="text that is no UTF-8"),
    pytest.param(Text("a\x00b\r\n"), id="control characters"),
    pytest.param(Image("image/png", "iVBORw0KGgo="), id="image"),
    pytest.param(Reasoning("so", signature=PROOF), id="reasoning"),
    pytest.param(Reasoning(redacted=PROOF), id="redacted reasoning"),
    pytest.param(Reasoning(encrypted=PROOF, item_id="rs_1"), id="encrypted reasoning"),
    pytest.param(Reasoning("so", complete=False), id="unfinished reasoning"),
    pytest.param(
        Reasoning(details=({"type": "reasoning.text", "text": PROOF, "index": 0}, {"x": [None]})),
        id="reasoning details",
    ),
    pytest.param(ToolCall("c1", "read_file", {"path": "a.py"}), id="pending call"),
    pytest.param(
        ToolCall("", "é", {"n": 1e300, "big": 2**70, "x": [{}, None, True, 0.1, "\udc80"]}),
        id="call with any JSON",
    ),
    pytest.param(ToolCall("c1", "f", {}, "completed", "\udcff", signature=PROOF), id="output"),
    pytest.param(ToolCall("c1", "f", {}, "completed", ""), id="empty output"),
    pytest.param(ToolCall("c1", "f", {}, "completed", []), id="no output"),
    pytest.param(
        ToolCall("c1", "f", {}, "completed", [Text("see"), Image("image/png", "aGk=")]),
        id="picture in an output",
    ),
    pytest.param(ToolCall("c1", "f", {}, "error", "no", is_error=True, item_id="fc"), id="error"),
    pytest.param(ToolCall("c1", "f", {}, "interrupted"), id="interrupted call"),
]


@pytest.mark.parametrize("part", PARTS)
async def test_a_part_comes_back_as_it_was(store: Store, part: Part) -> None:
    message = Message("assistant", [Text("before"), part], A, B)

    key = await store.append(message)

    assert await store.load() == {key: message}


ATTEMPTS = (
    AttemptRecord(route=B, number=1, kind="overloaded", status=529, seconds=0.25),
    AttemptRecord(route=A, number=2, seconds=1.5, waited=2.0, api_key_env="WORK_ACCOUNT"),
)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(Message("system", [Text("You are an agent.")]), id="system"),
        pytest.param(Message("user", [Text("hi"), Image("image/png", "aGk=")]), id="user"),
        pytest.param(Message("assistant", [], requested=B), id="no parts"),
        pytest.param(Message("assistant", [Text("a")], A, B, Usage(1, 2, 0, 4)), id="usage"),
        pytest.param(Message("assistant", [Text("a")], A, A, Usage()), id="unknown usage"),
        pytest.param(Message("assistant", [Text("a")], A, B, attempts=ATTEMPTS), id="attempts"),
    ],
)
async def test_a_message_comes_back_as_it_was(store: Store, message: Message) -> None:
    key = await store.append(message)

    assert await store.load() == {key: message}


async def test_a_new_store_is_empty(store: Store) -> None:
    assert await store.load() == {}


async def test_messages_come_back_in_order(store: Store) -> None:
    keys = [await store.append(said(str(n))) for n in range(12)]

    assert list((await store.load()).items()) == [(key, said(str(n))) for n, key in enumerate(keys)]


async def test_a_saved_part_takes_the_place_of_the_old_one(store: Store) -> None:
    first = await store.append(called("a", "b"))
    second = await store.append(called("c"))
    done = ToolCall("b", "read_file", {"path": "b"}, "completed", "print(1)")

    await store.save_part(first, 1, done)

    expected = called("a", "b")
    expected.parts[1] = done
    assert await store.load() == {first: expected, second: called("c")}


async def test_a_saved_part_may_be_of_another_type(store: Store) -> None:
    key = await store.append(called("a"))

    await store.save_part(key, 0, Text("never mind"))

    assert (await store.load())[key].parts == [Text("never mind")]


@pytest.mark.parametrize("parts", [0, 1, 3])
async def test_a_rewritten_message_keeps_its_place_and_key(store: Store, parts: int) -> None:
    keys = [await store.append(m) for m in (said("1"), called("a", "b"), said("3"))]
    new = Message("user", [Text(str(n)) for n in range(parts)], usage=Usage(1))

    await store.rewrite(keys[1], new)

    assert list((await store.load()).items()) == list(
        zip(keys, [said("1"), new, said("3")], strict=True)
    )


async def test_messages_that_replace_all_others_get_new_keys(store: Store) -> None:
    old = [await store.append(said(str(n))) for n in range(3)]
    summary = [said("summary"), called("a"), said("2")]

    new = await store.replace(summary)
    last = await store.append(said("more"))

    assert list((await store.load()).items()) == list(
        zip([*new, last], [*summary, said("more")], strict=True)
    )
    assert not {*new, last} & {*old}


async def test_all_messages_may_be_replaced_by_none(store: Store) -> None:
    await store.append(said("1"))

    assert await store.replace([]) == []
    assert await store.load() == {}


async def test_what_changes_in_a_message_later_is_not_kept_by_itself(store: Store) -> None:
    message, call = called("a"), ToolCall("a", "read_file", {}, "running")
    key = await store.append(message)
    (await store.load())[key].parts.append(Text("mine"))
    message.parts.append(Text("mine"))
    message.role = "user"

    await store.save_part(key, 0, call)
    call.state = "completed"

    expected = Message("assistant", [ToolCall("a", "read_file", {}, "running")], A, B)
    assert await store.load() == {key: expected}


MISSES: list[object] = [
    pytest.param(lambda s, k: s.save_part(k + 1, 0, Text("x")), "no message", id="save_part"),
    pytest.param(lambda s, k: s.save_part(k, 1, Text("x")), "has no part 1", id="part beyond"),
    pytest.param(lambda s, k: s.save_part(k, -1, Text("x")), "has no part -1", id="part before"),
    pytest.param(lambda s, k: s.rewrite(k + 1, said("x")), "no message", id="rewrite"),
]


@pytest.mark.parametrize(("call", "match"), MISSES)
async def test_what_is_not_there_cannot_be_changed(
    store: Store, call: Callable[[Store, int], Awaitable[None]], match: str
) -> None:
    key = await store.append(said("1"))

    with pytest.raises(StoreError, match=match):
        await call(store, key)

    assert await store.load() == {key: said("1")}


async def test_a_key_from_before_a_replacement_finds_nothing(store: Store) -> None:
    key = await store.append(said("1"))
    await store.replace([said("2")])

    with pytest.raises(StoreError, match="no message"):
        await store.rewrite(key, said("3"))


CALLS: list[object] = [
    pytest.param(lambda s: s.load(), id="load"),
    pytest.param(lambda s: s.append(said("x")), id="append"),
    pytest.param(lambda s: s.save_part(1, 0, Text("x")), id="save_part"),
    pytest.param(lambda s: s.rewrite(1, said("x")), id="rewrite"),
    pytest.param(lambda s: s.replace([]), id="replace"),
]


@pytest.mark.parametrize("call", CALLS)
async def test_a_closed_store_refuses(
    store: Store, call: Callable[[Store], Awaitable[object]]
) -> None:
    await store.append(said("1"))
    await store.aclose()

    with pytest.raises(StoreError, match="is closed: make another"):
        await call(store)


async def test_a_store_may_be_closed_twice_and_unused(store: Store) -> None:
    await store.aclose()
    await store.aclose()


async def test_two_tasks_at_once_take_turns(store: Store) -> None:
    kept: dict[str, list[int]] = {"a": [], "b": []}

    async def append(name: str) -> None:
        for n in range(10):
            kept[name].append(await store.append(called(f"{name}{n}", "pending")))
            await store.save_part(kept[name][-1], 1, Text(name))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for name in kept:
                tasks.start_soon(append, name)

    loaded = await store.load()
    for name, keys in kept.items():
        assert [key for key in loaded if key in keys] == keys
        for n, key in enumerate(keys):
            assert loaded[key].parts == [*called(f"{name}{n}").parts, Text(name)]
    assert len(loaded) == 20


async def test_a_cancelled_task_leaves_the_store_usable(store: Store) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.append(said("1"))
        await anyio.lowlevel.checkpoint()

    assert scope.cancelled_caught
    assert [*(await store.load()).values()] in ([], [said("1")])
    assert await store.append(said("2"))


async def test_a_store_is_closed_in_a_task_that_was_cancelled(store: Store) -> None:
    with anyio.CancelScope() as scope:
        await store.append(said("1"))
        scope.cancel()
        await store.aclose()

    with pytest.raises(StoreError, match="is closed"):
        await store.load()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@given(appended=st.lists(messages(surrogates=False), max_size=4))
def test_whatever_is_appended_comes_back(kind: str, appended: list[Message]) -> None:
    async def round_trip(store: Store) -> None:
        async with aclosing(store):
            for message in appended:
                await store.append(message)
            assert [*(await store.load()).values()] == appended

    with tempfile.TemporaryDirectory() as folder:
        made = MemoryStore() if kind == "memory" else SqliteStore(Path(folder, "session.db"))
        anyio.run(round_trip, made)
