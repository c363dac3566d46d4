"""What a client of Responses sends, and what of it only its own provider can answer."""

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
from sidestep.provider.wire.openai_responses.read import read
from sidestep.provider.wire.read_request import ReadRequest

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "read",
    "arguments": '{"path":"a.py"}',
}


def request(*items: dict[str, Any], **more: Any) -> ReadRequest:
    return read({"model": "m", "input": list(items or [HELLO]), **more})


def message(role: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(blocks), **more}


def text(text: str, type_: str = "input_text", **more: Any) -> dict[str, Any]:
    return {"type": type_, "text": text, **more}


def output(value: Any, call_id: str = "call_1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,aWNv", "detail": "auto"}


def test_a_string_is_what_the_user_writes() -> None:
    made = read({"model": "m", "input": "Hello", "instructions": "Be brief."})

    assert made.conversation.messages == [
        Message("system", [Text("Be brief.")]),
        Message("user", [Text("Hello")]),
    ]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(HELLO, Message("user", [Text("Hello")]), id="the user"),
        pytest.param(
            message("user", text("a"), PICTURE),
            Message("user", [Text("a"), Image("image/png", "aWNv")]),
            id="a picture",
        ),
        pytest.param(
            message("developer", text("a")), Message("system", [Text("a")]), id="the developer"
        ),
        pytest.param(
            message("assistant", text("a", "output_text"), id="msg_1", phase="commentary"),
            Message("assistant", [Text("a", item_id="msg_1", phase="commentary")]),
            id="the model",
        ),
        pytest.param(
            {"role": "assistant", "content": "a"}, Message("assistant", [Text("a")]), id="a string"
        ),
        pytest.param(
            message("assistant", {"type": "refusal", "refusal": "No."}),
            Message("assistant", [Text("No.")]),
            id="a refusal",
        ),
    ],
)
def test_a_message_is_read(item: dict[str, Any], expected: Message) -> None:
    made = request(item, HELLO)

    assert made.conversation.messages == [expected, Message("user", [Text("Hello")])]
    assert (made.unreadable, made.left_out) == ((), ())


SUMMARY = [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"id": "rs_1", "summary": SUMMARY, "content": None, "encrypted_content": "gAAA"},
            Reasoning("a\n\nb", encrypted="gAAA", item_id="rs_1"),
            id="a summary",
        ),
        pytest.param(
            {"summary": [], "encrypted_content": "gAAA"},
            Reasoning(encrypted="gAAA"),
            id="only a proof",
        ),
        pytest.param(
            {"summary": [], "content": [{"type": "reasoning_text", "text": "a"}]},
            Reasoning("a", field_name="content"),
            id="open thinking",
        ),
    ],
)
def test_thinking_is_read(fields: dict[str, Any], expected: Part) -> None:
    made = request(HELLO, {"type": "reasoning", **fields}, CALL)

    assert made.conversation.messages[1].parts[0] == expected
    assert made.can_move


def test_items_of_the_model_in_a_row_are_one_answer() -> None:
    second = {**CALL, "call_id": "call_2"}
    made = request(
        *(HELLO, {"type": "reasoning", "id": "rs_1", "summary": []}, CALL, second),
        *(output([text("1")]), output("2", "call_2"), message("assistant", text("Done"))),
    )

    roles = [m.role for m in made.conversation.messages]
    calls = [p for m in made.conversation.messages for p in m.parts if isinstance(p, ToolCall)]
    assert roles == ["user", "assistant", "assistant"]
    assert [(call.output, call.item_id) for call in calls] == [([Text("1")], "fc_1"), ("2", "fc_1")]
    assert calls[0].input == {"path": "a.py"}


UNREADABLE = [
    *(
        pytest.param({"input": [HELLO, {"type": kind}]}, f"an item of type '{kind}'", id=kind)
        for kind in (
            *("web_search_call", "custom_tool_call", "local_shell_call", "mcp_call"),
            *("compaction", "item_reference", "computer_call", "hologram"),
        )
    ),
    pytest.param(
        {"input": [HELLO, {**CALL, "namespace": "agents"}]}, "in a namespace", id="a namespace"
    ),
    pytest.param({"input": [HELLO, output("1")]}, "a result without a call", id="no call"),
    pytest.param(
        {"input": [HELLO, {**CALL, "arguments": '{"a'}]}, "not a JSON object", id="cut arguments"
    ),
    pytest.param(
        {"input": [message("user", {"type": "input_file", "file_id": "f"})]},
        "input_file",
        id="file",
    ),
    pytest.param(
        {"input": [message("user", {"type": "input_image", "file_id": "f"})]},
        "input_image",
        id="a picture in a file",
    ),
    pytest.param(
        {"input": [message("user", {**PICTURE, "image_url": "https://h/a.png"})]},
        "only its address",
        id="a picture elsewhere",
    ),
    pytest.param(
        {"input": [HELLO, message("assistant", {"type": "hologram"})]}, "hologram", id="a part"
    ),
    *(
        pytest.param({"tools": [{"type": kind}]}, f"a tool of type '{kind}'", id=f"tool {kind}")
        for kind in ("web_search", "custom", "namespace", "local_shell", "mcp", "file_search")
    ),
    pytest.param(
        {"previous_response_id": "resp_1"}, "only the provider has", id="an answer before"
    ),
    pytest.param(
        {"previous_response_id": "resp_1", "input": []}, "only the provider", id="no input"
    ),
    pytest.param({"conversation": "conv_1"}, "only the provider has", id="a conversation"),
    pytest.param({"prompt": {"id": "p"}}, "only the provider has", id="a prompt"),
    pytest.param({"background": True}, "in the background", id="the background"),
    pytest.param({"tool_choice": {"type": "web_search"}}, "'web_search'", id="a choice"),
]


@pytest.mark.parametrize(("more", "why"), UNREADABLE)
def test_what_no_other_route_can_read_is_told(more: dict[str, Any], why: str) -> None:
    made = read({"model": "m", "input": [HELLO], **more})

    assert not made.can_move
    assert len(made.unreadable) == 1
    assert why in made.unreadable[0]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        pytest.param({"metadata": {"a": "b"}}, "metadata", id="metadata"),
        pytest.param({"client_metadata": {"a": "b"}}, "client_metadata", id="Codex's metadata"),
        pytest.param({"truncation": "auto"}, "truncation", id="truncation"),
        pytest.param({"text": {"verbosity": "low"}}, "text.verbosity", id="verbosity"),
        pytest.param({"reasoning": {"effort": "huge"}}, "the effort 'huge'", id="an odd effort"),
        pytest.param(
            {"tools": [{"type": "function", "name": "f", "strict": True}]},
            "`strict` of tools",
            id="strict",
        ),
        pytest.param(
            {
                "input": [
                    HELLO,
                    message("assistant", text("a", "output_text", annotations=[{}])),
                    HELLO,
                ]
            },
            "annotations",
            id="annotations",
        ),
    ],
)
def test_what_another_route_goes_without_is_told(more: dict[str, Any], what: str) -> None:
    made = read({"model": "m", "input": [HELLO], **more})

    assert made.can_move
    assert made.left_out == (what,)


FUNCTION = {"type": "function", "name": "read"}


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        pytest.param({"max_output_tokens": 16}, {"max_output_tokens": 16}, id="the longest answer"),
        pytest.param({"temperature": 0, "top_p": 1}, {"temperature": 0, "top_p": 1}, id="sampling"),
        pytest.param(
            {"reasoning": {"effort": "none", "summary": "auto"}}, {"reasoning": "none"}, id="effort"
        ),
        pytest.param({"reasoning": {"summary": "auto"}}, {}, id="only a summary"),
        pytest.param({"tool_choice": "required"}, {"tool_choice": "required"}, id="any tool"),
        pytest.param({"tool_choice": FUNCTION}, {"tool_choice": "read"}, id="one tool"),
        pytest.param({"parallel_tool_calls": True}, {"parallel_tool_calls": True}, id="parallel"),
        pytest.param({"prompt_cache_key": "k"}, {"cache_key": "k"}, id="a key of the cache"),
        pytest.param(
            {"text": {"format": {"type": "text"}}, "background": False}, {}, id="defaults"
        ),
        pytest.param({"store": False, "include": ["reasoning.encrypted_content"]}, {}, id="store"),
    ],
)
def test_settings_are_read(more: dict[str, Any], settings: dict[str, Any]) -> None:
    made = request(**more)

    assert made.conversation.settings == Settings(**settings)
    assert (made.unreadable, made.left_out) == ((), ())


def test_tools_and_stream_are_read() -> None:
    tool = {**FUNCTION, "description": "Read.", "parameters": {"type": "object"}, "strict": False}

    made = request(tools=[tool], stream=True)

    assert made.conversation.tools == (ToolSpec("read", "Read.", {"type": "object"}),)
    assert made.is_streamed
