"""Requests for Responses, and the stub's events, by the types of Open Responses.

The types are made from the specification that several vendors share, so that they judge what is
sent to others than OpenAI. Source: github.com/openresponses/openresponses and
github.com/mozilla-ai/openresponses-python, read on 2026-11-30.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import httpx
import pytest
from pydantic import BaseModel, ValidationError

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.client.rendering import render
from sidestep.provider.conversation import Conversation, Reasoning, Settings, Text
from sidestep.provider.json_value import read_json
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .test_types import GO, SETTINGS, THOUGHT, TOOLS, answered, call, histories

types: Any = pytest.importorskip(
    "openresponses_types", reason="openresponses-types is not installed: pip install -e '.[sdk]'"
)

ROUTES = {
    route: Provider(route.provider, "openai-responses", "https://example.com", None)
    for route in map(Route, ("openai/gpt-5.1", "openai/gpt-4o", "azure/gpt-5.6", "xai/grok-4.3"))
}
OPEN = Reasoning("Hm.", item_id="rs_1", field_name="content")
"""Reasoning as open models have it: text in the content, and no encrypted form."""

each_route = pytest.mark.parametrize("route", ROUTES, ids=str)


def body_of(conversation: Conversation, route: Route) -> dict[str, Any]:
    body: dict[str, Any] = read_json(render(conversation, ROUTES[route], route).content)
    return body


BEYOND = ("reasoning", "content")
NEWER_EFFORTS = frozenset({"minimal", "max"})
"""Efforts of OpenAI's models that the specification lacks."""


def check(body: dict[str, Any]) -> None:
    """Check *body* by the types, and that every name in it is one of theirs."""
    body = _of_the_specification(body)
    # The type of a whole request looks into no object that names a tool.
    parts = [(types.CreateResponseBody, body)]
    if choice := body.pop("tool_choice", None):
        parts.append((types.ToolChoiceParam, choice))
    for type_, value in parts:
        read: BaseModel = type_.model_validate(value)
        known = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
        assert _names(known) == _names(value)


def _of_the_specification(body: dict[str, Any]) -> dict[str, Any]:
    """Return *body* without what some vendors take beyond the specification.

    Source: for the content of reasoning, github.com/vllm-project/vllm/pull/28248.
    """
    items = [
        {name: value for name, value in item.items() if (item["type"], name) != BEYOND}
        for item in body["input"]
    ]
    reasoning = body.get("reasoning", {})
    if reasoning.get("effort") in NEWER_EFFORTS:
        reasoning = {name: value for name, value in reasoning.items() if name != "effort"}
    return {**body, "input": items, **({"reasoning": reasoning} if "reasoning" in body else {})}


def _names(value: Any) -> Any:
    """Return *value* with nothing but the names in it; the schema of a tool may hold any."""
    if isinstance(value, list):
        return [_names(each) for each in value]
    if not isinstance(value, dict):
        return None
    return {name: name == "parameters" or _names(each) for name, each in value.items()}


@each_route
@pytest.mark.parametrize("asked", SETTINGS)
def test_every_history_under_all_settings_is_of_the_specification(asked: str, route: Route) -> None:
    for history in histories(route).values():
        for tools in ((), TOOLS):
            check(body_of(Conversation(history, tools, SETTINGS[asked]), route))


@each_route
@pytest.mark.parametrize("thought", [THOUGHT, OPEN, replace(THOUGHT, encrypted=None)])
def test_own_reasoning_is_of_the_specification(thought: Reasoning, route: Route) -> None:
    history = [*answered(route, thought, Text("Done.", item_id="msg_1"), call("call_1")), GO]

    check(body_of(Conversation(history, TOOLS), route))


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        pytest.param("input", "role", "nobody", id="role"),
        pytest.param("input", "type", "thought", id="kind of item"),
        pytest.param("body", "tool_choice", "perhaps", id="choice of tool"),
        pytest.param("body", "include", ["everything"], id="what is included"),
        pytest.param("input", "sidestep", 1, id="name that is not known"),
    ],
)
def test_what_is_not_of_the_specification_is_refused(place: str, name: str, value: object) -> None:
    """Otherwise the tests above prove nothing."""
    body = body_of(Conversation([GO], TOOLS, Settings(reasoning="low")), Route("openai/gpt-5.1"))
    (body["input"][0] if place == "input" else body)[name] = value

    with pytest.raises((ValidationError, AssertionError)):
        check(body)


ANSWER = {
    "reasoning": "Hm.",
    "text": "Reading it.",
    "tool_calls": [{"name": "read_file", "input": {"path": "a.py"}}],
}
ENVELOPES = ("response.created", "response.in_progress", "response.completed")


def event_types() -> dict[str, Any]:
    """Return the type of each event, by the name that it has in a stream."""
    found: dict[str, Any] = {}
    for name, type_ in vars(types.types).items():
        if name.endswith("StreamingEvent"):
            kinds = type_.model_fields["type"].annotation
            found |= dict.fromkeys(get_args(kinds) or [kind.value for kind in kinds], type_)
    return found


async def events_of_the_stub() -> list[dict[str, Any]]:
    route = "openai/gpt-5.1"
    question = {"model": "gpt-5.1", "input": "Go.", "stream": True, "store": False}
    async with (
        Stub(Scenario.parse({"answers": {route: [ANSWER]}})) as stub,
        httpx.AsyncClient(timeout=None, trust_env=False) as http,  # noqa: S113
    ):
        url = f"{stub.providers()['openai']['baseUrl']}/responses"
        answer = await http.post(url, json=question)
    lines = (line.removeprefix("data: ") for line in answer.text.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.mark.asyncio
async def test_the_stub_s_events_are_of_the_specification() -> None:
    known = event_types()

    events = await events_of_the_stub()

    assert {event["type"] for event in events} >= {*ENVELOPES}
    for event in events:
        if event["type"] not in ENVELOPES:
            known[event["type"]].model_validate(event)


@pytest.mark.asyncio
async def test_the_stub_s_whole_responses_are_of_the_specification() -> None:
    known = event_types()

    for event in await events_of_the_stub():
        if event["type"] in ENVELOPES:
            known[event["type"]].model_validate(event)
