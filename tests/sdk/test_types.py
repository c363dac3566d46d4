"""Requests of ours, by the types that the providers' own SDKs have for them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import ValidationError

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.catalog.vendor import vendor_of
from sidestep.provider.client.rendering import render
from sidestep.provider.client.token_count import question_of
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
from sidestep.provider.conversation_json import read_conversation
from sidestep.provider.json_value import read_json

from ..provider.conversations import ROUTES as KNOWN
from ..provider.conversations import conversations
from .request_type import check_count, check_request

OLD_GEMINI = Route("gemini/gemini-2.0-flash")
ROUTES = {**KNOWN, OLD_GEMINI: Provider("gemini", "gemini", "https://example.com", None)}
STORED = sorted((Path(__file__).parents[2] / "fixtures" / "conversations").glob("*.json"))

GO = Message("user", [Text("Why does test_parser fail?")])
PIXEL = Image("image/png", "iVBORw0KGgo=")
THOUGHT = Reasoning(
    "Hm.",
    signature="c2lnbmVk",
    details=({"type": "reasoning.text", "text": "Hm.", "index": 0},),
    encrypted="gAAA",
    item_id="rs_1",
)
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where it is."},
        "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        "how": {"anyOf": [{"const": "whole"}, {"$ref": "#/$defs/Part"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"Part": {"type": ["string", "null"], "default": None}},
}
TOOLS = (ToolSpec("read_file", "Read a file.", SCHEMA), ToolSpec("mcp/list.all"))


def call(id_: str, output: str | list[Text | Image] | None = "ok", **about: Any) -> ToolCall:
    return ToolCall(
        id_, "read_file", {"path": "a.py"}, about.pop("state", "completed"), output, **about
    )


def answered(route: Route, *parts: Part) -> list[Message]:
    return [GO, Message("assistant", [*parts], route)]


def histories(own: Route) -> dict[str, list[Message]]:
    """Return what may have gone before at *own*, or at another route."""
    other = Route("elsewhere/model")
    signed = replace(call("call_1"), signature="c2lnbmVk", item_id="fc_1")
    text = Text("Done.", signature="c2lnbmVk", item_id="msg_1")
    system = Message("system", [Text("Be brief.")])
    return {
        "the user alone": [GO],
        "nothing": [],
        "instructions": [system, GO, system, GO],
        "an image": [Message("user", [Text("See"), PIXEL])],
        "own thinking before a call": answered(own, THOUGHT, Text("I look."), signed),
        "own thinking before text": [*answered(own, THOUGHT, text), GO],
        "own thinking, redacted": answered(own, Reasoning(redacted="c2Vj"), signed),
        "thinking of another": [*answered(other, THOUGHT, text, signed), GO],
        "an answer without thinking": [*answered(own, Text("Done.")), GO],
        "parallel calls": answered(own, THOUGHT, signed, call("call_2"), call("call_2")),
        "interrupted calls": answered(
            own,
            call("", None, state="pending"),
            call("a|b", None, state="running"),
            call("call_3", None, state="interrupted"),
        ),
        "a failed call": answered(own, call("call_1", "No such file.", is_error=True)),
        "a silent call": answered(own, call("call_1", "")),
        "an image in a result": answered(own, call("call_1", [Text("See"), PIXEL])),
        "an image in a failed result": answered(own, call("call_1", [PIXEL], is_error=True)),
        "a tool that is not declared": answered(
            own, replace(call("call_1"), name="мой инструмент")
        ),
    }


EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
SETTINGS = {
    "no settings": Settings(),
    **{
        f"effort {effort}": Settings(reasoning=effort, max_output_tokens=32_000)
        for effort in EFFORTS
    },
    **{
        f"tool choice {choice}": Settings(tool_choice=choice, parallel_tool_calls=False)
        for choice in ("auto", "none", "required", "read_file", "mcp/list.all", "unknown")
    },
    "all others": Settings(
        max_output_tokens=5,
        temperature=1.5,
        top_p=1,
        parallel_tool_calls=True,
        cache_key="session-1",
    ),
}


def spelled(conversation: Conversation, route: Route) -> Any:
    return read_json(render(conversation, ROUTES[route], route).content)


def check(conversation: Conversation, route: Route) -> None:
    provider = ROUTES[route]
    check_request(spelled(conversation, route), provider.wire, vendor_of(provider))


each_route = pytest.mark.parametrize("route", ROUTES, ids=str)


@each_route
@pytest.mark.parametrize("asked", SETTINGS)
def test_every_history_under_all_settings_is_of_the_sdk_s_type(asked: str, route: Route) -> None:
    for history in histories(route).values():
        for tools in ((), TOOLS):
            check(Conversation(history, tools, SETTINGS[asked]), route)


@each_route
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_conversation_is_of_the_sdk_s_type(path: Path, route: Route) -> None:
    check(read_conversation(path.read_bytes()), route)


def issued(conversation: Conversation) -> Conversation:
    """Write the signatures of *conversation* as their issuers do: in base64."""
    for part in (part for message in conversation.messages for part in message.parts):
        if not isinstance(part, Image) and part.signature:
            part.signature = base64.b64encode(part.signature.encode(errors="replace")).decode()
    return conversation


@each_route
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conversation=conversations().map(issued))
def test_any_conversation_is_of_the_sdk_s_type(route: Route, conversation: Conversation) -> None:
    check(conversation, route)


COUNTING = [route for route in ROUTES if question_of(render(Conversation(), ROUTES[route], route))]


@pytest.mark.parametrize("route", COUNTING, ids=str)
@pytest.mark.parametrize("asked", SETTINGS)
def test_what_asks_for_a_count_is_of_the_sdk_s_type(asked: str, route: Route) -> None:
    for history in histories(route).values():
        for tools in ((), TOOLS):
            conversation = Conversation(history, tools, SETTINGS[asked])
            question = question_of(render(conversation, ROUTES[route], route))
            assert question is not None
            check_count(read_json(question.content), ROUTES[route].wire)


def test_somebody_counts_in_three_wires() -> None:
    assert {ROUTES[route].wire for route in COUNTING} == {
        "anthropic", "openai-responses", "gemini",
    }  # fmt: skip


FREE = frozenset(
    {"input", "args", "response", "input_schema", "parameters", "parametersJsonSchema"}
)
"""The places at which an object may hold any name."""


def closed(value: Any) -> Iterator[dict[str, Any]]:
    """Return every object in *value* that may hold some names only."""
    if isinstance(value, dict):
        yield value
        inner = [each for name, each in value.items() if not _is_free(name, each)]
    else:
        inner = value
    for each in inner:
        if isinstance(each, dict | list):
            yield from closed(each)


def _is_free(name: str, value: object) -> bool:
    return name in FREE and isinstance(value, dict)


@pytest.mark.parametrize(
    "route",
    [
        Route("anthropic/claude-opus-4-8"),
        Route("openai/gpt-5.1"),
        Route("openai-chat/gpt-4o"),
        Route("gemini/gemini-3-pro"),
        Route("cerebras/gpt-oss-120b"),
        Route("mistral/magistral-medium"),
    ],
    ids=str,
)
def test_a_name_that_the_types_do_not_know_is_refused_wherever_it_stands(route: Route) -> None:
    """Else the tests above would not see what is spelled wrong."""
    provider = ROUTES[route]
    history = answered(route, THOUGHT, Text("I look."), call("call_1", [Text("See"), PIXEL]))
    asked = Settings(tool_choice="required", reasoning="high", max_output_tokens=9000)
    conversation = Conversation([Message("system", [Text("Be brief.")]), *history], TOOLS, asked)
    count = len([*closed(spelled(conversation, route))])
    assert count > 10
    for index in range(count):
        body = spelled(conversation, route)
        [*closed(body)][index]["sidestep"] = 1

        with pytest.raises(ValidationError):
            check_request(body, provider.wire, vendor_of(provider))
