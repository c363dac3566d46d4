"""What the strict stub refuses on Gemini's wire, and what it does not.

Source: the pages named in `provider/stub/strict/gemini`; captures gemini_400_*.
"""

from __future__ import annotations

import base64
from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from sidestep.provider.stub.signature.gemini import content_of

from .judged import ISSUER, Body, Change, Rule, check, rows

THIRD = "gemini/gemini-3-pro"
SECOND = "gemini/gemini-2.5-pro"
CALL = {"functionCall": {"id": "call_1", "name": "ls", "args": {"path": "."}}}
SECOND_CALL = {"functionCall": {"id": "call_2", "name": "cat", "args": {}}}
RESPONSE = {"functionResponse": {"id": "call_1", "name": "ls", "response": {"output": "a.py"}}}
SECOND_RESPONSE = {"functionResponse": {"id": "call_2", "name": "cat", "response": {}}}
FUNCTION = {"name": "ls", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "string"}}}}


def looped(route: str = THIRD, **more: Any) -> Body:
    signed = {"thoughtSignature": ISSUER.issue(route, content_of(CALL))}
    return deepcopy(
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Look around."}]},
                {"role": "model", "parts": [{**CALL, **signed}, SECOND_CALL]},
                {"role": "user", "parts": [RESPONSE, SECOND_RESPONSE]},
            ],
            "tools": [{"functionDeclarations": [FUNCTION]}],
            **more,
        }
    )


def finished(route: str = THIRD, **more: Any) -> Body:
    """Return the request after a turn, in which the user speaks again."""
    body = looped(route, **more)
    answer = {"text": "", "thoughtSignature": ISSUER.issue(route, ["text", "One file."])}
    body["contents"] += [
        {"role": "model", "parts": [{"text": "One "}, {"text": "file."}, answer]},
        {"role": "user", "parts": [{"text": "Read it."}]},
    ]
    return body


def part(index: int, place: int, **fields: Any) -> Change:
    return lambda body: body["contents"][index]["parts"][place].update(deepcopy(fields))


def drop(index: int, place: int, key: str) -> Change:
    return lambda body: body["contents"][index]["parts"][place].pop(key)


def insert(index: int, place: int, new: Any) -> Change:
    return lambda body: body["contents"][index]["parts"].insert(place, deepcopy(new))


def remove(index: int, place: int) -> Change:
    return lambda body: body["contents"][index]["parts"].pop(place)


def inner(index: int, place: int, key: str, **fields: Any) -> Change:
    return lambda body: body["contents"][index]["parts"][place][key].update(fields)


def content(index: int, role: str, *parts: Any) -> Change:
    return lambda body: body["contents"].insert(index, {"role": role, "parts": list(parts)})


def top(**fields: Any) -> Change:
    return lambda body: body.update(fields)


def schema(**fields: Any) -> Change:
    def change(body: Body) -> None:
        body["tools"][0]["functionDeclarations"][0]["parameters"]["properties"]["a"].update(fields)

    return change


def function(**fields: Any) -> Change:
    return lambda body: body["tools"][0]["functionDeclarations"][0].update(fields)


def snaked(body: Body) -> None:
    body["system_instruction"] = body.pop("systemInstruction")
    given = body["contents"][1]["parts"][0]
    given["function_call"] = given.pop("functionCall")
    given["thought_signature"] = given.pop("thoughtSignature")


def swapped(body: Body) -> None:
    body["contents"][2]["parts"].reverse()


def apart(index: int, *, is_reversed: bool = False) -> Change:
    """Put every part of a content into a content of its own."""

    def change(body: Body) -> None:
        given = body["contents"][index]
        alone = [{**given, "parts": [each]} for each in given["parts"]]
        body["contents"][index : index + 1] = alone[::-1] if is_reversed else alone

    return change


def each(*changes: Change) -> Change:
    return lambda body: [change(body) for change in changes]


def alone(body: Body) -> None:
    """Put one object in place of every list of one."""
    for given in (body["contents"][0], body["systemInstruction"]):
        given["parts"] = given["parts"][0]
    body["tools"] = {"functionDeclarations": FUNCTION}


def merged(body: Body) -> None:
    """Join the pieces of a text into the part with its signature."""
    parts = body["contents"][3]["parts"]
    body["contents"][3]["parts"] = [{**parts[2], "text": "One file."}]


def moved(body: Body) -> None:
    first, second = body["contents"][1]["parts"]
    second["thoughtSignature"] = first["thoughtSignature"]
    first["thoughtSignature"] = WORD


def R(  # noqa: N802 - a row
    id: str,  # noqa: A002 - its name
    breaks: Change,
    says: str | None,
    *,
    route: str = THIRD,
    make: Any = looped,
    **more: Any,
) -> Rule:
    return Rule(id, breaks, says, partial(make, route, **more), route, "gemini", "gemini")


WORD = "skip_thought_signature_validator"
OTHER_WORD = "context_engineering_is_the_way_to_go"
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for "
    "tools to work correctly, and missing thought_signature may lead to degraded model "
    "performance. Additional data, function call `default_api:ls` , position 2."
)
CORRUPTED = "Corrupted thought signature."
CALL_TURN = "function call turn comes immediately after a user turn"
RESPONSE_TURN = "function response turn comes immediately after a function call turn"
COUNT = "number of function response parts is equal to the number of function call parts"
ALTERNATE = "alternate between user and model"

FIELDS = [
    R("no contents", lambda b: b.pop("contents"), "contents is not specified"),
    R("contents that are text", top(contents="x"), "Invalid value at 'contents'"),
    R("an unknown field", top(messages=[]), 'Unknown name "messages": Cannot find field.'),
    R("an unknown field of a part", part(0, 0, cacheControl={}), "at 'contents[0].parts[0]'"),
    R("an unknown field of a call", inner(1, 0, "functionCall", arguments={}),
      "Unknown name \"arguments\" at 'contents[1].parts[0].function_call'"),
    R("an unknown setting", top(generationConfig={"maxTokens": 1}), "at 'generation_config'"),
    R("snake case", snaked, None),
    R("a level and a budget",
      top(generationConfig={"thinkingConfig": {"thinkingLevel": "low", "thinkingBudget": 1}}),
      "only one of thinking budget and thinking level"),
    R("a level on 2.5", top(generationConfig={"thinkingConfig": {"thinkingLevel": "low"}}),
      "Thinking level is not supported", route=SECOND),
    R("role assistant", content(3, "assistant", {"text": "x"}), "use a valid role: user, model."),
    R("no parts", content(3, "model"), "contents[3].parts: contents.parts must not be empty."),
    R("no parts of the system", top(systemInstruction={"parts": []}), "system_instruction.parts"),
    R("a part of nothing", insert(2, 2, {"thought": True}), "required oneof field 'data'"),
    R("an empty text", insert(2, 2, {"text": ""}), None),
    R("a response that is text", inner(2, 0, "functionResponse", response="a.py"),
      "function_response.response' (type.googleapis.com/google.protobuf.Struct), \"a.py\""),
    R("no response", lambda b: b["contents"][2]["parts"][0]["functionResponse"].pop("response"),
      "function_response.response"),
    R("arguments that are text", inner(1, 0, "functionCall", args="{}"), "function_call.args"),
    R("a call without a name", inner(1, 0, "functionCall", name=""), "Name cannot be empty."),
    R("null for what is absent", top(systemInstruction=None, toolConfig=None, cachedContent=None,
      generationConfig={"temperature": None, "thinkingConfig": None}), None),
    R("null in a part", part(0, 0, thought=None, functionCall=None, thoughtSignature=None), None),
    R("null for the only data", part(0, 0, text=None), "required oneof field 'data'"),
    R("null in the agent's own arguments", inner(2, 0, "functionResponse", response={"a": None}),
      None),
    R("one object for a list of one", alone, None),
    R("one object as all contents", top(contents={"parts": {"text": "Hi"}}), None),
    R("one text as parts", lambda b: b["contents"][0].update(parts="Hi"), "contents[0].parts"),
    R("a film", insert(0, 0, {"fileData": {"fileUri": "https://x.test/a.mp4"},
      "videoMetadata": {"startOffset": "10s", "endOffset": "20s"}}), None),
    R("a film's bytes, in snake case", insert(0, 0, {"inline_data": {"mime_type": "video/mp4",
      "data": "aGk="}, "video_metadata": {"fps": 2}}), None),
    R("a film without a film", insert(0, 0, {"videoMetadata": {"fps": 2}}), "field 'data'"),
]  # fmt: skip

ORDER = [
    R("first the model", content(0, "model", {"text": "Hi"}), ALTERNATE),
    R("first a call", lambda b: b["contents"].pop(0), CALL_TURN),
    R("the user twice", content(1, "user", {"text": "Go on."}), None),
    R("the model twice", content(1, "model", {"text": "Ok"}), None),
    R("the user three times in the end", each(content(3, "user", {"text": "a"}),
      content(4, "user", {"text": "b"})), None),
    R("calls in two contents", apart(1), None),
    R("responses in a content each", apart(2), None),
    R("calls and responses in a content each", each(apart(2), apart(1)), None),
    R("responses in a content each, in another order", apart(2, is_reversed=True), None),
    R("responses of the role that is named after them",
      lambda b: b["contents"][2].update(role="function"), None),
    R("a text between responses in a content each",
      each(apart(2), content(3, "user", {"text": "Wait"})), RESPONSE_TURN),
    R("a response too few, in a content each", each(apart(2), lambda b: b["contents"].pop()),
      COUNT),
    R("a response after a text", lambda b: b["contents"][1].update(parts=[{"text": "Ok"}]),
      RESPONSE_TURN),
    R("a response of the model", lambda b: b["contents"][2].update(role="model"), RESPONSE_TURN),
    R("a text before the responses", insert(2, 0, {"text": "Here:"}), RESPONSE_TURN),
    R("a text after the responses", insert(2, 2, {"text": "Go on."}), None),
    R("a response too few", remove(2, 1), COUNT),
    R("a response too many", insert(2, 2, RESPONSE), COUNT),
    R("no responses", lambda b: b["contents"].pop(2), COUNT),
    R("responses in another order", swapped, None),
    R("a response of another name", inner(2, 1, "functionResponse", name="rm"), "answer the func"),
    R("a response of another id", inner(2, 1, "functionResponse", id="call_9"), "answer the func"),
]  # fmt: skip

SIGNATURES = [
    R("none on the first call", drop(1, 0, "thoughtSignature"), MISSING),
    R("none on the first call of 2.5", drop(1, 0, "thoughtSignature"), None, route=SECOND),
    R("none in an older turn", drop(1, 0, "thoughtSignature"), None, make=finished),
    R("none on a text", drop(3, 2, "thoughtSignature"), None, make=finished),
    R("the placeholder", part(1, 0, thoughtSignature=WORD), None),
    R("the other placeholder", part(1, 0, thoughtSignature=OTHER_WORD), None),
    R("the placeholder in base64",
      part(1, 0, thoughtSignature=base64.b64encode(WORD.encode()).decode()), None),
    R("another's", part(1, 0, thoughtSignature="EqQB"), CORRUPTED),
    R("another route's",
      part(1, 0, thoughtSignature=ISSUER.issue(SECOND, content_of(CALL))), CORRUPTED),
    R("another's on 2.5", part(1, 0, thoughtSignature="EqQB"), CORRUPTED, route=SECOND),
    R("another call's", moved, CORRUPTED),
    R("on a call with other arguments", inner(1, 0, "functionCall", args={}), CORRUPTED),
    R("on a text with other words", part(3, 0, text="Two "), CORRUPTED, make=finished),
    R("on a text that was put together", merged, None, make=finished),
    R("on a thought alone",
      insert(1, 0, {"thought": True, "thoughtSignature": ISSUER.issue(THIRD, "x")}), None),
    R("another's on a thought alone",
      insert(1, 0, {"thought": True, "thoughtSignature": "EqQB"}), CORRUPTED),
    R("the placeholder on nothing", insert(1, 0, {"thoughtSignature": WORD}), None),
    R("none on the first call of two contents", each(drop(1, 0, "thoughtSignature"), apart(1)),
      MISSING),
    R("no base64", part(1, 0, thoughtSignature="not base64!"), "Base64 decoding failed"),
]  # fmt: skip

DECLARED = [
    R("a name in no form", function(name="1ls"), "Invalid function name. Must start with a letter"),
    R("a dotted name", function(name="my.ls:x-1"), None),
    R("a long name", function(name="l" * 65), "with a maximum length of 64"),
    R("two of a name", lambda b: b["tools"][0]["functionDeclarations"].append(dict(FUNCTION)),
      "Duplicate function declaration found: ls"),
    R("an unknown field", function(input_schema={}), "Unknown name \"inputSchema\" at 'tools[0]"),
    R("a keyword at the root", lambda b: b["tools"][0]["functionDeclarations"][0]["parameters"]
      .update(additionalProperties=False), 'Unknown name "additionalProperties"'),
    R("a keyword deep down", schema(const="x"), "declarations[0].parameters.properties[0]"),
    R("two types", schema(type=["string", "null"]), "cannot start list"),
    R("an unknown type", schema(type="text"), "TYPE_ENUM"),
    R("a type by its number", schema(type=1), None),
    R("an object by its number", lambda b: b["tools"][0]["functionDeclarations"][0]["parameters"]
      .update(type=6), None),
    R("a list of nothing, by its number", schema(type=5), "items: missing field."),
    R("an unknown number", schema(type=8), "TYPE_ENUM"),
    R("numbers to choose from", schema(enum=[1]), "(TYPE_STRING), 1"),
    R("words to choose a number from", schema(type="integer", enum=["1"]), "only allowed for STR"),
    R("an unknown format", schema(format="uri"), "are supported for STRING type"),
    R("a list of nothing", schema(type="array"), "items: missing field."),
    R("a requirement of nothing", lambda b: b["tools"][0]["functionDeclarations"][0]["parameters"]
      .update(required=["b"]), "required[0]: property is not defined"),
    R("any keyword as JSON Schema", function(parameters=None,
      parametersJsonSchema={"type": "object", "additionalProperties": False}), None),
]  # fmt: skip


@pytest.mark.parametrize("rule", rows([*FIELDS, *ORDER, *SIGNATURES, *DECLARED]))
def test_a_request_is_refused_in_googles_words(rule: Rule) -> None:
    check(rule)
