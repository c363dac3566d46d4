"""The judge has an answer to any body: no rule raises on a strange one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import FailureKind
from sidestep.provider.classify.classify import classify_response
from sidestep.provider.stub.strict.complaint import Complaint
from sidestep.provider.stub.vendor_error import to_json
from sidestep.provider.wire_name import Wire

from ....property import examples
from . import test_anthropic as anthropic
from . import test_gemini as gemini
from . import test_openai_chat as chat
from . import test_openai_responses as responses
from .judged import judge

WIRES: list[tuple[Wire, str, str]] = [
    ("anthropic", "anthropic", "claude-opus-4-5"),
    ("anthropic", "deepseek", "deepseek-v4-pro"),
    ("openai-chat", "openai", "gpt-5"),
    ("openai-chat", "openrouter", "anthropic/claude-sonnet-5"),
    ("openai-chat", "mistral", "mistral-large"),
    ("openai-chat", "deepseek", "deepseek-v4-pro"),
    ("openai-chat", "moonshot", "kimi-k2-thinking"),
    ("openai-chat", "cerebras", "gpt-oss-120b"),
    ("openai-chat", "groq", "llama-3"),
    ("openai-chat", "minimax", "MiniMax-M2"),
    ("openai-chat", "zai", "glm-4.6"),
    ("openai-chat", "acme", "acme-1"),
    ("openai-responses", "openai", "gpt-5"),
    ("gemini", "gemini", "gemini-3-pro"),
]
each_wire = pytest.mark.parametrize(
    ("wire", "vendor", "model"), [pytest.param(*row, id="-".join(row)) for row in WIRES]
)

scalars = st.none() | st.booleans() | st.integers(-1, 3) | st.text("ab_ \ud83d", max_size=3)
words = st.sampled_from(
    [
        *("user", "assistant", "system", "tool", "model", "text", "thinking", "tool_use"),
        *("tool_result", "redacted_thinking", "image", "image_url", "function", "message"),
        *("function_call", "function_call_output", "reasoning", "reasoning.text", "enabled"),
        *("adaptive", "ephemeral", "object", "array", "string", "any", "input_text"),
        *("output_text", "refusal", "a", "fc_1", "msg_1", "rs_1"),
    ]
)
keys = st.sampled_from(
    [
        *("role", "content", "type", "text", "thinking", "signature", "data", "id", "name"),
        *("input", "tool_use_id", "is_error", "cache_control", "ttl", "source", "tool_calls"),
        *("function", "arguments", "tool_call_id", "reasoning_details", "reasoning_content"),
        *("call_id", "output", "summary", "encrypted_content", "parts", "functionCall", "args"),
        *("functionResponse", "response", "thoughtSignature", "parameters", "properties"),
        *("items", "enum", "required", "format", "anyOf", "input_schema", "functionDeclarations"),
        *("budget_tokens", "block_binding", "index", "thought", "thinkingConfig", "strict"),
    ]
)
values = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=12,
)
TOP = [
    *("messages", "max_tokens", "system", "tools", "tool_choice", "thinking", "temperature"),
    *("input", "max_output_tokens", "include", "store", "reasoning", "contents", "top_p"),
    *("systemInstruction", "generationConfig", "stream_options", "cache_control"),
]


BODIES = [
    pytest.param(anthropic.looped(), id="messages"),
    pytest.param(chat.looped(chat.CLAUDE), id="chat"),
    pytest.param(responses.looped(), id="responses"),
    pytest.param(gemini.finished(), id="contents"),
]


def tame(wire: Wire, held: dict[str, Any]) -> dict[str, Any]:
    """Return *held* without the keys that *wire* does not know, to reach later rules too."""
    known = {
        "anthropic": ("messages", "system", "tools", "tool_choice", "thinking", "temperature"),
        "openai-chat": ("messages", "tools", "tool_choice", "temperature", "stream_options"),
        "openai-responses": ("input", "tools", "include", "store", "reasoning"),
        "gemini": ("contents", "tools", "systemInstruction", "generationConfig"),
    }
    return {key: value for key, value in held.items() if key in known[wire]}


@each_wire
@given(held=st.dictionaries(st.sampled_from(TOP), values, max_size=6), data=st.data())
@examples(30)
def test_no_body_breaks_a_rule(
    wire: Wire, vendor: str, model: str, held: dict[str, Any], data: st.DataObject
) -> None:
    body = tame(wire, held) if data.draw(st.booleans()) else held
    if wire == "anthropic":
        body = {"max_tokens": 10, **body}

    found = judge(body, route=f"{vendor}/{model}", vendor=vendor, wire=wire)

    assert found is None or found.status >= 400


def places(value: Any) -> Iterator[list[str | int]]:
    """Yield the paths of everything in *value*."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield [key]
        yield from ([key, *rest] for rest in places(inner))


def replaced(value: Any, path: list[str | int], new: object) -> Any:
    changed = deepcopy(value)
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = new
    return changed


STRANGE: list[Any] = [
    *(None, True, -1, 1.5, float("nan"), "", " ", "\ud83d", "text", [], [None], [[]], {}),
    *([{}], {"a": 1}, {"type": []}, [{"type": {}}], [{"type": "text"}], {"type": "thinking"}),
]


@pytest.mark.parametrize("body", BODIES)
@each_wire
def test_no_rule_breaks_on_a_strange_value_anywhere(
    wire: Wire, vendor: str, model: str, body: dict[str, Any]
) -> None:
    for path in places(body):
        for strange in STRANGE:
            changed = replaced(body, path, strange)
            judge(changed, route=f"{vendor}/{model}", vendor=vendor, wire=wire)


@each_wire
@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"messages": 1, "input": 1, "contents": 1}, id="numbers"),
        pytest.param({"messages": [1], "input": [1], "contents": [1]}, id="numbers in lists"),
    ],
)
def test_a_body_of_wrong_types_is_refused(
    wire: Wire, vendor: str, model: str, body: dict[str, Any]
) -> None:
    assert judge(body, route=f"{vendor}/{model}", vendor=vendor, wire=wire) is not None


@each_wire
def test_a_complaint_reads_as_the_providers_own(wire: Wire, vendor: str, model: str) -> None:
    found = judge({}, route=f"{vendor}/{model}", vendor=vendor, wire=wire)
    assert isinstance(found, Complaint)
    body = to_json(found.body(vendor=vendor, wire=wire, request_id="req_1"))

    failure = classify_response(found.status, {}, body, provider=vendor, wire=wire)

    assert failure.kind in {FailureKind.BAD_REQUEST, FailureKind.HISTORY_REJECTED}
    assert found.message.strip() in failure.message


@each_wire
def test_a_body_without_a_bottom_is_refused(wire: Wire, vendor: str, model: str) -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    block = {"type": "thinking", "thinking": deep, "signature": "x"}
    text = {"role": "user", "content": [{"type": "text", "text": "x", "citations": deep}, block]}
    body = {"max_tokens": 1, "messages": [text], "input": [text], "contents": deep}

    assert judge(body, route=f"{vendor}/{model}", vendor=vendor, wire=wire) is not None
