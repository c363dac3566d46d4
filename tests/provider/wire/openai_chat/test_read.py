"""What a client of Chat Completions sends, and what of it only its own provider can answer."""

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
from sidestep.provider.wire.openai_chat.read import read
from sidestep.provider.wire.read_request import ReadRequest

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
CALL: dict[str, Any] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "read", "arguments": '{"path":"a.py"}'},
}


def request(*messages: dict[str, Any], **more: Any) -> ReadRequest:
    return read({"model": "m", "messages": list(messages or [HELLO]), **more})


def assistant(content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


PARTS = [
    pytest.param("Hello", [Text("Hello")], id="a string"),
    pytest.param([text("a"), text("b")], [Text("a"), Text("b")], id="parts"),
    pytest.param(
        [picture("data:image/png;base64,aWNv")], [Image("image/png", "aWNv")], id="a picture"
    ),
    pytest.param(
        [{"type": "image_url", "image_url": "data:image/png;base64,aWNv"}],
        [Image("image/png", "aWNv")],
        id="a picture as a string",
    ),
    pytest.param(
        [picture("data:image/png;charset=utf-8;base64,aWNv")],
        [Image("image/png", "aWNv")],
        id="a picture with a parameter",
    ),
]


@pytest.mark.parametrize(("content", "parts"), PARTS)
def test_what_the_user_writes_is_read(content: Any, parts: list[Part]) -> None:
    made = request({"role": "user", "content": content})

    assert made.conversation.messages == [Message("user", parts)]
    assert (made.unreadable, made.left_out) == ((), ())


DETAIL = {"type": "reasoning.text", "text": "Hm", "signature": "s", "index": 0}
ANSWERS = [
    pytest.param(assistant("Hi"), [Text("Hi")], id="text"),
    pytest.param(assistant([text("Hi")]), [Text("Hi")], id="parts"),
    pytest.param(assistant(None, refusal="No."), [Text("No.")], id="a refusal"),
    pytest.param(
        assistant("Hi", reasoning_content="Hm"),
        [Reasoning("Hm"), Text("Hi")],
        id="thinking of DeepSeek and others",
    ),
    pytest.param(
        assistant("Hi", reasoning="Hm"),
        [Reasoning("Hm", field_name="reasoning"), Text("Hi")],
        id="thinking of Groq and others",
    ),
    pytest.param(
        assistant("Hi", reasoning="Hm", reasoning_content="Hm", reasoning_details=[DETAIL]),
        [Reasoning("Hm", details=(DETAIL,), field_name="reasoning"), Text("Hi")],
        id="thinking of OpenRouter",
    ),
    pytest.param(
        assistant([{"type": "thinking", "thinking": [text("Hm")]}, text("Hi")]),
        [Reasoning("Hm"), Text("Hi")],
        id="thinking of Mistral",
    ),
    pytest.param(
        assistant("<think>\nHm\n</think>\n\nHi"),
        [Reasoning("Hm"), Text("Hi")],
        id="thinking of MiniMax",
    ),
    pytest.param(assistant("<think>Hm"), [Text("<think>Hm")], id="a tag that never ends"),
    pytest.param(
        assistant(None, tool_calls=[CALL]),
        [ToolCall("call_1", "read", {"path": "a.py"})],
        id="a call",
    ),
    pytest.param(
        assistant("", tool_calls=[{**CALL, "function": {"name": "now", "arguments": ""}}]),
        [ToolCall("call_1", "now", {})],
        id="a call without arguments",
    ),
    pytest.param(
        assistant(
            None, tool_calls=[{**CALL, "extra_content": {"google": {"thought_signature": "s"}}}]
        ),
        [ToolCall("call_1", "read", {"path": "a.py"}, signature="s")],
        id="a call that Gemini signed",
    ),
]


@pytest.mark.parametrize(("message", "parts"), ANSWERS)
def test_what_the_model_wrote_is_read(message: dict[str, Any], parts: list[Part]) -> None:
    made = request(HELLO, message, HELLO)

    assert made.conversation.messages[1:-1] == [Message("assistant", parts)]
    assert made.can_move


def test_results_go_into_their_calls_and_instructions_stay_in_place() -> None:
    second = {**CALL, "id": "call_2"}

    made = request(
        {"role": "system", "content": "Be brief."},
        HELLO,
        assistant(None, tool_calls=[CALL, second]),
        {"role": "tool", "tool_call_id": "call_2", "content": [text("2")]},
        {"role": "tool", "tool_call_id": "call_1", "content": "1"},
        {"role": "developer", "content": "Be kind."},
    )

    first, other = made.conversation.messages[2].parts
    assert isinstance(first, ToolCall)
    assert isinstance(other, ToolCall)
    assert (first.output, first.state) == ("1", "completed")
    assert (other.output, other.state) == ([Text("2")], "completed")
    assert [message.role for message in made.conversation.messages] == [
        *("system", "user", "assistant", "system")
    ]


UNREADABLE = [
    pytest.param(
        {"messages": [{"role": "user", "content": [picture("https://h/a.png")]}]},
        "a picture that only its address names",
        id="a picture elsewhere",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [picture("data:application/pdf;base64,aWNv")]}]},
        "a picture that only its address names",
        id="a document as a picture",
    ),
    *(
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": kind, kind: {}}]}]}, kind, id=kind
        )
        for kind in ("file", "input_audio", "video_url", "hologram")
    ),
    pytest.param(
        {"messages": [HELLO, assistant(None, tool_calls=[{"id": "c", "type": "custom"}])]},
        "a call of type 'custom'",
        id="a custom call",
    ),
    pytest.param(
        {"messages": [HELLO, assistant(None, function_call={"name": "f", "arguments": "{}"})]},
        "function_call",
        id="a call in the old form",
    ),
    pytest.param(
        {"messages": [HELLO, {"role": "function", "name": "f", "content": "1"}]},
        "role 'function'",
        id="a result in the old form",
    ),
    pytest.param(
        {"messages": [HELLO, {"role": "tool", "tool_call_id": "c", "content": "1"}]},
        "a result without a call",
        id="no call",
    ),
    *(
        pytest.param(
            {
                "messages": [
                    HELLO,
                    assistant(
                        None,
                        tool_calls=[{"id": "c", "function": {"name": "f", "arguments": arguments}}],
                    ),
                ]
            },
            "arguments of a call that are not a JSON object",
            id=f"arguments {arguments}",
        )
        for arguments in ('{"path": "a', "[]", "5")
    ),
    pytest.param({"tools": [{"type": "custom", "custom": {}}]}, "'custom'", id="a custom tool"),
    pytest.param({"functions": [{"name": "f"}]}, "functions in the old form", id="functions"),
    pytest.param({"web_search_options": {"a": 1}}, "a search", id="a search"),
    pytest.param({"plugins": [{"id": "web"}]}, "plugins", id="plugins"),
    pytest.param({"n": 2}, "several answers", id="several answers"),
    pytest.param({"logprobs": True}, "probabilities", id="probabilities"),
    pytest.param({"modalities": ["text", "audio"]}, "else than text", id="sound"),
    pytest.param(
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}},
        "allowed_tools",
        id="choice",
    ),
]


@pytest.mark.parametrize(("more", "why"), UNREADABLE)
def test_what_no_other_route_can_read_is_told(more: dict[str, Any], why: str) -> None:
    made = read({"model": "m", "messages": [HELLO], **more})

    assert not made.can_move
    assert len(made.unreadable) == 1
    assert why in made.unreadable[0]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        pytest.param({"metadata": {"a": "b"}}, "metadata", id="metadata"),
        pytest.param({"user": "u"}, "user", id="user"),
        pytest.param({"seed": 0}, "seed", id="seed"),
        pytest.param({"provider": {"order": ["a"]}}, "provider", id="OpenRouter's order"),
        pytest.param({"reasoning_effort": "default"}, "the effort 'default'", id="an odd effort"),
        pytest.param(
            {"messages": [{**HELLO, "name": "Ann"}]}, "`name` of messages", id="a name of a user"
        ),
        pytest.param(
            {"tools": [{"function": {"name": "f", "strict": True}}]},
            "`strict` of tools",
            id="strict",
        ),
    ],
)
def test_what_another_route_goes_without_is_told(more: dict[str, Any], what: str) -> None:
    made = read({"model": "m", "messages": [HELLO], **more})

    assert made.can_move
    assert made.left_out == (what,)


FUNCTION = {"type": "function", "function": {"name": "read"}}
SETTINGS = [
    pytest.param({"max_tokens": 5}, {"max_output_tokens": 5}, id="the longest answer"),
    pytest.param(
        {"max_tokens": 5, "max_completion_tokens": 6}, {"max_output_tokens": 6}, id="both limits"
    ),
    pytest.param({"temperature": 0, "top_p": 1}, {"temperature": 0, "top_p": 1}, id="sampling"),
    pytest.param({"reasoning_effort": "xhigh"}, {"reasoning": "xhigh"}, id="an effort"),
    pytest.param({"reasoning": {"effort": "low"}}, {"reasoning": "low"}, id="OpenRouter's"),
    pytest.param({"reasoning": {"enabled": False}}, {"reasoning": "none"}, id="OpenRouter's off"),
    pytest.param({"reasoning": {"enabled": True}}, {"reasoning": "medium"}, id="OpenRouter's on"),
    pytest.param({"reasoning": {"max_tokens": 9000}}, {"reasoning": "high"}, id="a budget"),
    pytest.param({"thinking": {"type": "disabled"}}, {"reasoning": "none"}, id="a switch off"),
    pytest.param({"thinking": {"type": "enabled"}}, {"reasoning": "medium"}, id="a switch on"),
    pytest.param(
        {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        {"reasoning": "max"},
        id="a switch and an effort",
    ),
    pytest.param({"tool_choice": "required"}, {"tool_choice": "required"}, id="any tool"),
    pytest.param({"tool_choice": "any"}, {"tool_choice": "required"}, id="Mistral's any tool"),
    pytest.param({"tool_choice": FUNCTION}, {"tool_choice": "read"}, id="one tool"),
    pytest.param(
        {"parallel_tool_calls": False}, {"parallel_tool_calls": False}, id="one call at a time"
    ),
    pytest.param({"prompt_cache_key": "k"}, {"cache_key": "k"}, id="a key of the cache"),
    pytest.param({"n": 1, "modalities": ["text"], "stop": None}, {}, id="defaults"),
    pytest.param({"response_format": {"type": "text"}}, {}, id="the default format"),
]


@pytest.mark.parametrize(("more", "settings"), SETTINGS)
def test_settings_are_read(more: dict[str, Any], settings: dict[str, Any]) -> None:
    made = request(**more)

    assert made.conversation.settings == Settings(**settings)
    assert (made.unreadable, made.left_out) == ((), ())


@pytest.mark.parametrize("options", [None, {"include_usage": True}, {"include_usage": False}])
def test_a_client_says_whether_it_wants_the_usage(options: Any) -> None:
    made = request(stream=True, stream_options=options)

    assert made.is_streamed
    assert made.wants_usage is bool(options and options["include_usage"])


def test_a_tool_without_parameters_takes_none() -> None:
    made = request(tools=[{"type": "function", "function": {"name": "now"}}])

    schema = {"type": "object", "properties": {}}
    assert made.conversation.tools == (ToolSpec("now", "", schema),)
