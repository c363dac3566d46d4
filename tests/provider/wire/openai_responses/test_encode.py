""""""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
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
from sidestep.provider.json_value import write_json
from sidestep.provider.wire.openai_responses.encode import encode, headers, path

from .requests import GO, GO_ITEM, GPT, READ, elsewhere, request, target

CLAUDE = Route("anthropic/claude-sonnet-5")
PIXEL = Image("image/png", "aGk=")
URL = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}


def user(*parts: Part) -> Message:
    return Message("user", [*parts])


def answer(*parts: Part, route: Route = GPT) -> Message:
    return Message("assistant", [*parts], route)


def said(text: str, **known: str) -> dict[str, Any]:
    item = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", **known, "role": "assistant", "content": item if known else text}


def call(id_: str, arguments: str = "{}", **known: str) -> dict[str, Any]:
    about = {"call_id": id_, "name": "read", "arguments": arguments}
    return {"type": "function_call", **known, **about}


def result(id_: str, output: object) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id_, "output": output}


@dataclass
class Input:
    id: str
    messages: list[Message]
    items: list[dict[str, Any]]


THOUGHT = Reasoning("Hm.", encrypted="gAAA", item_id="rs_1")

THOUGHT_ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAA",
}

INPUTS = [
    Input("what the user says", [GO], [GO_ITEM]),
    Input(
        "text and an image",
        [user(Text("See"), PIXEL)],
        [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "See"}, URL],
            }
        ],
    ),
    Input(
        "instructions that come later",
        [GO, Message("system", [Text("Be brief.")])],
        [
            GO_ITEM,
            {
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": "Be brief."}],
            },
        ],
    ),
    Input(
        "its own answer, with the ids of its items",
        [GO, answer(THOUGHT, Text("Done.", item_id="msg_1")), GO],
        [GO_ITEM, THOUGHT_ITEM, said("Done.", id="msg_1", status="completed"), GO_ITEM],
    ),
    Input(
        "its own answer, with its phase and the ids of its items",
        [GO, answer(THOUGHT, Text("Done.", item_id="msg_1", phase="final_answer")), GO],
        [
            GO_ITEM,
            THOUGHT_ITEM,
            said("Done.", id="msg_1", status="completed") | {"phase": "final_answer"},
            GO_ITEM,
        ],
    ),
    Input(
        "its own answer, with its phase alone",
        [GO, answer(Text("Looking.", phase="commentary")), GO],
        [GO_ITEM, said("Looking.") | {"phase": "commentary"}, GO_ITEM],
    ),
    Input(
        "its own thinking, with nothing to read",
        [GO, answer(replace(THOUGHT, text=""), Text("Done.", item_id="msg_1")), GO],
        [
            GO_ITEM,
            {**THOUGHT_ITEM, "summary": []},
            said("Done.", id="msg_1", status="completed"),
            GO_ITEM,
        ],
    ),
    Input(
        "an own answer without the thinking that its ids want",
        [
            GO,
            answer(Reasoning("Hm.", item_id="rs_1"), Text("Done.", item_id="msg_1")),
            GO,
        ],
        [GO_ITEM, said("Done."), GO_ITEM],
    ),
    Input(
        "another's answer",
        [
            GO,
            answer(Reasoning("Hm.", signature="Eq=="), Text("Done."), route=CLAUDE),
            GO,
        ],
        [GO_ITEM, said("Done."), GO_ITEM],
    ),
    Input(
        "results right after all calls, in their order",
        [
            GO,
            answer(
                THOUGHT,
                ToolCall("call_1", "read", {"path": "ä"}, "completed", "1", item_id="fc_1"),
                Text("And"),
                ToolCall("call_2", "read", {}, "completed", "", item_id="fc_2"),
            ),
        ],
        [
            GO_ITEM,
            THOUGHT_ITEM,
            call("call_1", '{"path":"ä"}', id="fc_1"),
            said("And"),
            call("call_2", id="fc_2"),
            result("call_1", "1"),
            result("call_2", ""),
        ],
    ),
    Input(
        "a result with an image, also of a tool that failed",
        [
            GO,
            answer(
                ToolCall("call_1", "read", {}, "completed", [Text("See"), PIXEL]),
                ToolCall("call_2", "read", {}, "error", [PIXEL], is_error=True),
            ),
        ],
        [
            GO_ITEM,
            call("call_1"),
            call("call_2"),
            result("call_1", [{"type": "input_text", "text": "See"}, URL]),
            result("call_2", [URL]),
        ],
    ),
    Input(
        "a call that was cut off",
        [GO, answer(ToolCall("call_1", "read", {}, "pending"))],
        [
            GO_ITEM,
            call("call_1"),
            result("call_1", "This call was not run: the step was interrupted before it began."),
        ],
    ),
    Input(
        "another's call, with an id that is as good",
        [GO, answer(ToolCall("toolu_1", "read", {}, "completed", "1"), route=CLAUDE)],
        [GO_ITEM, call("toolu_1"), result("toolu_1", "1")],
    ),
    Input("nothing", [], [{**GO_ITEM, "content": [{"type": "input_text", "text": "Go on."}]}]),
]


@pytest.mark.parametrize("case", INPUTS, ids=lambda case: case.id)
def test_messages_become_items(case: Input) -> None:
    assert request(*case.messages) == {
        "model": "gpt-5.6",
        "stream": True,
        "store": False,
        "input": case.items,
        "include": ["reasoning.encrypted_content"],
    }


XAI = "xai/grok-4.3"
ISSUED = [
    pytest.param(
        Reasoning("Hm.", item_id="rs_1"),
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        id="summary without an encrypted form",
    ),
    pytest.param(
        Reasoning("Hm.", item_id="rs_1", field_name="content"),
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "Hm."}],
        },
        id="text of an open model",
    ),
    pytest.param(THOUGHT, THOUGHT_ITEM, id="encrypted"),
]


@pytest.mark.parametrize(("thought", "item"), ISSUED)
def test_own_reasoning_of_an_unknown_vendor_goes_back_as_it_came(
    thought: Reasoning, item: dict[str, Any]
) -> None:
    """Source: fault W28."""
    message = Message("assistant", [thought, Text("Done.", item_id="msg_1")], Route(XAI))

    body = request(GO, message, GO, to=elsewhere(XAI))

    done = said("Done.", id="msg_1", status="completed")
    assert body["input"] == [GO_ITEM, item, done, GO_ITEM]


def test_ids_of_items_go_when_all_reasoning_does() -> None:
    """After a refusal of the encrypted reasoning nothing may refer to it."""
    message = answer(THOUGHT, Text("Done.", item_id="msg_1"))

    body = request(GO, message, GO, to=target(reasoning_form="none"))

    assert body["input"] == [GO_ITEM, said("Done."), GO_ITEM]


def test_instructions_stand_before_everything() -> None:
    first = Message("system", [Text("You code."), Text("Be brief.")])

    body = request(first, GO)

    assert body["instructions"] == "You code.\n\nBe brief."
    assert body["input"] == [GO_ITEM]


@pytest.mark.parametrize(
    ("key", "named"),
    [
        pytest.param("sk-1", {"authorization": "Bearer sk-1"}, id="a key"),
        pytest.param(None, {}, id="none"),
    ],
)
def test_headers(key: str | None, named: dict[str, str]) -> None:
    assert headers(key) == named


def test_path() -> None:
    assert path(target()) == "/responses"


def test_a_lone_surrogate_in_arguments_can_be_sent() -> None:
    body = request(GO, answer(ToolCall("call_1", "read", {"path": "\ud83d"}, "completed", "1")))

    assert json.loads(body["input"][1]["arguments"]) == {"path": "?"}
    assert write_json(body)


def test_texts_and_schemas_are_not_copied() -> None:
    text, output = "x" * 1000, "y" * 1000
    handover = Handover(
        target(),
        Settings(),
        [text],
        [user(Text(text)), answer(Text(text), ToolCall("c", "read", {}, "completed", output))],
        [READ],
    )

    body = encode(handover)

    items = body["input"]
    assert body["instructions"] is text
    assert items[0]["content"][0]["text"] is text
    assert items[1]["content"] is text
    assert items[3]["output"] is output
    assert body["tools"][0]["parameters"]["properties"] is READ.input_schema["properties"]
