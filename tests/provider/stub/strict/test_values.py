"""Values that the strict stub refuses, and the nearest ones that it takes.

Source: the rules that refuse them name the report of each message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .judged import judge

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

Body = dict[str, Any]
USER = {"role": "user", "content": "Hi, in JSON."}
FUNCTION = {"name": "ls", "parameters": {"type": "object", "properties": {}}}
TOOL = {"type": "function", "function": FUNCTION}
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED = {**OBJECT, "required": ["a"], "additionalProperties": False}
OPEN = {**OBJECT, "required": ["a"]}
LACKING = {**OBJECT, "additionalProperties": False}


def form(schema: Body, **more: Any) -> Body:
    return {"type": "json_schema", "name": "x", "strict": True, "schema": schema, **more}


def tool(schema: Body, *, strict: bool = True) -> list[Body]:
    return [
        {"type": "function", "function": {"name": "ls", "strict": strict, "parameters": schema}}
    ]


def flat(schema: Body) -> list[Body]:
    return [{"type": "function", "name": "ls", "strict": True, "parameters": schema}]


def chat_form(schema: Body) -> Body:
    return {"type": "json_schema", "json_schema": form(schema)}


CHAT: list[tuple[Body, Body, str]] = [
    ({"temperature": 2}, {"temperature": 3}, "Expected a value <= 2, but got 3"),
    ({"top_p": 0}, {"top_p": -0.1}, "decimal below minimum value"),
    ({"n": 1}, {"n": 0}, "integer below minimum value"),
    ({"stop": list("abcd")}, {"stop": list("abcde")}, "array with maximum length 4"),
    ({"tools": [TOOL] * 128}, {"tools": [TOOL] * 129}, "array with maximum length 128"),
    (
        {"top_logprobs": 2, "logprobs": True},
        {"top_logprobs": 2},
        "only allowed when 'logprobs' is enabled",
    ),
    ({"tools": tool(CLOSED)}, {"tools": tool(OPEN)}, "'additionalProperties' is required"),
    ({"tools": tool(OPEN, strict=False)}, {"tools": tool(LACKING)}, "Missing 'a'"),
    (
        {"response_format": chat_form(CLOSED)},
        {"response_format": chat_form(LACKING)},
        "Invalid schema for response_format 'x'",
    ),
    (
        {"tools": [TOOL], "tool_choice": TOOL},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "rm"}}},
        "no function named 'rm'",
    ),
    (
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_object"}, "messages": [{**USER, "content": "Hi."}]},
        "must contain the word 'json'",
    ),
]
RESPONSES: list[tuple[Body, Body, str]] = [
    ({"temperature": 2}, {"temperature": 2.1}, "decimal above maximum value"),
    ({"tools": flat(CLOSED)}, {"tools": flat(OPEN)}, "'additionalProperties' is required"),
    ({"text": {"format": form(CLOSED)}}, {"text": {"format": form(OPEN)}}, "response_format 'x'"),
    (
        {"include": ["message.output_text.logprobs"]},
        {"include": ["logprobs"]},
        "Invalid value: 'logprobs'",
    ),
    (
        {"tools": flat(CLOSED), "tool_choice": {"type": "function", "name": "ls"}},
        {"tools": flat(CLOSED), "tool_choice": {"type": "function", "name": "rm"}},
        "Tool choice 'rm' not found",
    ),
]
GROQ: list[tuple[Body, Body, str]] = [
    ({"n": 1, "logprobs": False}, {"n": 2}, "number must be at most 1"),
    ({"logprobs": None}, {"logprobs": True}, "`logprobs` is not supported"),
    ({"temperature": 1.9}, {"reasoning_effort": "low"}, "`reasoning_effort` is not supported"),
]
GEMINI: list[tuple[Body, Body, str]] = [
    (
        {"generationConfig": {"temperature": 2}},
        {"generationConfig": {"temperature": 2.5}},
        "temperature must be in the range",
    ),
]
CLAUDE: list[tuple[Body, Body, str]] = [
    ({"stop_sequences": ["a b"]}, {"stop_sequences": [" "]}, "must contain non-whitespace"),
]
ROWS: list[tuple[str, Wire, Body, list[tuple[Body, Body, str]]]] = [
    ("openai/gpt-4.1", "openai-chat", {"messages": [USER]}, CHAT),
    ("openai/gpt-4.1", "openai-responses", {"input": [USER]}, RESPONSES),
    ("groq/llama-3.3-70b", "openai-chat", {"messages": [USER]}, GROQ),
    ("gemini/gemini-2.5-pro", "gemini", {"contents": [{"parts": [{"text": "Hi."}]}]}, GEMINI),
    ("anthropic/claude-sonnet-5", "anthropic", {"messages": [USER], "max_tokens": 9}, CLAUDE),
]


@pytest.mark.parametrize(
    ("route", "wire", "good", "bad", "says"),
    [
        pytest.param(route, wire, base | good, base | bad, says, id=f"{route}, {wire}: {says}")
        for route, wire, base, rows in ROWS
        for good, bad, says in rows
    ],
)
def test_a_value_beyond_what_the_api_takes_is_refused(
    route: str, wire: Wire, good: Body, bad: Body, says: str
) -> None:
    vendor, _, model = route.partition("/")
    named = {} if wire == "gemini" else {"model": model}

    assert judge(good | named, route=route, vendor=vendor, wire=wire) is None
    found = judge(bad | named, route=route, vendor=vendor, wire=wire)

    assert found is not None
    assert says in found.message


@pytest.mark.parametrize(
    ("media_type", "is_taken"), [("image/png", True), ("image/webp", True), ("image/tiff", False)]
)
def test_claude_takes_pictures_of_four_formats(media_type: str, is_taken: bool) -> None:
    source = {"type": "base64", "media_type": media_type, "data": "aGk="}
    message = {"role": "user", "content": [{"type": "image", "source": source}]}
    body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": [message]}

    found = judge(body, route="anthropic/claude-sonnet-5", vendor="anthropic", wire="anthropic")

    assert (found is None) is is_taken


@pytest.mark.parametrize(
    ("url", "is_taken"), [("data:image/png;base64,aGk=", True), ({"url": "x"}, False)]
)
def test_an_image_of_responses_is_one_text(url: object, is_taken: bool) -> None:
    content = [{"type": "input_image", "image_url": url}]
    body = {"model": "gpt-4.1", "input": [{"role": "user", "content": content}]}

    found = judge(body, route="openai/gpt-4.1", vendor="openai", wire="openai-responses")

    assert (found is None) is is_taken


@pytest.mark.parametrize(
    ("wire", "field", "param", "code"),
    [
        ("openai-chat", "response_format", "response_format", None),
        ("openai-responses", "text", "text.format.schema", "invalid_json_schema"),
    ],
)
def test_a_wrong_form_of_answers_is_named_as_openai_names_it(
    wire: Wire, field: str, param: str, code: str | None
) -> None:
    """As agentscope-ai/agentscope-java#2548 and bingoYB/ham_home#16 have it."""
    value = chat_form(OPEN) if wire == "openai-chat" else {"format": form(OPEN)}
    body = {"model": "gpt-4.1", "messages": [USER], "input": [USER], field: value}
    body.pop("input" if wire == "openai-chat" else "messages")

    found = judge(body, route="openai/gpt-4.1", vendor="openai", wire=wire)

    assert found is not None
    assert (found.param, found.code) == (param, code)
