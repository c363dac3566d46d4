from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.conversation import (
    Conversation,
    Effort,
    Image,
    Message,
    Part,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.handover.handover import Handover, hand_over
from sidestep.provider.handover.note import Note
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.json_value import write_json
from sidestep.provider.wire.anthropic.encode import encode, headers, path

ADAPTIVE = Route("anthropic/claude-sonnet-5")
EARLY = Route("anthropic/claude-opus-4-6")
MANUAL = Route("anthropic/claude-haiku-4-5")
UNTHINKING = Route("anthropic/claude-3-5-haiku-latest")
STRICT = Route("anthropic/claude-fable-5-1")
OTHER = Route("openai/gpt-5")

USER = Message("user", [Text("Read a.py")])
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {}}})
PIXEL = Image("image/png", "aWNvbg==")


def target(route: Route = ADAPTIVE, **facts: Any) -> Target:
    """What *route* takes, without cache markers, which have tests of their own."""
    return replace(target_of(catalog()[route.provider], route), **{"markers": 0, **facts})


def body_of(
    messages: Sequence[Message] = (USER,), to: Target | None = None, **more: Any
) -> dict[str, Any]:
    return encode(hand_over(Conversation(list(messages), **more), to or target()))


def answer(*parts: Part, route: Route | None = ADAPTIVE) -> Message:
    return Message("assistant", list(parts), route=route)


def call(id_: str = "toolu_1", output: Any = "print(1)", **more: Any) -> ToolCall:
    return ToolCall(id_, "read", {"path": "a.py"}, "completed", output, **more)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(id_: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "read", "input": {"path": "a.py"}}


def result(id_: str = "toolu_1", content: Any = "print(1)", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "aWNvbg=="},
}
THINKING = {"type": "thinking", "thinking": "Hm", "signature": "sig"}
ASKED = user(text("Read a.py"))


def test_a_conversation() -> None:
    failed = replace(call("toolu_2", "no such file"), state="error", is_error=True)
    pending = ToolCall("toolu_3", "read", {})
    conversation = Conversation(
        [
            Message("system", [Text("Be brief."), Text("")]),
            USER,
            answer(Reasoning("Hm", signature="sig"), Text("Yes."), call(), failed, pending),
            Message("user", [Text("Go on"), Text(" ")]),
        ],
        tools=[READ],
        settings=Settings(max_output_tokens=99),
    )

    body = encode(hand_over(conversation, target()))

    not_run = "This call was not run: the step was interrupted before it began."
    assert body == {
        "model": "claude-sonnet-5",
        "max_tokens": 99,
        "stream": True,
        "system": [text("Be brief.")],
        "messages": [
            ASKED,
            assistant(
                THINKING,
                text("Yes."),
                use(),
                use("toolu_2"),
                {"type": "tool_use", "id": "toolu_3", "name": "read", "input": {}},
            ),
            user(
                result(),
                result("toolu_2", "no such file", is_error=True),
                result("toolu_3", not_run, is_error=True),
                text("Go on"),
            ),
        ],
        "tools": [
            {
                "name": "read",
                "description": "Read a file.",
                "input_schema": {"type": "object", "properties": {"path": {}}},
            }
        ],
    }


def test_the_least_that_is_sent() -> None:
    assert body_of() == {
        "model": "claude-sonnet-5",
        "max_tokens": 4096,
        "stream": True,
        "messages": [ASKED],
    }


def test_the_key_is_a_header() -> None:
    assert headers("k") == {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    assert headers(None) == {"anthropic-version": "2023-06-01"}


def test_the_path_is_the_same_for_all() -> None:
    assert path(target()) == "/v1/messages"


MESSAGES = [
    pytest.param(
        [USER, Message("user", [PIXEL, Text("What is it?")])],
        [user(text("Read a.py"), IMAGE, text("What is it?"))],
        id="neighbours of the user's are one",
    ),
    pytest.param(
        [USER, answer(Text("a")), answer(Text("b"), call()), USER],
        [ASKED, assistant(text("a"), text("b"), use()), user(result(), text("Read a.py"))],
        id="neighbours of the model's are one",
    ),
    pytest.param(
        [USER, answer(call()), Message("user", [PIXEL])],
        [ASKED, assistant(use()), user(result(), IMAGE)],
        id="results come before pictures",
    ),
    pytest.param(
        [USER, answer(call()), answer(call("toolu_2"))],
        [
            ASKED,
            assistant(use()),
            user(result()),
            assistant(use("toolu_2")),
            user(result("toolu_2")),
        ],
        id="each step has its results",
    ),
    pytest.param(
        [USER, answer(call(output=[Text("It:"), PIXEL]))],
        [ASKED, assistant(use()), user(result(content=[text("It:"), IMAGE]))],
        id="a picture in a result",
    ),
    pytest.param(
        [USER, answer(call(output=[PIXEL], is_error=True))],
        [
            ASKED,
            assistant(use()),
            user(
                result(content="[The image follows below.]", is_error=True),
                text("[Images from the result of read:]"),
                IMAGE,
            ),
        ],
        id="a picture of an error comes after it",
    ),
    pytest.param(
        [USER, answer(call(output=""), call("toolu_2", " \n"), call("toolu_3", []))],
        [
            ASKED,
            assistant(use(), use("toolu_2"), use("toolu_3")),
            user(
                {"type": "tool_result", "tool_use_id": "toolu_1"},
                {"type": "tool_result", "tool_use_id": "toolu_2"},
                {"type": "tool_result", "tool_use_id": "toolu_3"},
            ),
        ],
        id="results with nothing in them",
    ),
    pytest.param(
        [USER, answer(Reasoning(redacted="enc"), Reasoning(signature="s"), Text("a")), USER],
        [
            ASKED,
            assistant(
                {"type": "redacted_thinking", "data": "enc"},
                {"type": "thinking", "thinking": "", "signature": "s"},
                text("a"),
            ),
            ASKED,
        ],
        id="redacted and unsupported_parameters thinking",
    ),
    pytest.param(
        [USER, answer(Reasoning("Hm", signature="sig"), Text("a"), route=OTHER), USER],
        [ASKED, assistant(text("a")), ASKED],
        id="another route's thinking",
    ),
    pytest.param(
        [USER, answer(Text("a"), Reasoning("Hm", signature="sig")), USER],
        [ASKED, assistant(text("a")), ASKED],
        id="thinking that nothing follows",
    ),
    pytest.param(
        [USER, answer(Reasoning("Hm", signature="sig")), USER],
        [user(text("Read a.py"), text("Read a.py"))],
        id="nothing but thinking",
    ),
    pytest.param(
        [USER, Message("system", [Text("Be brief.")])],
        [user(text("Read a.py"), text("Be brief."))],
        id="later instructions are the user's",
    ),
    pytest.param([], [user(text("Go on."))], id="no message"),
    pytest.param([Message("user", [])], [user(text("Go on."))], id="an empty message"),
    pytest.param(
        [answer(call())],
        [user(text("Go on.")), assistant(use()), user(result())],
        id="the model speaks first",
    ),
    pytest.param([USER, answer(Text("a"))], [ASKED], id="the model has the last word"),
]


@pytest.mark.parametrize(("messages", "encoded"), MESSAGES)
def test_messages(messages: list[Message], encoded: list[dict[str, Any]]) -> None:
    assert body_of(messages)["messages"] == encoded


FACADES = [
    pytest.param(
        "zai-anthropic/glm-4.6",
        [Reasoning("Hm"), call()],
        [{"type": "thinking", "thinking": "Hm", "signature": ""}, use()],
        id="its own unsigned thinking",
    ),
    pytest.param(
        "zai-anthropic/glm-4.6",
        [Reasoning("Hm", signature="sig"), call()],
        [THINKING, use()],
        id="its own signed thinking",
    ),
    pytest.param("zai-anthropic/glm-4.6", [call()], [use()], id="no thinking, and none is missed"),
    pytest.param(
        "moonshot-anthropic/kimi-k2-thinking",
        [call()],
        [
            {
                "type": "thinking",
                "thinking": "(The reasoning before this call is not kept.)",
                "signature": "",
            },
            use(),
        ],
        id="thinking that must not be missing",
    ),
]


@pytest.mark.parametrize(("name", "parts", "blocks"), FACADES)
def test_facades_get_thinking_as_they_gave_it(
    name: str, parts: list[Part], blocks: list[dict[str, Any]]
) -> None:
    route = Route(name)
    provider = replace(catalog()["anthropic"], name=route.provider)

    body = body_of([USER, answer(*parts, route=route)], target_of(provider, route))

    assert body["messages"][1] == assistant(*blocks)


UNION = {"anyOf": [{"type": "string"}, {"type": "null"}]}
A = {
    "type": "object",
    "properties": {"kind": {"const": "a"}, "x": UNION},
    "required": ["kind", "x"],
}
B = {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}
BOTH_KINDS = {"anyOf": [{"const": "a"}, {"const": "b"}]}
EITHER = {"kind": BOTH_KINDS, "x": UNION}
OF_SELF = {"$defs": {"S": {"anyOf": [{"$ref": "#/$defs/S"}, B]}}}

SCHEMAS = [
    pytest.param(READ.input_schema, READ.input_schema, id="an object"),
    pytest.param({"type": "object", "anyOf": []}, {"type": "object"}, id="no choice"),
    pytest.param({}, {"type": "object"}, id="empty"),
    pytest.param({"properties": {"x": {}}}, {"type": "object", "properties": {"x": {}}}, id="bare"),
    pytest.param({"type": ["object", "null"]}, {"type": "object"}, id="an object or null"),
    pytest.param({"type": "string", "enum": ["a"]}, {"type": "object"}, id="a string"),
    pytest.param({"type": 7}, {"type": "object"}, id="no type at all"),
    pytest.param(
        {"anyOf": [A, B], "description": "d"},
        {"description": "d", "type": "object", "properties": EITHER, "required": ["kind"]},
        id="anyOf",
    ),
    pytest.param(
        {"type": "object", "oneOf": [A, {"type": "null"}, {"type": "string"}, True]},
        {"type": "object", "properties": A["properties"], "required": ["kind", "x"]},
        id="oneOf with what cannot be arguments",
    ),
    pytest.param(
        {"properties": {"y": {}}, "required": ["y"], "allOf": [A, B]},
        {
            "type": "object",
            "properties": {
                "y": {},
                "kind": {"allOf": [{"const": "a"}, {"const": "b"}]},
                "x": UNION,
            },
            "required": ["y", "kind", "x"],
        },
        id="allOf",
    ),
    pytest.param(
        {"properties": {"x": {"minLength": 1}}, "required": ["x"], "anyOf": [A, B]},
        {
            "type": "object",
            "properties": {"x": {"allOf": [{"minLength": 1}, UNION]}, "kind": BOTH_KINDS},
            "required": ["x", "kind"],
        },
        id="a property of the root and of a branch",
    ),
    pytest.param(
        {"anyOf": [A, {"type": "object"}]},
        {"type": "object", "properties": A["properties"]},
        id="a branch that requires nothing",
    ),
    pytest.param(
        {"$ref": "#/$defs/A~1b", "$defs": {"A/b": B}},
        {
            "$defs": {"A/b": B},
            "type": "object",
            "properties": B["properties"],
            "required": ["kind"],
        },
        id="a reference",
    ),
    pytest.param(
        {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": {"A": A, "B": B}},
        {"$defs": {"A": A, "B": B}, "type": "object", "properties": EITHER, "required": ["kind"]},
        id="a choice of references",
    ),
    pytest.param(
        {"$ref": "#/$defs/S", **OF_SELF},
        {**OF_SELF, "type": "object", "properties": B["properties"]},
        id="a reference to itself",
    ),
    pytest.param(
        {"$ref": "https://a.example/s.json"}, {"type": "object"}, id="a reference elsewhere"
    ),
    pytest.param({"$ref": "#/$defs/A"}, {"type": "object"}, id="a reference to nothing"),
    pytest.param({"$ref": 7, "anyOf": {}}, {"type": "object"}, id="neither is what it should be"),
]


@pytest.mark.parametrize(("schema", "sent"), SCHEMAS)
def test_schemas_have_an_object_at_their_root(schema: dict[str, Any], sent: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)

    body = body_of(tools=[ToolSpec("t", input_schema=schema)])

    assert body["tools"] == [{"name": "t", "input_schema": sent}]
    assert schema == before


AUTO, NONE, ANY = {"type": "auto"}, {"type": "none"}, {"type": "any"}
NAMED = {"type": "tool", "name": "read"}
ONE = {"disable_parallel_tool_use": True}

CHOICES = [
    pytest.param(Settings(), {}, None, id="nothing"),
    pytest.param(Settings(tool_choice="auto"), {}, AUTO, id="auto"),
    pytest.param(Settings(tool_choice="none"), {}, NONE, id="none"),
    pytest.param(Settings(tool_choice="required"), {}, ANY, id="required"),
    pytest.param(Settings(tool_choice="read"), {}, NAMED, id="a name"),
    pytest.param(Settings(tool_choice="write"), {}, AUTO, id="the name of no tool"),
    pytest.param(Settings(parallel_tool_calls=True), {}, None, id="parallel"),
    pytest.param(Settings(parallel_tool_calls=False), {}, {**AUTO, **ONE}, id="one"),
    pytest.param(
        Settings(tool_choice="required", parallel_tool_calls=False),
        {},
        {**ANY, **ONE},
        id="any one",
    ),
    pytest.param(
        Settings(tool_choice="none", parallel_tool_calls=False), {}, NONE, id="none, not one"
    ),
    pytest.param(
        Settings(tool_choice="required"), {"can_force_tool": False}, AUTO, id="cannot be forced"
    ),
    pytest.param(
        Settings(tool_choice="read", reasoning="low"), {}, AUTO, id="cannot be forced to think"
    ),
    pytest.param(
        Settings(tool_choice="read", reasoning="none"), {}, NAMED, id="forced, and not thinking"
    ),
    pytest.param(
        Settings(tool_choice="read"),
        {"unsupported_parameters": frozenset({"tool_choice"})},
        None,
        id="unsupported_parameters",
    ),
]


@pytest.mark.parametrize(("settings", "facts", "choice"), CHOICES)
def test_the_choice_of_tools(
    settings: Settings, facts: dict[str, Any], choice: dict[str, Any] | None
) -> None:
    body = body_of(to=target(**facts), tools=[READ], settings=settings)

    assert body.get("tool_choice") == choice


def test_a_tool_is_forced_by_the_name_that_the_target_knows() -> None:
    body = body_of(tools=[ToolSpec("read file")], settings=Settings(tool_choice="read file"))

    assert body["tools"] == [{"name": "read_file", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "tool", "name": "read_file"}


def test_no_choice_without_tools() -> None:
    assert "tool_choice" not in body_of(settings=Settings(tool_choice="required"))


@pytest.mark.parametrize("asked", [None, "auto", "required", "read"])
def test_tools_declared_because_they_were_called_are_not_called_again(asked: str | None) -> None:
    body = body_of([USER, answer(call())], settings=Settings(tool_choice=asked))

    assert body["tools"] == [{"name": "read", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == NONE


LIMITS = [
    pytest.param(None, None, 4096, id="nothing is known"),
    pytest.param(0, None, 4096, id="zero is nothing"),
    pytest.param(None, 1000, 1000, id="it gives less"),
    pytest.param(9000, 8192, 8192, id="too much"),
    pytest.param(5000, 8192, 5000, id="as asked"),
]


@pytest.mark.parametrize(("asked", "most", "sent"), LIMITS)
def test_the_longest_answer(asked: int | None, most: int | None, sent: int) -> None:
    settings = Settings(max_output_tokens=asked)

    assert body_of(to=target(max_answer_tokens=most), settings=settings)["max_tokens"] == sent


def effort(word: str) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}}


def told(word: str) -> dict[str, Any]:
    return {"output_config": {"effort": word}}


def budget(tokens: int) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


OFF = {"thinking": {"type": "disabled"}}
WARM = {"temperature": 0.5, "top_p": 0.9}
HALF = {"temperature": 0.5}  # from 4.1 on one of both is refused
KIMI = Route("moonshot-anthropic/kimi-k3")

THOUGHT = [
    pytest.param(ADAPTIVE, None, 9000, {}, {}, id="adaptive: nothing is asked"),
    pytest.param(ADAPTIVE, "minimal", 9000, {}, effort("low"), id="adaptive: minimal"),
    pytest.param(ADAPTIVE, "xhigh", None, {}, effort("xhigh"), id="adaptive: xhigh"),
    pytest.param(ADAPTIVE, "max", 10, {}, effort("max"), id="adaptive: however short"),
    pytest.param(ADAPTIVE, "none", 9000, {}, OFF, id="adaptive: none"),
    pytest.param(EARLY, "xhigh", 9000, {}, effort("high"), id="adaptive: before xhigh"),
    pytest.param(EARLY, "max", 9000, {}, effort("max"), id="adaptive: max before xhigh"),
    pytest.param(STRICT, "none", 9000, {}, {}, id="cannot be silenced"),
    pytest.param(STRICT, "high", 9000, {}, effort("high"), id="always thinks"),
    pytest.param(MANUAL, None, 9000, {}, HALF, id="manual: nothing is asked"),
    pytest.param(MANUAL, "none", 9000, {}, {**OFF, **HALF}, id="manual: none"),
    pytest.param(MANUAL, "minimal", 64000, {}, budget(1024), id="manual: minimal"),
    pytest.param(MANUAL, "low", 64000, {}, budget(2048), id="manual: low"),
    pytest.param(MANUAL, "medium", 64000, {}, budget(8192), id="manual: medium"),
    pytest.param(MANUAL, "high", 64000, {}, budget(16384), id="manual: high"),
    pytest.param(MANUAL, "xhigh", 64000, {}, budget(24576), id="manual: xhigh"),
    pytest.param(MANUAL, "max", 64000, {}, budget(32000), id="manual: half of the answer"),
    pytest.param(MANUAL, "high", None, {}, budget(2048), id="manual: half of the default"),
    pytest.param(MANUAL, "low", 2048, {}, budget(1024), id="manual: just room enough"),
    pytest.param(MANUAL, "low", 2047, {}, HALF, id="manual: no room"),
    pytest.param(KIMI, "medium", 9000, {}, told("low"), id="Kimi: medium"),
    pytest.param(KIMI, "xhigh", 9000, {}, told("high"), id="Kimi: xhigh"),
    pytest.param(KIMI, "none", 9000, {}, WARM, id="Kimi: none"),
    pytest.param(UNTHINKING, "high", 9000, {}, WARM, id="does not think"),
    pytest.param(UNTHINKING, "none", 9000, {}, WARM, id="does not think anyway"),
    pytest.param(
        ADAPTIVE,
        "high",
        9000,
        {"unsupported_parameters": frozenset({"thinking"}), "takes_sampling": True},
        {"output_config": {"effort": "high"}},
        id="effort alone",
    ),
    pytest.param(
        ADAPTIVE,
        "high",
        9000,
        {"unsupported_parameters": frozenset({"output_config"})},
        {"thinking": {"type": "adaptive"}},
        id="without effort",
    ),
    pytest.param(
        MANUAL,
        "high",
        9000,
        {"unsupported_parameters": frozenset({"thinking", "top_p"})},
        {"temperature": 0.5},
        id="thinking unsupported_parameters, and one of sampling",
    ),
    pytest.param(MANUAL, None, 9000, {"takes_sampling": False}, {}, id="no sampling"),
]


@pytest.mark.parametrize(("route", "asked", "limit", "facts", "sent"), THOUGHT)
def test_thinking_and_sampling(
    route: Route,
    asked: Effort | None,
    limit: int | None,
    facts: dict[str, Any],
    sent: dict[str, Any],
) -> None:
    settings = Settings(max_output_tokens=limit, reasoning=asked, temperature=0.5, top_p=0.9)

    body = body_of(to=target(route, **facts), settings=settings)

    for name in ("model", "max_tokens", "stream", "messages"):
        del body[name]
    assert body == sent


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        pytest.param(0, 0, id="zero"),
        pytest.param(1.0, 1.0, id="the highest"),
        pytest.param(1.7, 1.0, id="higher than it takes"),
    ],
)
def test_temperature_ends_at_one(asked: float, sent: float) -> None:
    handover = hand_over(Conversation([USER], settings=Settings(temperature=asked)), target(MANUAL))

    assert encode(handover)["temperature"] == sent
    assert len(handover.notes) == (asked != sent)


THOUGHTFUL = answer(Reasoning("Hm", signature="sig"), call(), route=MANUAL)
STEP = answer(call("toolu_2"), route=MANUAL)
FOREIGN = answer(call("toolu_3"), route=OTHER)
FOREIGN_THOUGHT = answer(Reasoning("?"), call("toolu_4"), route=OTHER)
REFUSED_PICTURE = answer(call("toolu_5", [PIXEL], is_error=True), route=MANUAL)

LOOPS = [
    pytest.param([USER], True, 0, id="no step"),
    pytest.param([USER, THOUGHTFUL], True, 1, id="it began with thinking"),
    pytest.param([USER, THOUGHTFUL, STEP], True, 1, id="only the first step thinks"),
    pytest.param([USER, THOUGHTFUL, FOREIGN], False, 0, id="a foreign step after one that thinks"),
    pytest.param([USER, FOREIGN], False, 0, id="a foreign step"),
    pytest.param([USER, FOREIGN_THOUGHT], False, 0, id="a foreign step that thought"),
    pytest.param([USER, FOREIGN, THOUGHTFUL], False, 0, id="one that thinks after a foreign step"),
    pytest.param(
        [USER, FOREIGN, answer(Text("Done."), route=OTHER), USER], True, 0, id="a loop that is over"
    ),
    pytest.param(
        [USER, FOREIGN, answer(Text("Done."), route=OTHER), USER, THOUGHTFUL],
        True,
        1,
        id="a new loop",
    ),
    pytest.param([USER, FOREIGN, USER], False, 0, id="the user spoke right after foreign results"),
    pytest.param([USER, THOUGHTFUL, USER], True, 1, id="the user spoke right after results"),
    pytest.param(
        [USER, THOUGHTFUL, USER, FOREIGN], False, 0, id="a foreign step after the user spoke so"
    ),
    pytest.param([USER, REFUSED_PICTURE], False, 0, id="a picture after results"),
    pytest.param(
        [USER, REFUSED_PICTURE, USER], False, 0, id="a picture and the user's word after results"
    ),
    pytest.param([USER, answer(Text("a"), route=MANUAL), THOUGHTFUL], False, 0, id="text first"),
]


@pytest.mark.parametrize(("messages", "thinks", "kept"), LOOPS)
def test_with_a_budget_the_answer_that_goes_on_must_have_begun_with_thinking(
    messages: list[Message], thinks: bool, kept: int
) -> None:
    handover = hand_over(
        Conversation(messages, tools=[READ], settings=Settings(reasoning="low")), target(MANUAL)
    )

    body = encode(handover)

    types = [block["type"] for message in body["messages"] for block in message["content"]]
    note = Note("dropped", "thinking", "the answer that goes on did not begin with it")
    assert body.get("thinking") == (budget(2048)["thinking"] if thinks else None)
    assert types.count("thinking") == kept
    assert (note in handover.notes) is not thinks


@pytest.mark.parametrize(
    ("route", "asked", "facts", "kept"),
    [
        pytest.param(MANUAL, "low", {}, True, id="on"),
        pytest.param(MANUAL, None, {}, False, id="off by default"),
        pytest.param(MANUAL, "none", {}, False, id="disabled"),
        pytest.param(MANUAL, "low", {"thinking": "none"}, False, id="switched off by a refusal"),
        pytest.param(ADAPTIVE, "low", {}, True, id="adaptive"),
        pytest.param(ADAPTIVE, None, {}, True, id="left to the model"),
        pytest.param(ADAPTIVE, "none", {}, False, id="adaptive, disabled"),
        pytest.param(
            MANUAL, None, {"missing_reasoning": "?"}, True, id="where it must not be missing"
        ),
    ],
)
def test_no_thinking_is_shown_while_it_is_off(
    route: Route, asked: Effort | None, facts: dict[str, Any], kept: bool
) -> None:
    step = answer(Reasoning("Hm", signature="sig"), call(), route=route)
    handover = hand_over(
        Conversation([USER, step], tools=[READ], settings=Settings(reasoning=asked)),
        target(route, **facts),
    )

    body = encode(handover)

    note = Note("dropped", "reasoning", "thinking is off, and then none may be shown")
    assert body["messages"][1] == (assistant(THINKING, use()) if kept else assistant(use()))
    assert (note in handover.notes) is not kept


def test_what_is_encoded_twice_is_noted_once() -> None:
    handover = hand_over(
        Conversation([USER, FOREIGN], settings=Settings(reasoning="low", tool_choice="read")),
        target(MANUAL),
    )

    first, notes = encode(handover), list(handover.notes)

    assert encode(handover) == first
    assert handover.notes == notes


def test_what_is_omitted_is_left_out() -> None:
    names = {"system", "tools", "tool_choice", "max_tokens", "nothing"}

    body = body_of(
        [Message("system", [Text("s")]), USER],
        target(unsupported_parameters=frozenset(names)),
        tools=[READ],
        settings=Settings(tool_choice="auto"),
    )

    assert body == {"model": "claude-sonnet-5", "stream": True, "messages": [ASKED]}


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        pytest.param({"markers": 4}, 4, id="all"),
        pytest.param({"markers": 1}, 1, id="one"),
        pytest.param({"markers": 0}, 0, id="none"),
        pytest.param(
            {"markers": 4, "unsupported_parameters": frozenset({"cache_control"})},
            0,
            id="unsupported_parameters",
        ),
    ],
)
def test_as_many_cache_markers_as_the_target_takes(facts: dict[str, Any], count: int) -> None:
    body = body_of(
        [Message("system", [Text("s")]), USER, answer(call())], target(**facts), tools=[READ]
    )

    assert write_json(body).count(b'"cache_control":{"type":"ephemeral"}') == count


def test_nothing_of_the_conversation_is_copied_or_changed() -> None:
    schema, arguments, output = {"type": "object"}, {"path": "a.py"}, "o" * 1000
    step = answer(ToolCall("toolu_1", "read", arguments, "completed", output))
    conversation = Conversation([USER, step], tools=[ToolSpec("read", input_schema=schema)])
    before = copy.deepcopy(conversation)

    body = encode(hand_over(conversation, target(markers=4)))

    assert body["messages"][1]["content"][0]["input"] is arguments
    assert body["messages"][2]["content"][0]["content"] is output
    assert body["tools"][0]["input_schema"] is schema
    assert conversation == before


def test_a_handover_by_hand_is_spelled_as_it_is() -> None:
    made = Handover(
        target(),
        Settings(),
        messages=[Message("assistant", []), USER, Message("system", [Text("Now.")])],
    )

    assert encode(made)["messages"] == [ASKED, {"role": "system", "content": [text("Now.")]}]


TEXTS = st.sampled_from(["", " ", "a"])
PARTS = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Reasoning, TEXTS, st.sampled_from([None, "", "s"]), st.sampled_from([None, "r"])),
    st.builds(
        ToolCall,
        st.sampled_from(["toolu_1", "toolu_2", "not|good", ""]),
        st.sampled_from(["read", "read file", ""]),
        st.just({}),
        st.sampled_from(["pending", "running", "completed", "error", "interrupted"]),
        st.none() | TEXTS | st.lists(st.builds(Text, TEXTS) | st.just(PIXEL), max_size=2),
        st.booleans(),
    ),
    st.just(PIXEL),
)
ROLES: list[Literal["system", "user", "assistant"]] = ["system", "user", "assistant"]
CONVERSATIONS = st.builds(
    Conversation,
    st.lists(
        st.builds(
            Message,
            st.sampled_from(ROLES),
            st.lists(PARTS, max_size=4),
            st.sampled_from([None, MANUAL, ADAPTIVE, OTHER]),
        ),
        max_size=8,
    ),
    st.lists(st.builds(ToolSpec, st.sampled_from(["read", "x y"])), max_size=2),
    st.builds(
        Settings,
        reasoning=st.sampled_from([None, "none", "low"]),
        tool_choice=st.sampled_from([None, "auto", "none", "required", "read", "?"]),
    ),
)


@given(CONVERSATIONS, st.sampled_from([MANUAL, ADAPTIVE, STRICT, UNTHINKING]))
def test_roles_alternate_and_results_follow_their_calls(
    conversation: Conversation, route: Route
) -> None:
    messages = body_of(
        conversation.messages,
        target(route),
        tools=conversation.tools,
        settings=conversation.settings,
    )["messages"]

    roles = [message["role"] for message in messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    for index, message in enumerate(messages):
        types = [block["type"] for block in message["content"]]
        assert types
        assert types[-1] not in ("thinking", "redacted_thinking")
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        after = messages[index + 1]["content"] if index + 1 < len(messages) else []
        results = [block.get("tool_use_id") for block in after]
        assert results == [*calls, *[None] * (len(after) - len(calls))]
