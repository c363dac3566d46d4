from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
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
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.wire.gemini.encode import encode, headers, path

THIRD = Route("gemini/gemini-3-flash-preview")
SECOND = Route("gemini/gemini-2.5-flash")
OLD = Route("gemini/gemini-2.0-flash")
CLAUDE = Route("anthropic/claude-sonnet-5")
SKIP = "skip_thought_signature_validator"

NOTHING = Settings()
PIXEL = Image("image/png", "aGk=")
DATA = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
GO = Message("user", [Text("Go.")])

Wired = dict[str, Any]


def target(route: Route = THIRD, **changes: Any) -> Target:
    base_url = "https://generativelanguage.googleapis.com/v1beta"
    provider = Provider(route.provider, "gemini", base_url, "GEMINI_API_KEY")
    return replace(target_of(provider, route), **changes)


def request(
    *messages: Message,
    tools: list[ToolSpec] | None = None,
    settings: Settings = NOTHING,
    to: Target | None = None,
) -> Wired:
    conversation = Conversation([*messages], tools or [], settings)
    before = copy.deepcopy(conversation)
    body = encode(hand_over(conversation, to or target()))
    assert conversation == before
    return body


def user(*parts: Part) -> Message:
    return Message("user", [*parts])


def answer(*parts: Part, route: Route = THIRD) -> Message:
    return Message("assistant", [*parts], route)


def content(role: str, *parts: Wired) -> Wired:
    return {"role": role, "parts": [*parts]}


def said(text: str = "Go.") -> Wired:
    return content("user", {"text": text})


def call(id_: str | None, args: Wired | None = None, **beside: Any) -> Wired:
    known = {} if id_ is None else {"id": id_}
    return {"functionCall": {"name": "read", "args": args or {}, **known}, **beside}


def result(id_: str | None, response: Wired, **beside: Any) -> Wired:
    known = {} if id_ is None else {"id": id_}
    return {"functionResponse": {"name": "read", "response": response, **known, **beside}}


def done(id_: str, output: Any = "1", **known: Any) -> ToolCall:
    return ToolCall(id_, "read", {}, "completed", output, **known)


NEWEST = target()


@dataclass
class Said:
    id: str
    messages: list[Message]
    contents: list[Wired]
    to: Target = NEWEST


CONTENTS = [
    Said("what the user says", [GO], [said()]),
    Said("text and an image", [user(Text("See"), PIXEL)], [content("user", {"text": "See"}, DATA)]),
    Said("neighbours of one role", [GO, GO], [content("user", {"text": "Go."}, {"text": "Go."})]),
    Said(
        "instructions that come later",
        [GO, Message("system", [Text("Be brief.")])],
        [content("user", {"text": "Go."}, {"text": "Be brief."})],
    ),
    Said(
        "signatures stay on their very parts",
        [
            GO,
            answer(
                Reasoning("Hm.", signature="c2ln"),
                Text("One"),
                Text("", signature="c2lo"),
                Text("two"),
            ),
            GO,
        ],
        [
            said(),
            content(
                "model",
                {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"},
                {"text": "One"},
                {"text": "", "thoughtSignature": "c2lo"},
                {"text": "two"},
            ),
            said(),
        ],
    ),
    Said(
        "thinking without a signature",
        [GO, answer(Reasoning("Hm."), Text("One")), GO],
        [said(), content("model", {"text": "One"}), said()],
    ),
    Said(
        "neighbouring answers, as after an interrupted turn",
        [GO, answer(Text("One", signature="c2ln")), answer(Text("two")), GO],
        [
            said(),
            content("model", {"text": "One", "thoughtSignature": "c2ln"}, {"text": "two"}),
            said(),
        ],
    ),
    Said(
        "results in the order of their calls, before what the user says",
        [
            GO,
            answer(Text("I read."), done("a1", signature="c2ln"), done("b2", "2")),
            GO,
        ],
        [
            said(),
            content(
                "model",
                {"text": "I read."},
                call("a1", thoughtSignature="c2ln"),
                call("b2"),
            ),
            content(
                "user",
                result("a1", {"output": "1"}),
                result("b2", {"output": "2"}),
                {"text": "Go."},
            ),
        ],
    ),
    Said(
        "two steps",
        [GO, answer(done("a1", signature="c2ln")), answer(done("b2", signature="c2lo"))],
        [
            said(),
            content("model", call("a1", thoughtSignature="c2ln")),
            content("user", result("a1", {"output": "1"})),
            content("model", call("b2", thoughtSignature="c2lo")),
            content("user", result("b2", {"output": "1"})),
        ],
    ),
    Said(
        "another's answer",
        [
            GO,
            answer(
                Reasoning("Hm.", signature="Eq=="), done("toolu_1"), done("toolu_2"), route=CLAUDE
            ),
        ],
        [
            said(),
            content("model", call("toolu_1", thoughtSignature=SKIP), call("toolu_2")),
            content("user", result("toolu_1", {"output": "1"}), result("toolu_2", {"output": "1"})),
        ],
    ),
    Said(
        "a result with images",
        [GO, answer(done("a1", [Text("Two:"), PIXEL, Text("and"), PIXEL], signature="c2ln"))],
        [
            said(),
            content("model", call("a1", thoughtSignature="c2ln")),
            content("user", result("a1", {"output": "Two:\nand"}, parts=[DATA, DATA])),
        ],
    ),
    Said(
        "a tool that failed",
        [
            GO,
            answer(
                ToolCall("a1", "read", {}, "error", "No.", is_error=True, signature="c2ln"),
                ToolCall("b2", "read", {}, "error", [PIXEL], is_error=True),
            ),
        ],
        [
            said(),
            content("model", call("a1", thoughtSignature="c2ln"), call("b2")),
            content(
                "user", result("a1", {"error": "No."}), result("b2", {"error": ""}, parts=[DATA])
            ),
        ],
    ),
    Said(
        "a call that was cut off",
        [GO, answer(ToolCall("a1", "read", {"path": "a"}, "running"))],
        [
            said(),
            content("model", call("a1", {"path": "a"}, thoughtSignature=SKIP)),
            content(
                "user",
                result(
                    "a1",
                    {"error": "This call was interrupted; it may have run, in part or in full."},
                ),
            ),
        ],
    ),
    Said(
        "images of a result go after all results where they cannot be in it",
        [GO, answer(done("a1", [PIXEL]), done("b2"), route=SECOND)],
        [
            said(),
            content("model", call(None), call(None)),
            content(
                "user",
                result(None, {"output": "[The image follows below.]"}),
                result(None, {"output": "1"}),
                {"text": "[Images from the result of read:]"},
                DATA,
            ),
        ],
        target(SECOND),
    ),
    Said(
        "a backend that knows no ids",
        [GO, answer(done("a1", signature="c2ln"))],
        [
            said(),
            content("model", call(None, thoughtSignature="c2ln")),
            content("user", result(None, {"output": "1"})),
        ],
        target(unsupported_parameters=frozenset({"id"})),
    ),
    Said("nothing", [], [said("Go on.")]),
]


@pytest.mark.parametrize("case", CONTENTS, ids=lambda case: case.id)
def test_messages_become_contents(case: Said) -> None:
    assert request(*case.messages, to=case.to) == {"contents": case.contents}


def test_instructions_stand_before_everything() -> None:
    body = request(Message("system", [Text("You code."), Text("Be brief.")]), GO)

    assert body == {
        "systemInstruction": {"parts": [{"text": "You code."}, {"text": "Be brief."}]},
        "contents": [said()],
    }


def declared(*functions: Wired) -> Wired:
    return {"tools": [{"functionDeclarations": [*functions]}]}


def calling(**config: Any) -> Wired:
    return {"toolConfig": {"functionCallingConfig": config}}


READ = ToolSpec(
    "read", "Read.", {"properties": {"kind": {"const": "a"}}, "additionalProperties": False}
)
READ_TOOL = {
    "name": "read",
    "description": "Read.",
    "parametersJsonSchema": {
        "type": "object",
        "properties": {"kind": {"enum": ["a"]}},
        "additionalProperties": False,
    },
}
READ_SUBSET = {
    "name": "read",
    "description": "Read.",
    "parameters": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["a"]}}},
}


@dataclass
class Asked:
    """What settings add to a request."""

    id: str
    settings: Settings
    fields: Wired
    tools: list[ToolSpec] = field(default_factory=list)
    to: Target = NEWEST


SETTINGS = [
    Asked("nothing", Settings(), {}),
    Asked(
        "tools",
        Settings(),
        declared(READ_TOOL, {"name": "ls", "parametersJsonSchema": {"type": "object"}}),
        [READ, ToolSpec("ls")],
    ),
    Asked(
        "tools of an old model",
        Settings(),
        declared(READ_SUBSET, {"name": "ls"}),
        [READ, ToolSpec("ls")],
        target(OLD),
    ),
    Asked(
        "tools of a backend that does not know JSON Schema",
        Settings(),
        declared(READ_SUBSET),
        [READ],
        target(unsupported_parameters=frozenset({"parametersJsonSchema"})),
    ),
    Asked(
        "any tool or none",
        Settings(tool_choice="auto"),
        declared(READ_TOOL) | calling(mode="AUTO"),
        [READ],
    ),
    Asked(
        "no tool", Settings(tool_choice="none"), declared(READ_TOOL) | calling(mode="NONE"), [READ]
    ),
    Asked(
        "any tool",
        Settings(tool_choice="required", parallel_tool_calls=False),
        declared(READ_TOOL) | calling(mode="ANY"),
        [READ],
    ),
    Asked(
        "the name of a tool, as it is called there",
        Settings(tool_choice="9 lives"),
        declared({"name": "_9_lives", "parametersJsonSchema": {"type": "object"}})
        | calling(mode="ANY", allowedFunctionNames=["_9_lives"]),
        [ToolSpec("9 lives")],
    ),
    Asked(
        "a tool that no one may be made to call",
        Settings(tool_choice="read"),
        declared(READ_TOOL) | calling(mode="AUTO"),
        [READ],
        target(can_force_tool=False),
    ),
    Asked("a choice without tools", Settings(tool_choice="required"), {}),
    Asked(
        "limits and sampling",
        Settings(max_output_tokens=99, temperature=0.0, top_p=0.5, cache_key="s1"),
        {"generationConfig": {"maxOutputTokens": 99, "temperature": 0.0, "topP": 0.5}},
    ),
    Asked(
        "a limit above the model's",
        Settings(max_output_tokens=99),
        {"generationConfig": {"maxOutputTokens": 9}},
        to=target(max_answer_tokens=9),
    ),
    Asked("sampling that is not taken", Settings(top_p=0.5), {}, to=target(takes_sampling=False)),
    Asked("an effort of one that does not think", Settings(reasoning="high"), {}, to=target(OLD)),
    Asked(
        "what is left out",
        Settings(max_output_tokens=99, temperature=0.0, reasoning="low", tool_choice="auto"),
        declared(READ_TOOL)
        | {"generationConfig": {"maxOutputTokens": 99, "thinkingConfig": {"thinkingLevel": "LOW"}}},
        [READ],
        target(unsupported_parameters=frozenset({"toolConfig", "temperature", "includeThoughts"})),
    ),
    Asked(
        "all of what there is left out",
        Settings(temperature=0.0, reasoning="low"),
        {},
        to=target(unsupported_parameters=frozenset({"temperature", "thinkingConfig"})),
    ),
]


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: case.id)
def test_settings_become_parameters(case: Asked) -> None:
    body = request(GO, tools=case.tools, settings=case.settings, to=case.to)

    assert body == {"contents": [said()], **case.fields}


def levelled(level: str) -> Wired:
    return {"thinkingLevel": level, "includeThoughts": True}


def budgeted(tokens: int) -> Wired:
    return {"thinkingBudget": tokens, "includeThoughts": True}


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        pytest.param("gemini-3-flash-preview", "none", {"thinkingLevel": "MINIMAL"}, id="3 none"),
        pytest.param("gemini-3-flash-preview", "minimal", levelled("MINIMAL"), id="3 minimal"),
        pytest.param("gemini-3-flash-preview", "low", levelled("LOW"), id="3 low"),
        pytest.param("gemini-3-flash-preview", "medium", levelled("MEDIUM"), id="3 medium"),
        pytest.param("gemini-3-flash-preview", "high", levelled("HIGH"), id="3 high"),
        pytest.param("gemini-3-flash-preview", "max", levelled("HIGH"), id="3 max"),
        pytest.param("gemini-3-pro-preview", "medium", levelled("HIGH"), id="3 pro medium"),
        pytest.param("gemini-3.1-pro-preview", "medium", levelled("MEDIUM"), id="3.1 pro medium"),
        pytest.param("gemini-3.1-pro-preview", "minimal", levelled("LOW"), id="3.1 pro minimal"),
        pytest.param("gemini-3.7-flash", "none", {"thinkingLevel": "LOW"}, id="3.7 flash none"),
        pytest.param("gemini-flash-latest", "minimal", levelled("LOW"), id="newest flash"),
        pytest.param("gemini-3.9-flash-lite", "minimal", levelled("MINIMAL"), id="newer lite"),
        pytest.param("gemini-2.5-flash", "none", {"thinkingBudget": 0}, id="2.5 none"),
        pytest.param("gemini-2.5-pro", "none", {"thinkingBudget": 128}, id="2.5 pro none"),
        pytest.param("gemini-2.5-flash", "minimal", budgeted(512), id="2.5 minimal"),
        pytest.param("gemini-2.5-pro", "low", budgeted(1024), id="2.5 low"),
        pytest.param("gemini-2.5-flash", "medium", budgeted(8192), id="2.5 medium"),
        pytest.param("gemini-2.5-flash", "high", budgeted(24576), id="2.5 high"),
        pytest.param("gemini-2.5-flash", "xhigh", budgeted(24576), id="2.5 xhigh"),
    ],
)
def test_an_effort_becomes_what_the_model_takes(model: str, effort: Effort, config: Wired) -> None:
    body = request(GO, settings=Settings(reasoning=effort), to=target(Route(f"gemini/{model}")))

    assert body["generationConfig"] == {"thinkingConfig": config}


@pytest.mark.parametrize(
    ("key", "named"),
    [
        pytest.param("AIza", {"x-goog-api-key": "AIza"}, id="a key"),
        pytest.param(None, {}, id="none"),
    ],
)
def test_headers(key: str | None, named: dict[str, str]) -> None:
    assert headers(key) == named


@pytest.mark.parametrize(
    ("model", "quoted"),
    [
        pytest.param("gemini-2.5-pro", "gemini-2.5-pro", id="plain"),
        pytest.param("google/gemini-2.5-pro", "google%2Fgemini-2.5-pro", id="slash"),
        pytest.param("../x?alt=json#", "..%2Fx%3Falt%3Djson%23", id="what would lead elsewhere"),
    ],
)
def test_path(model: str, quoted: str) -> None:
    name = path(target(Route(f"gemini/{model}")))

    assert name == f"/models/{quoted}:streamGenerateContent?alt=sse"


def test_texts_and_arguments_are_not_copied() -> None:
    text, arguments = "x" * 1000, {"path": "y" * 1000}
    called = ToolCall("a1", "read", arguments, "completed", text, signature="c2ln")
    handover = Handover(
        target(), Settings(), [text], [user(Text(text), PIXEL), answer(Text(text), called)]
    )

    body = encode(handover)

    told, answered, results = body["contents"]
    assert body["systemInstruction"]["parts"][0]["text"] is text
    assert told["parts"][0]["text"] is text
    assert told["parts"][1]["inlineData"]["data"] is PIXEL.data
    assert answered["parts"][0]["text"] is text
    assert answered["parts"][1]["functionCall"]["args"] is arguments
    assert results["parts"][0]["functionResponse"]["response"]["output"] is text
