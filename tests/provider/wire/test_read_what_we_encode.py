"""What our encoders send is read back as the conversation that was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Route
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
)
from sidestep.provider.handover.handover import Handover, hand_over
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.json_value import write_body
from sidestep.provider.wire.read_request import ReadRequest
from sidestep.provider.wire.registry import encoder_of, reader_of

from ...property import examples
from ..conversations import ROUTES, conversations


def handed_over(conversation: Conversation, route: Route) -> Handover:
    """Return *conversation* for *route*, whose own all of its answers are."""
    own = [
        replace(message, route=route, parts=[issued(part) for part in message.parts])
        for message in conversation.messages
    ]
    target = replace(target_of(ROUTES[route], route), markers=0)
    return hand_over(replace(conversation, messages=own), target)


def issued(part: Part) -> Part:
    """Return *part* without redacted thinking that is empty, because no provider issues any."""
    return (
        replace(part, redacted=None) if isinstance(part, Reasoning) and not part.redacted else part
    )


def sent(handover: Handover) -> dict[str, Any]:
    """Return the body for *handover*.

    A Gemini 3 has no level at which it does not think. Its body is the same for the least level and
    for none, except that only the first asks for the thoughts.
    """
    body = encoder_of(handover.target.wire).encode(handover)
    body.get("generationConfig", {}).get("thinkingConfig", {}).pop("includeThoughts", None)
    return body


def received(handover: Handover) -> ReadRequest:
    target = handover.target
    body, path = write_body(sent(handover)), encoder_of(target.wire).path(target)
    return reader_of(target.wire).read(body, path=path)


@dataclass
class Content:
    """What every wire carries of messages of one role in a row."""

    role: str
    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    images: int = 0


def contents_of(messages: Sequence[Message]) -> list[Content]:
    """Return what every wire carries of *messages*, however it cuts and joins them."""
    found: list[Content] = []
    for message in messages:
        if not found or found[-1].role != message.role:
            found.append(Content(message.role))
        for part in message.parts:
            match part:
                case Text():
                    found[-1].text += part.text
                case ToolCall():
                    found[-1].calls.append((part.name, part.input))
                case Image():
                    found[-1].images += 1
    for content in found:
        content.text = "".join(content.text.split())
    return [content for content in found if content != Content(content.role)]


@pytest.mark.parametrize("route", ROUTES)
@examples(15)
@given(data=st.data())
def test_what_we_encode_is_read_back_so_that_it_encodes_alike(
    route: Route, data: st.DataObject
) -> None:
    handover = handed_over(data.draw(conversations(surrogates=False)), route)

    request = received(handover)

    assert request.unreadable == ()
    assert request.left_out == ()
    assert request.is_streamed
    assert request.model == route.model
    assert sent(handed_over(request.conversation, route)) == sent(handover)


@pytest.mark.parametrize("route", ROUTES)
@examples(15)
@given(data=st.data())
def test_what_we_encode_is_read_back_whole(route: Route, data: st.DataObject) -> None:
    handover = handed_over(data.draw(conversations(surrogates=False)), route)

    messages = received(handover).conversation.messages

    read = messages[1:] if handover.system else messages
    assert contents_of(read) == contents_of(handover.messages)
