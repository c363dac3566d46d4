""""""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from sidestep import Route
from sidestep.provider.conversation import (
    Image,
    Message,
    Part,
    Reasoning,
    Settings,
    Text,
    ToolCall,
)
from sidestep.provider.handover.handover import Handover
from sidestep.provider.handover.target import Target
from sidestep.provider.wire.gemini.encode import encode, headers, path

from .requests import GO, NEWEST, THIRD, Wired, content, request, said, target

SECOND = Route("gemini/gemini-2.5-flash")
CLAUDE = Route("anthropic/claude-sonnet-5")
SKIP = "skip_thought_signature_validator"
PIXEL = Image("image/png", "aGk=")
DATA = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}


def user(*parts: Part) -> Message:
    return Message("user", [*parts])


def answer(*parts: Part, route: Route = THIRD) -> Message:
    return Message("assistant", [*parts], route)


def call(id_: str | None, args: Wired | None = None, **beside: Any) -> Wired:
    known = {} if id_ is None else {"id": id_}
    return {"functionCall": {"name": "read", "args": args or {}, **known}, **beside}


def result(id_: str | None, response: Wired, **beside: Any) -> Wired:
    known = {} if id_ is None else {"id": id_}
    return {"functionResponse": {"name": "read", "response": response, **known, **beside}}


def done(id_: str, output: Any = "1", **known: Any) -> ToolCall:
    return ToolCall(id_, "read", {}, "completed", output, **known)


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
        "images of a result go after all results if they cannot be in it",
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
