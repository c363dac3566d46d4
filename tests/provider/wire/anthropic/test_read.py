"""What a client of Anthropic Messages sends, and what of it only its own provider can answer."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep.provider.conversation import (
    Image,
    Message,
    Part,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.wire.anthropic.read import read
from sidestep.provider.wire.read_request import ReadRequest

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWNv"}}
USE = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}


def request(*messages: dict[str, Any], **more: Any) -> ReadRequest:
    return read({"model": "m", "max_tokens": 9, "messages": list(messages or [HELLO]), **more})


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def result(content: Any = "print(1)", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}


def call(output: Any = "print(1)", state: Any = "completed", **more: Any) -> ToolCall:
    return ToolCall("toolu_1", "read", {"path": "a.py"}, state, output, **more)


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


PARTS = [
    pytest.param("Hello", [Text("Hello")], id="a string"),
    pytest.param([text("a"), text("b")], [Text("a"), Text("b")], id="blocks"),
    pytest.param([PIXEL], [Image("image/png", "aWNv")], id="a picture"),
    pytest.param(
        [{**text("a"), "cache_control": {"type": "ephemeral"}}], [Text("a")], id="a cache marker"
    ),
]


@pytest.mark.parametrize(("content", "parts"), PARTS)
def test_what_the_user_writes_is_read(content: Any, parts: list[Part]) -> None:
    made = request({"role": "user", "content": content})

    assert made.conversation.messages == [Message("user", parts)]
    assert (made.unreadable, made.left_out) == ((), ())


ANSWERS = [
    pytest.param(text("Hm"), Text("Hm"), id="text"),
    pytest.param(
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        Reasoning("Hm", signature="s"),
        id="thinking",
    ),
    pytest.param(
        {"type": "thinking", "thinking": "", "signature": "s"},
        Reasoning(signature="s"),
        id="thinking that is not shown",
    ),
    pytest.param(
        {"type": "thinking", "thinking": "Hm", "signature": ""},
        Reasoning("Hm"),
        id="thinking without a proof",
    ),
    pytest.param(
        {"type": "redacted_thinking", "data": "d"}, Reasoning(redacted="d"), id="redacted thinking"
    ),
    pytest.param(USE, ToolCall("toolu_1", "read", {"path": "a.py"}), id="a call"),
]


@pytest.mark.parametrize(("block", "part"), ANSWERS)
def test_what_the_model_wrote_is_read(block: Any, part: Part) -> None:
    made = request(HELLO, assistant(block), HELLO)

    assert made.conversation.messages[1] == Message("assistant", [part])
    assert made.can_move


RESULTS = [
    pytest.param(result(), call(), id="a string"),
    pytest.param(result(None), call(""), id="none"),
    pytest.param(result([text("a")]), call([Text("a")]), id="blocks"),
    pytest.param(result([PIXEL]), call([Image("image/png", "aWNv")]), id="a picture"),
    pytest.param(result("no", is_error=True), call("no", "error", is_error=True), id="an error"),
]


@pytest.mark.parametrize(("block", "expected"), RESULTS)
def test_a_result_goes_into_its_call(block: Any, expected: ToolCall) -> None:
    made = request(HELLO, assistant(USE), user(block, text("Go on")))

    assert made.conversation.messages == [
        Message("user", [Text("Hello")]),
        Message("assistant", [expected]),
        Message("user", [Text("Go on")]),
    ]


def test_an_id_that_comes_again_belongs_to_the_latest_call() -> None:
    again = {**USE, "input": {"path": "b.py"}}

    closed = request(HELLO, assistant(USE), user(result("1")), assistant(again), user(result("2")))
    left_open = request(HELLO, assistant(USE), HELLO, assistant(again), user(result("2")))

    assert outputs(closed) == ["1", "2"]
    assert outputs(left_open) == [None, "2"]


def outputs(made: ReadRequest) -> list[object]:
    parts = (part for message in made.conversation.messages for part in message.parts)
    return [part.output for part in parts if isinstance(part, ToolCall)]


UNREADABLE = [
    pytest.param(
        {"messages": [user({"type": "document", "source": {}})]}, "document", id="document"
    ),
    pytest.param(
        {"messages": [user({"type": "image", "source": {"type": "url", "url": "http://h"}})]},
        "'image' by its url",
        id="a picture elsewhere",
    ),
    pytest.param(
        {"messages": [user({"type": "image", "source": {"type": "file", "file_id": "f"}})]},
        "'image' by its file",
        id="a picture in a file",
    ),
    pytest.param(
        {"messages": [HELLO, assistant({"type": "server_tool_use", "id": "s", "name": "n"})]},
        "server_tool_use",
        id="a call by the server",
    ),
    pytest.param(
        {"messages": [HELLO, assistant({"type": "web_search_tool_result", "content": []})]},
        "web_search_tool_result",
        id="a result of the server",
    ),
    pytest.param(
        {"messages": [HELLO, assistant({"type": "compaction", "content": "c"})]},
        "compaction",
        id="a compaction",
    ),
    pytest.param(
        {"messages": [HELLO, assistant({"type": "hologram"})]}, "hologram", id="an unknown block"
    ),
    pytest.param(
        {"messages": [HELLO, assistant(USE), user(result([{"type": "document"}]))]},
        "document",
        id="a document in a result",
    ),
    pytest.param({"messages": [HELLO, user(result())]}, "a result without a call", id="no call"),
    pytest.param(
        {"messages": [HELLO, assistant(USE), user(result(), result())]},
        "a result without a call",
        id="two results",
    ),
    pytest.param(
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        "a tool of type 'web_search_20250305'",
        id="a tool of the server",
    ),
    pytest.param(
        {"tools": [{"type": "bash_20250124", "name": "bash"}]}, "bash_20250124", id="a defined tool"
    ),
    pytest.param({"mcp_servers": [{"url": "http://h"}]}, "MCP", id="servers of MCP"),
    pytest.param({"container": "c"}, "a container", id="a container"),
]


@pytest.mark.parametrize(("more", "why"), UNREADABLE)
def test_what_no_other_route_can_read_is_told(more: dict[str, Any], why: str) -> None:
    body = {"messages": [HELLO], **more}

    made = read({"model": "m", "max_tokens": 9, **body})

    assert not made.can_move
    assert len(made.unreadable) == 1
    assert why in made.unreadable[0]


def test_a_reason_names_the_first_place_and_comes_once() -> None:
    page = {"type": "document", "source": {}}

    made = request(user(text("a"), page), user(page))

    assert made.unreadable == ("a block of type 'document' (messages[0].content[1])",)


LEFT_OUT = [
    pytest.param({"metadata": {"user_id": "u"}}, "metadata", id="metadata"),
    pytest.param({"context_management": {"edits": [{}]}}, "context_management", id="edits"),
    pytest.param({"betas": ["b"]}, "betas", id="betas"),
    pytest.param({"top_k": 4}, "top_k", id="top_k"),
    pytest.param({"service_tier": "auto"}, "service_tier", id="a tier"),
    pytest.param({"hologram": True}, "hologram", id="a parameter that nobody knows"),
    pytest.param(
        {"tools": [{"name": "t", "input_schema": {}, "strict": True}]},
        "`strict` of tools",
        id="strict",
    ),
    pytest.param(
        {"messages": [HELLO, assistant({**text("a"), "citations": [{}]}), HELLO]},
        "citations",
        id="citations",
    ),
    pytest.param(
        {"messages": [HELLO, assistant(text("a"), {"type": "fallback"}), HELLO]},
        "a block of type 'fallback'",
        id="a mark of a failover",
    ),
]


@pytest.mark.parametrize(("more", "what"), LEFT_OUT)
def test_what_another_route_goes_without_is_told(more: dict[str, Any], what: str) -> None:
    made = read({"model": "m", "max_tokens": 9, "messages": [HELLO], **more})

    assert made.can_move
    assert made.left_out == (what,)


@pytest.mark.parametrize(
    "more", [{"metadata": None}, {"metadata": {}}, {"stop_sequences": []}, {"mcp_servers": []}]
)
def test_what_is_there_but_empty_is_not_told(more: dict[str, Any]) -> None:
    made = request(**more)

    assert (made.unreadable, made.left_out) == ((), ())


SETTINGS = [
    pytest.param({"max_tokens": 5}, {"max_output_tokens": 5}, id="the longest answer"),
    pytest.param({"temperature": 0, "top_p": 0.5}, {"temperature": 0, "top_p": 0.5}, id="sampling"),
    pytest.param({"thinking": {"type": "disabled"}}, {"reasoning": "none"}, id="no thinking"),
    pytest.param({"thinking": {"type": "adaptive"}}, {"reasoning": "high"}, id="adaptive"),
    pytest.param(
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}},
        {"reasoning": "xhigh"},
        id="an effort",
    ),
    pytest.param({"output_config": {"effort": "low"}}, {"reasoning": "low"}, id="only an effort"),
    *(
        pytest.param(
            {"thinking": {"type": "enabled", "budget_tokens": budget}},
            {"reasoning": effort},
            id=f"a budget of {budget}",
        )
        for budget, effort in ((1024, "minimal"), (1025, "low"), (10_000, "high"), (63_999, "max"))
    ),
    pytest.param({"tool_choice": {"type": "auto"}}, {"tool_choice": "auto"}, id="auto"),
    pytest.param({"tool_choice": {"type": "any"}}, {"tool_choice": "required"}, id="any"),
    pytest.param({"tool_choice": {"type": "none"}}, {"tool_choice": "none"}, id="no tool"),
    pytest.param(
        {"tool_choice": {"type": "tool", "name": "read", "disable_parallel_tool_use": True}},
        {"tool_choice": "read", "parallel_tool_calls": False},
        id="one tool",
    ),
]


@pytest.mark.parametrize(("more", "settings"), SETTINGS)
def test_settings_are_read(more: dict[str, Any], settings: dict[str, Any]) -> None:
    made = request(**more)

    assert made.conversation.settings == Settings(**{"max_output_tokens": 9, **settings})
    assert made.can_move


def test_instructions_tools_and_stream_are_read() -> None:
    made = request(
        system=[text("Be brief."), text("Be kind.")],
        tools=[{"name": "read", "description": "Read.", "input_schema": {"type": "object"}}],
        stream=True,
    )

    assert made.conversation.messages[0] == Message("system", [Text("Be brief."), Text("Be kind.")])
    assert made.conversation.tools == (ToolSpec("read", "Read.", {"type": "object"}),)
    assert made.is_streamed


def test_a_request_for_a_count_has_no_longest_answer() -> None:
    made = read({"model": "m", "messages": [HELLO]})

    assert made.conversation.settings == Settings()
    assert not made.is_streamed
