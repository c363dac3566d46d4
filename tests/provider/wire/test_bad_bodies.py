"""A body that is no request of its wire is one kind of error, which says where it is wrong."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.wire.read_request import ReadRequest, RequestError
from sidestep.provider.wire.registry import reader_of
from sidestep.provider.wire_name import WIRES, Wire

from ...property import examples

PATH = "/v1beta/models/m:streamGenerateContent?alt=sse"
BODIES: dict[Wire, dict[str, Any]] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    },
    "openai-chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "function": {"name": "read", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {}}}],
    },
    "openai-responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
            {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "done"},
        ],
        "tools": [{"type": "function", "name": "read", "parameters": {}}],
        "reasoning": {"effort": "low"},
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "tools": [{"functionDeclarations": [{"name": "read"}]}],
        "generationConfig": {"maxOutputTokens": 9, "thinkingConfig": {"thinkingBudget": 512}},
    },
}
ROLE = "must be 'user'"


def read(wire: Wire, body: Any, path: str = PATH) -> ReadRequest:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return reader_of(wire).read(raw, path=path)


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    """Return a copy of *value* with something else at *path*."""
    if not path:
        return to
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = changed(value[path[0]] if _has(value, path[0]) else {}, path[1:], to)
    return copy


def _has(value: Any, key: Any) -> bool:
    return isinstance(value, list) or key in value


@pytest.mark.parametrize("wire", WIRES)
def test_a_good_body_is_read(wire: Wire) -> None:
    request = read(wire, BODIES[wire])

    assert request.model == "m"
    assert request.can_move
    assert request.conversation.messages[0].role == "user"
    assert [tool.name for tool in request.conversation.tools] == ["read"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(b"", "is not JSON", id="empty"),
        pytest.param(b'{"model":', "is not JSON", id="cut"),
        pytest.param(b"\xff\xfe", "is not JSON", id="not text"),
        pytest.param(b"<html>", "is not JSON", id="a page"),
        pytest.param(b"[]", "must be a JSON object, got a list", id="a list"),
        pytest.param(b'"hello"', "must be a JSON object, got a string", id="a string"),
        pytest.param(b"null", "must be a JSON object, got null", id="null"),
        pytest.param(b"[" * 100_000, "is not JSON", id="nested without end"),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_a_body_that_is_no_object_is_refused(wire: Wire, body: bytes, problem: str) -> None:
    with pytest.raises(RequestError, match=problem) as raised:
        read(wire, body)

    assert raised.value.where == ""
    assert str(raised.value).startswith("the body ")


BAD: list[tuple[Wire, tuple[Any, ...], Any, str, str]] = [
    ("anthropic", ("model",), None, "model", "is missing"),
    ("anthropic", ("model",), 5, "model", "must be a string, got a number"),
    ("anthropic", ("messages",), [], "messages", "is empty"),
    ("anthropic", ("messages",), None, "messages", "is empty"),
    ("anthropic", ("messages",), "hi", "messages", "must be a list, got a string"),
    ("anthropic", ("messages", 0), "hi", "messages[0]", "must be an object, got a string"),
    ("anthropic", ("messages", 0, "role"), "tool", "messages[0].role", ROLE),
    ("anthropic", ("messages", 0, "content"), 5, "messages[0].content", "a string or a list"),
    ("anthropic", ("messages", 0, "content", 0), 5, "messages[0].content[0]", "an object"),
    (
        *("anthropic", ("messages", 0, "content", 0, "text")),
        *(7, "messages[0].content[0].text", "must be a string, got a number"),
    ),
    ("anthropic", ("max_tokens",), 1.5, "max_tokens", "a whole number above 0"),
    ("anthropic", ("max_tokens",), 0, "max_tokens", "a whole number above 0"),
    ("anthropic", ("max_tokens",), True, "max_tokens", "must be a number, got a boolean"),
    ("anthropic", ("temperature",), "1", "temperature", "must be a number, got a string"),
    ("anthropic", ("stream",), "true", "stream", "must be true or false, got a string"),
    ("anthropic", ("system",), 5, "system", "must be a string or a list"),
    ("anthropic", ("system",), [{"type": "image"}], "system[0].type", "must be 'text'"),
    ("anthropic", ("tools", 0, "name"), "", "tools[0].name", "is missing"),
    ("anthropic", ("tools", 0, "input_schema"), [], "tools[0].input_schema", "an object"),
    ("anthropic", ("thinking",), "on", "thinking", "must be an object, got a string"),
    ("anthropic", ("tool_choice",), {"type": "some"}, "tool_choice.type", "must be 'auto'"),
    ("anthropic", ("tool_choice",), {"type": "tool"}, "tool_choice.name", "is missing"),
    ("openai-chat", ("model",), "", "model", "is missing"),
    ("openai-chat", ("messages",), [], "messages", "is empty"),
    ("openai-chat", ("messages", 0, "role"), "robot", "messages[0].role", "must be 'system'"),
    ("openai-chat", ("messages", 0, "content"), {}, "messages[0].content", "a string or a list"),
    ("openai-chat", ("messages", 1, "tool_calls"), {}, "messages[1].tool_calls", "a list"),
    (
        *("openai-chat", ("messages", 1, "tool_calls", 0, "function", "name")),
        *(None, "messages[1].tool_calls[0].function.name", "is missing"),
    ),
    (
        *("openai-chat", ("messages", 1, "tool_calls", 0, "id")),
        *(None, "messages[1].tool_calls[0].id", "is missing"),
    ),
    (
        *("openai-chat", ("messages", 2, "tool_call_id")),
        *(None, "messages[2].tool_call_id", "is missing"),
    ),
    ("openai-chat", ("tool_choice",), "always", "tool_choice", "must be an object"),
    ("openai-chat", ("tools", 0, "function"), "f", "tools[0].function", "must be an object"),
    ("openai-chat", ("stream_options",), 1, "stream_options", "must be an object"),
    ("openai-responses", ("input",), [], "input", "is empty"),
    ("openai-responses", ("input",), None, "input", "is empty"),
    ("openai-responses", ("input",), 5, "input", "must be a list, got a number"),
    ("openai-responses", ("input", 0, "role"), "robot", "input[0].role", ROLE),
    ("openai-responses", ("input", 1, "call_id"), None, "input[1].call_id", "is missing"),
    ("openai-responses", ("input", 2, "call_id"), 4, "input[2].call_id", "must be a string"),
    ("openai-responses", ("tools", 0, "type"), None, "tools[0].type", "is missing"),
    ("openai-responses", ("reasoning",), "low", "reasoning", "must be an object"),
    ("openai-responses", ("instructions",), [], "instructions", "must be a string"),
    ("gemini", ("contents",), [], "contents", "is empty"),
    ("gemini", ("contents",), "Hello", "contents", "must be a list"),
    ("gemini", ("contents", 0, "role"), "assistant", "contents[0].role", ROLE),
    ("gemini", ("contents", 0, "parts"), {}, "contents[0].parts", "must be a list"),
    ("gemini", ("contents", 0, "parts", 0, "text"), 5, "contents[0].parts[0].text", "a string"),
    (
        *("gemini", ("generationConfig", "maxOutputTokens")),
        *("9", "generationConfig.maxOutputTokens", "must be a number"),
    ),
    (
        *("gemini", ("toolConfig",), {"functionCallingConfig": {"mode": "SOME"}}),
        *("toolConfig.functionCallingConfig.mode", "must be one of"),
    ),
    (
        *("gemini", ("tools", 0, "functionDeclarations", 0, "name")),
        *(None, "tools[0].functionDeclarations[0].name", "is missing"),
    ),
]


@pytest.mark.parametrize(("wire", "path", "value", "where", "problem"), BAD)
def test_a_wrong_value_is_named_with_its_place(
    wire: Wire, path: tuple[Any, ...], value: Any, where: str, problem: str
) -> None:
    with pytest.raises(RequestError) as raised:
        read(wire, changed(BODIES[wire], path, value))

    assert raised.value.where == where
    assert problem in raised.value.problem
    assert str(raised.value) == f"{where} {raised.value.problem}"


@pytest.mark.parametrize("path", ["", "/v1beta/models", "/v1beta/openai/chat/completions"])
def test_gemini_needs_the_model_in_the_path(path: str) -> None:
    with pytest.raises(RequestError, match="names no model"):
        read("gemini", BODIES["gemini"], path)


def test_an_error_repeats_no_value_and_can_be_pickled() -> None:
    with pytest.raises(RequestError) as raised:
        read("anthropic", changed(BODIES["anthropic"], ("thinking",), "sk-secret-prompt"))

    copy = pickle.loads(pickle.dumps(raised.value))  # noqa: S301

    assert "secret" not in str(raised.value)
    assert (str(copy), copy.where) == (str(raised.value), "thinking")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything in *value*."""
    inner = list(enumerate(value)) if isinstance(value, list) else []
    inner = list(value.items()) if isinstance(value, dict) else inner
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


@pytest.mark.parametrize("wire", WIRES)
@examples(150)
@given(data=st.data())
def test_any_json_at_any_place_is_read_or_refused(wire: Wire, data: st.DataObject) -> None:
    body = BODIES[wire]
    path = data.draw(st.sampled_from(places(body)))
    value = data.draw(JSON | st.sampled_from([body[name] for name in body]))
    raw = json.dumps(changed(body, path, value)).encode()

    try:
        request = reader_of(wire).read(raw, path=PATH)
    except RequestError:
        return
    assert request.conversation.messages or request.unreadable


HALF: dict[Wire, tuple[str, dict[str, Any]]] = {
    "anthropic": ("messages", {"role": "assistant", "content": "{"}),
    "openai-chat": ("messages", {"role": "assistant", "content": "{", "prefix": True}),
    "openai-responses": ("input", {"role": "assistant", "content": "{"}),
    "gemini": ("contents", {"role": "model", "parts": [{"text": "{"}]}),
}


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_must_go_on_cannot_move(wire: Wire) -> None:
    name, half = HALF[wire]
    body = {**BODIES[wire], name: [*BODIES[wire][name], half]}

    made = read(wire, body)

    assert made.unreadable == (f"the beginning of an answer that the model must continue ({name})",)
