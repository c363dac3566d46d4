"""What a refusal points at in the request that was refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestep import Image, Message, Route, Text, ToolCall
from sidestep.provider.client.refused_request import resolved
from sidestep.provider.client.rendering import body_of
from sidestep.provider.conversation import Conversation, Settings
from sidestep.provider.cure import Change, Cure
from sidestep.provider.handover.tool_result import REFUSED_IMAGE, image_digest

from ..conversations import ROUTES

FIRST, SECOND, THIRD = (Image("image/png", data) for data in ("Zmlyc3Q=", "c2Vjb25k", "dGhpcmQ="))


def conversation(route: Route) -> Conversation:
    call = ToolCall("call_1", "look", {}, "completed", [Text("Here."), THIRD])
    return Conversation(
        [
            Message("user", [Text("Look."), FIRST, SECOND]),
            Message("assistant", [call], route),
            Message("user", [Text("Well?")]),
        ],
        (),
        Settings(),
    )


CLAUDE = "anthropic/claude-opus-4-8"
PLACES = [
    (CLAUDE, "messages.0.content.2.image.source.base64.data", [SECOND]),
    (CLAUDE, "messages.2.content.0.tool_result.content.1.image.source.base64", [THIRD]),
    (CLAUDE, "messages.0", [FIRST, SECOND]),
    (CLAUDE, "messages.0.content.1 messages.2.content.0", [FIRST, THIRD]),
    (CLAUDE, "", [FIRST, SECOND, THIRD]),
    (CLAUDE, "messages.1.content.0", [FIRST, SECOND, THIRD]),
    (CLAUDE, "messages.99.content.0", [FIRST, SECOND, THIRD]),
    ("openai/gpt-5.1", "input[0].content[1].image_url", [FIRST]),
    ("openai-chat/gpt-4o", "messages[0].content[2].image_url", [SECOND]),
    ("openai-chat/gpt-4o", "messages.[0].content.[2].image_url.url", [SECOND]),
    ("gemini/gemini-3-pro", "contents[0].parts[1].inline_data", [FIRST]),
]


@pytest.mark.parametrize(("route", "path", "images"), PLACES)
def test_an_image_is_left_out_by_its_place_in_the_request(
    route: str, path: str, images: list[Image]
) -> None:
    made = Route(route)
    talk, provider = conversation(made), ROUTES[made]
    _, refused = body_of(talk, provider, made)

    cure = resolved(Cure(Change.LEAVE_OUT_IMAGES, path), refused.content)
    _, changed = body_of(talk, provider, made, [cure])

    assert cure.detail.split() == [image_digest(image.data) for image in images]
    text = changed.content.decode()
    assert [image for image in (FIRST, SECOND, THIRD) if image.data not in text] == images
    assert text.count(REFUSED_IMAGE) >= 1
    assert any(note.why == "the API refused it" for note in changed.notes)
    assert resolved(cure, changed.content) == cure


def test_another_image_still_goes() -> None:
    route = Route(CLAUDE)
    talk, provider = conversation(route), ROUTES[route]
    cure = resolved(Cure(Change.LEAVE_OUT_IMAGES), body_of(talk, provider, route)[1].content)
    talk.messages.append(Message("user", [Image("image/png", "bmV3")]))

    body, _ = body_of(talk, provider, route, [cure])

    assert "bmV3" in json.dumps(body)
    assert FIRST.data not in json.dumps(body)


def test_any_other_cure_is_as_it_was() -> None:
    cure = Cure(Change.OMIT, "seed")

    assert resolved(cure, b"no JSON") is cure


def changed_by(route: str, cure: Cure, **settings: Any) -> dict[str, Any]:
    made = Route(route)
    talk = conversation(made)
    talk.settings = Settings(**settings)
    return body_of(talk, ROUTES[made], made, [cure])[0]


def test_an_effort_is_lowered_to_one_that_was_named() -> None:
    cure = Cure(Change.LIMIT_EFFORT, "high low max medium")

    body = changed_by(CLAUDE, cure, reasoning="xhigh")

    assert body["output_config"] == {"effort": "high"}


@pytest.mark.parametrize(
    ("route", "detail", "name"),
    [
        ("openai/gpt-5.1", "reasoning.effort", "reasoning"),
        ("openai-chat/o4-mini", "reasoning_effort", "reasoning_effort"),
    ],
)
def test_an_effort_whose_value_is_refused_is_left_out(route: str, detail: str, name: str) -> None:
    made = Route(route)
    if made not in ROUTES:
        made = Route("openai-chat/gpt-5.1")
    talk = conversation(made)
    talk.settings = Settings(reasoning="low")
    provider = ROUTES.get(made) or ROUTES[Route("openai-chat/gpt-4o")]

    before, _ = body_of(talk, provider, made)
    after, _ = body_of(talk, provider, made, [Cure(Change.OMIT, detail)])

    assert name in before
    assert name not in after
