"""What a client of Gemini sends, and what of it only its own provider can answer."""

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
from sidestep.provider.wire.gemini.read import read
from sidestep.provider.wire.read_request import ReadRequest

PATH = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
HELLO: dict[str, Any] = {"role": "user", "parts": [{"text": "Hello"}]}
CALL = {"functionCall": {"id": "call_1", "name": "read", "args": {"path": "a.py"}}}


def request(*contents: dict[str, Any], path: str = PATH, **more: Any) -> ReadRequest:
    return read({"contents": list(contents or [HELLO]), **more}, path=path)


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def result(response: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": "call_1", "name": "read", "response": response, **more}}


@pytest.mark.parametrize(
    ("path", "name", "is_streamed", "is_array"),
    [
        pytest.param(PATH, "gemini-3-pro", True, False, id="events"),
        pytest.param(PATH.partition("?")[0], "gemini-3-pro", True, True, id="an array"),
        pytest.param(
            "/gemini/v1beta/models/m:streamGenerateContent?key=k&alt=sse",
            "m",
            True,
            False,
            id="key",
        ),
        pytest.param("/v1beta/models/m:generateContent", "m", False, False, id="whole"),
        pytest.param("/v1beta/models/m:countTokens", "m", False, False, id="a count"),
        pytest.param("models/a%2Fb:generateContent", "a/b", False, False, id="a slash in the name"),
        pytest.param(
            "/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
            *("m", False, False),
            id="Vertex",
        ),
    ],
)
def test_the_path_says_what_is_asked(
    path: str, name: str, is_streamed: bool, is_array: bool
) -> None:
    made = request(path=path)

    assert (made.model, made.is_streamed, made.is_array) == (name, is_streamed, is_array)


PARTS = [
    pytest.param({"text": "Hm"}, Text("Hm"), id="text"),
    pytest.param({"text": "Hm", "thoughtSignature": "s"}, Text("Hm", signature="s"), id="signed"),
    pytest.param({"text": "", "thoughtSignature": "s"}, Text("", signature="s"), id="only a proof"),
    pytest.param({"thoughtSignature": "s"}, Text("", signature="s"), id="a proof alone"),
    pytest.param({"text": "Hm", "thought": True}, Reasoning("Hm"), id="thinking"),
    pytest.param(
        {"text": "Hm", "thought": True, "thought_signature": "s"},
        Reasoning("Hm", signature="s"),
        id="signed thinking",
    ),
    pytest.param(
        {**CALL, "thoughtSignature": "s"},
        ToolCall("call_1", "read", {"path": "a.py"}, signature="s"),
        id="a signed call",
    ),
    pytest.param(
        {"function_call": {"id": "c", "name": "now"}}, ToolCall("c", "now", {}), id="snake_case"
    ),
]


@pytest.mark.parametrize(("part", "expected"), PARTS)
def test_what_the_model_wrote_is_read(part: dict[str, Any], expected: Part) -> None:
    made = request(HELLO, model(part), HELLO)

    assert made.conversation.messages[1] == Message("assistant", [expected])
    assert (made.unreadable, made.left_out) == ((), ())


@pytest.mark.parametrize(
    ("given", "output", "is_error"),
    [
        pytest.param(result({"output": "print(1)"}), "print(1)", False, id="output"),
        pytest.param(result({"result": "print(1)"}), "print(1)", False, id="result"),
        pytest.param(result({"error": "no"}), "no", True, id="error"),
        pytest.param(result({"output": {"a": 1}}), '{"a":1}', False, id="an object"),
        pytest.param(result({"a": 1, "b": 2}), '{"a":1,"b":2}', False, id="any object"),
        pytest.param(result({}), "", False, id="empty"),
        pytest.param(result(None), "", False, id="none"),
        pytest.param(
            result(
                {"output": "a"}, parts=[{"inlineData": {"mimeType": "image/png", "data": "aWNv"}}]
            ),
            *([Text("a"), Image("image/png", "aWNv")], False),
            id="a picture",
        ),
    ],
)
def test_a_result_goes_into_its_call(given: Any, output: Any, is_error: bool) -> None:
    made = request(HELLO, model(CALL), user(given, {"text": "Go on"}))

    call = made.conversation.messages[1].parts[0]
    assert isinstance(call, ToolCall)
    assert (call.output, call.is_error) == (output, is_error)
    assert call.state == ("error" if is_error else "completed")
    assert made.conversation.messages[2] == Message("user", [Text("Go on")])


def test_results_of_calls_without_ids_go_by_name_and_order() -> None:
    calls = [
        {"functionCall": {"name": name, "args": {"n": n}}}
        for n, name in enumerate(("read", "list", "read"))
    ]
    results = [
        {"functionResponse": {"name": name, "response": {"output": name + text}}}
        for name, text in (("read", "1"), ("list", ""), ("read", "2"))
    ]

    made = request(HELLO, model(*calls), user(*results))

    parts = made.conversation.messages[1].parts
    assert [p.output for p in parts if isinstance(p, ToolCall)] == ["read1", "list", "read2"]
    assert len({p.id for p in parts if isinstance(p, ToolCall)}) == 3
    assert made.can_move


UNREADABLE = [
    *(
        pytest.param({"contents": [user({name: {}, "x": 1})]}, f"`{name}`", id=name)
        for name in ("fileData", "executableCode", "codeExecutionResult", "hologram")
    ),
    pytest.param(
        {"contents": [user({"inlineData": {"mimeType": "application/pdf", "data": "aWNv"}})]},
        "`inlineData` of type 'application/pdf'",
        id="a document",
    ),
    pytest.param(
        {"contents": [HELLO, model({"executableCode": {"code": "1"}})]}, "executableCode", id="code"
    ),
    pytest.param(
        {"contents": [HELLO, model({"inlineData": {"mimeType": "image/png", "data": "aWNv"}})]},
        "inlineData",
        id="a picture of the model's",
    ),
    pytest.param({"systemInstruction": {"parts": [{"fileData": {}}]}}, "fileData", id="system"),
    pytest.param({"contents": [HELLO, user(result({}))]}, "a result without a call", id="no call"),
    *(
        pytest.param({"tools": [{name: {}}]}, f"a tool `{name}`", id=name)
        for name in ("googleSearch", "codeExecution", "urlContext", "google_search")
    ),
    pytest.param({"cachedContent": "cachedContents/1"}, "only the provider has", id="a cache"),
    pytest.param({"generationConfig": {"candidateCount": 2}}, "several answers", id="answers"),
    pytest.param(
        {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}},
        "else than text",
        id="image",
    ),
    pytest.param({"generationConfig": {"responseLogprobs": True}}, "probabilities", id="logprobs"),
]


@pytest.mark.parametrize(("more", "why"), UNREADABLE)
def test_what_no_other_route_can_read_is_told(more: dict[str, Any], why: str) -> None:
    made = read({"contents": [HELLO], **more}, path=PATH)

    assert not made.can_move
    assert len(made.unreadable) == 1
    assert why in made.unreadable[0]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        pytest.param({"safetySettings": [{}]}, "safetySettings", id="safety"),
        pytest.param({"labels": {"a": "b"}}, "labels", id="labels"),
        pytest.param({"generationConfig": {"topK": 64}}, "generationConfig.topK", id="topK"),
        pytest.param({"generation_config": {"seed": 1}}, "generationConfig.seed", id="seed"),
        pytest.param(
            {
                "toolConfig": {
                    "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}
                }
            },
            "toolConfig.functionCallingConfig.allowedFunctionNames",
            id="several tools",
        ),
    ],
)
def test_what_another_route_goes_without_is_told(more: dict[str, Any], what: str) -> None:
    made = read({"contents": [HELLO], **more}, path=PATH)

    assert made.can_move
    assert made.left_out == (what,)


def config(**fields: Any) -> dict[str, Any]:
    return {"generationConfig": fields}


def thinking(**fields: Any) -> dict[str, Any]:
    return config(thinkingConfig=fields)


def choice(mode: str, *names: str) -> dict[str, Any]:
    allowed = {"allowedFunctionNames": list(names)} if names else {}
    return {"toolConfig": {"functionCallingConfig": {"mode": mode, **allowed}}}


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        pytest.param(config(maxOutputTokens=9), {"max_output_tokens": 9}, id="the longest answer"),
        pytest.param(config(max_output_tokens=9), {"max_output_tokens": 9}, id="snake_case"),
        pytest.param(config(temperature=1, topP=0.5), {"temperature": 1, "top_p": 0.5}, id="both"),
        pytest.param(thinking(thinkingLevel="LOW"), {"reasoning": "low"}, id="a level"),
        pytest.param(thinking(thinkingLevel="high"), {"reasoning": "high"}, id="in small letters"),
        pytest.param(thinking(includeThoughts=True), {}, id="only shown"),
        pytest.param(thinking(thinkingBudget=0), {"reasoning": "none"}, id="no budget"),
        pytest.param(thinking(thinkingBudget=128), {"reasoning": "none"}, id="the least of a Pro"),
        pytest.param(thinking(thinkingBudget=-1), {}, id="any budget"),
        pytest.param(thinking(thinkingBudget=8192), {"reasoning": "medium"}, id="a budget"),
        pytest.param(thinking(thinkingBudget=32768), {"reasoning": "max"}, id="the largest budget"),
        pytest.param(choice("AUTO"), {"tool_choice": "auto"}, id="auto"),
        pytest.param(choice("NONE"), {"tool_choice": "none"}, id="no tool"),
        pytest.param(choice("ANY"), {"tool_choice": "required"}, id="any tool"),
        pytest.param(choice("ANY", "read"), {"tool_choice": "read"}, id="one tool"),
        pytest.param(config(responseMimeType="text/plain", candidateCount=1), {}, id="defaults"),
    ],
)
def test_settings_are_read(more: dict[str, Any], settings: dict[str, Any]) -> None:
    made = request(**more)

    assert made.conversation.settings == Settings(**settings)
    assert (made.unreadable, made.left_out) == ((), ())


SUBSET = {
    "type": "OBJECT",
    "properties": {
        "path": {"type": "STRING", "nullable": True, "description": "Where."},
        "lines": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "2"},
        "how": {"anyOf": [{"type": "STRING", "enum": ["a"]}, {"type": "TYPE_UNSPECIFIED"}]},
        "type": {"type": "BOOLEAN"},
    },
    "required": ["path"],
    "propertyOrdering": ["path", "lines"],
}
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": ["string", "null"], "description": "Where."},
        "lines": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        "how": {"anyOf": [{"type": "string", "enum": ["a"]}, {}]},
        "type": {"type": "boolean"},
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("fields", "schema"),
    [
        pytest.param({"parametersJsonSchema": SCHEMA}, SCHEMA, id="a JSON Schema"),
        pytest.param({"parameters": SUBSET}, SCHEMA, id="the subset of OpenAPI"),
        pytest.param({}, {"type": "object"}, id="no parameters"),
    ],
)
def test_tools_are_read(fields: dict[str, Any], schema: dict[str, Any]) -> None:
    declared = [{"name": "read", "description": "Read.", **fields}]

    made = request(tools=[{"functionDeclarations": declared}])

    assert made.conversation.tools == (ToolSpec("read", "Read.", schema),)


@pytest.mark.parametrize("instruction", ["Be brief.", {"parts": [{"text": "Be brief."}]}])
def test_instructions_are_read(instruction: Any) -> None:
    made = request(systemInstruction=instruction)

    assert made.conversation.messages[0] == Message("system", [Text("Be brief.")])


def test_a_request_for_a_count_may_hold_the_request_that_is_counted() -> None:
    body = {"generateContentRequest": {"model": "models/m", "contents": [HELLO]}}

    made = read(body, path="/v1beta/models/m:countTokens")

    assert made.conversation.messages == [Message("user", [Text("Hello")])]
