from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from sidestep.provider.wire.cache_markers import mark_anthropic, mark_chat

MARK = {"cache_control": {"type": "ephemeral"}}

TOOL = {"name": "a", "input_schema": {"type": "object"}}
LAST_TOOL = {"name": "b", "input_schema": {"type": "object"}}
USE = {"type": "tool_use", "id": "t", "name": "a", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "1"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,a"}}
THINKING = {"type": "thinking", "thinking": "Hm", "signature": "s"}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def marked(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, **MARK}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


ANTHROPIC = [
    pytest.param(
        body(
            user(text("a"), text("b")),
            assistant(THINKING, text("c"), USE),
            user(RESULT, text("d")),
            system=[text("s"), text("t")],
            tools=[TOOL, LAST_TOOL],
        ),
        body(
            user(text("a"), marked(text("b"))),
            assistant(THINKING, text("c"), USE),
            user(RESULT, marked(text("d"))),
            system=[text("s"), marked(text("t"))],
            tools=[TOOL, marked(LAST_TOOL)],
        ),
        id="all four",
    ),
    pytest.param(
        body(
            user(text("a")),
            assistant(text("b")),
            user(text("c")),
            assistant(USE),
            user(RESULT),
        ),
        body(
            user(text("a")),
            assistant(text("b")),
            user(marked(text("c"))),
            assistant(USE),
            user(marked(RESULT)),
        ),
        id="only the last two of the user's",
    ),
    pytest.param(body(user(text("a"), IMAGE)), body(user(text("a"), marked(IMAGE))), id="image"),
    pytest.param(
        body(user({"type": "document"})), body(user(marked({"type": "document"}))), id="document"
    ),
    pytest.param(body(user(USE)), body(user(marked(USE))), id="a call, wherever it stands"),
    pytest.param(
        body(user(text("a"), text(""), text(" \n"))),
        body(user(marked(text("a")), text(""), text(" \n"))),
        id="empty texts fall through",
    ),
    pytest.param(
        body(
            user(
                text("a"),
                THINKING,
                {"type": "redacted_thinking", "data": "r"},
                {"type": "fallback"},
                {"type": "brand_new", "text": "x"},
                {"type": "text"},
                {"type": "text", "text": None},
                {},
            )
        ),
        body(
            user(
                marked(text("a")),
                THINKING,
                {"type": "redacted_thinking", "data": "r"},
                {"type": "fallback"},
                {"type": "brand_new", "text": "x"},
                {"type": "text"},
                {"type": "text", "text": None},
                {},
            )
        ),
        id="what cannot be marked falls through",
    ),
    pytest.param(
        body(user(text("a")), assistant(text("b")), user(text(""))),
        body(user(marked(text("a"))), assistant(text("b")), user(text(""))),
        id="a message with nothing to mark is passed over",
    ),
    pytest.param(
        body(user(text("a")), user(text("b")), assistant(text("c")), user(text("d"))),
        body(
            user(text("a")), user(marked(text("b"))), assistant(text("c")), user(marked(text("d")))
        ),
        id="neighbours count as one",
    ),
    pytest.param(
        body(user(text("a")), {"role": "system", "content": [text("b")]}),
        body(user(marked(text("a"))), {"role": "system", "content": [text("b")]}),
        id="later instructions are passed over",
    ),
    pytest.param(
        body({"role": "user", "content": "a"}), body(user(marked(text("a")))), id="a string"
    ),
    pytest.param(
        body(user(text("a")), system=[text("s"), text("")], tools=[]),
        body(user(marked(text("a"))), system=[marked(text("s")), text("")], tools=[]),
        id="empty instructions, and no tools",
    ),
    pytest.param(
        body({"role": "user"}, {"role": "user", "content": None}, system="s", tools=None),
        body({"role": "user"}, {"role": "user", "content": None}, system="s", tools=None),
        id="nothing that can be marked",
    ),
    pytest.param(body(), body(), id="no messages"),
]


@pytest.mark.parametrize(("given", "wanted"), ANTHROPIC)
def test_anthropic(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    sent = copy.deepcopy(given)

    mark_anthropic(sent, most=4)

    assert sent == wanted


SYSTEM = {"role": "system", "content": "s"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "t", "type": "function", "function": {"name": "a", "arguments": "{}"}}],
    "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "signature": "s"}],
}


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def tool(content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "t", "content": content}


CHAT = [
    pytest.param(
        body(SYSTEM, said("user", "a"), said("assistant", "b"), said("user", "c"), tools=[TOOL]),
        body(
            said("system", [marked(text("s"))]),
            said("user", [marked(text("a"))]),
            said("assistant", "b"),
            said("user", [marked(text("c"))]),
            tools=[TOOL],
        ),
        id="strings become lists, and tools stay",
    ),
    pytest.param(
        body(said("user", "a"), CALL, tool("1"), tool("2")),
        body(said("user", [marked(text("a"))]), CALL, tool("1"), tool([marked(text("2"))])),
        id="results of one step count as one",
    ),
    pytest.param(
        body(said("user", "a"), CALL, tool("1"), said("user", "b"), CALL, tool("")),
        body(
            said("user", [marked(text("a"))]),
            CALL,
            tool("1"),
            said("user", [marked(text("b"))]),
            CALL,
            tool(""),
        ),
        id="an empty result is passed over",
    ),
    pytest.param(
        body(said("user", [text("a"), PICTURE, text("")])),
        body(said("user", [marked(text("a")), PICTURE, text("")])),
        id="only text is marked",
    ),
    pytest.param(
        body(said("user", "a"), CALL, tool("1"), said("user", [PICTURE])),
        body(
            said("user", [marked(text("a"))]),
            CALL,
            tool([marked(text("1"))]),
            said("user", [PICTURE]),
        ),
        id="a picture after a result",
    ),
    pytest.param(
        body(SYSTEM, said("developer", [text("d"), text("")]), said("system", " ")),
        body(SYSTEM, said("developer", [marked(text("d")), text("")]), said("system", " ")),
        id="the last instructions",
    ),
    pytest.param(
        body(said("user", "a"), SYSTEM),
        body(said("user", [marked(text("a"))]), SYSTEM),
        id="later instructions are passed over",
    ),
    pytest.param(
        body(said("user", None), said("function", "a"), {"role": "user"}),
        body(said("user", None), said("function", "a"), {"role": "user"}),
        id="nothing that can be marked",
    ),
    pytest.param(body(), body(), id="no messages"),
]


@pytest.mark.parametrize(("given", "wanted"), CHAT)
def test_chat(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    sent = copy.deepcopy(given)

    mark_chat(sent, most=4)

    assert sent == wanted


@pytest.mark.parametrize(
    ("most", "places"),
    [
        pytest.param(-1, "", id="below zero"),
        pytest.param(0, "", id="none"),
        pytest.param(1, "c", id="the last of the user's"),
        pytest.param(2, "sc", id="the instructions"),
        pytest.param(3, "sac", id="the one before the last"),
        pytest.param(4, "tsac", id="the tools"),
        pytest.param(9, "tsac", id="never more"),
    ],
)
def test_the_most_useful_places_come_first(most: int, places: str) -> None:
    sent = body(
        user(text("a")),
        assistant(text("b")),
        user(text("c")),
        system=[text("s")],
        tools=[{"name": "t", "input_schema": {}}],
    )

    mark_anthropic(sent, most=most)

    blocks = [*sent["tools"], *sent["system"], *(m["content"][0] for m in sent["messages"])]
    found = [block.get("text", "t") for block in blocks if "cache_control" in block]
    assert "".join(found) == places


@pytest.mark.parametrize("mark", [mark_anthropic, mark_chat])
def test_a_longer_conversation_moves_only_the_last_markers(mark: Any) -> None:
    steps = [said(role, [text("a")]) for role in ("user", "assistant") * 5]

    def places(count: int) -> list[int]:
        sent = copy.deepcopy(body(SYSTEM, *steps[:count]))
        mark(sent, most=4)
        return [i for i, m in enumerate(sent["messages"]) if "cache_control" in json.dumps(m)]

    kept = [0] if mark is mark_chat else []
    assert places(5) == [*kept, 3, 5]
    assert places(7) == [*kept, 5, 7]


@pytest.mark.parametrize("mark", [mark_anthropic, mark_chat])
def test_what_is_marked_is_a_copy(mark: Any) -> None:
    block, message, tool_ = text("a"), said("user", "b"), dict(TOOL)
    sent = body(said("user", [block]), said("assistant", "c"), message, tools=[tool_])

    mark(sent, most=4)

    assert (block, message, tool_) == (text("a"), said("user", "b"), TOOL)
    assert sent["messages"][0]["content"][0] == marked(text("a"))
    assert sent["messages"][2]["content"][0]["text"] is message["content"]
