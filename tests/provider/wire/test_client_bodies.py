"""What agents of others send is read, and goes to siblings on every wire."""

from __future__ import annotations

import json

import pytest

from sidestep import Route
from sidestep.provider.catalog.vendor import vendor_of
from sidestep.provider.client.rendering import render
from sidestep.provider.conversation import ToolCall
from sidestep.provider.stub.signature.issuer import Issuer
from sidestep.provider.stub.strict.judge import complaint
from sidestep.provider.wire.read_request import ReadRequest
from sidestep.provider.wire.registry import reader_of

from ..conversations import ROUTES
from .client_bodies import CLIENT_BODIES, ClientBody


def read(client: ClientBody) -> ReadRequest:
    body = json.dumps(client.body).encode()
    return reader_of(client.wire).read(body, path=client.path)


@pytest.mark.parametrize("name", CLIENT_BODIES)
def test_the_request_of_an_agent_is_read_whole(name: str) -> None:
    client = CLIENT_BODIES[name]

    made = read(client)

    assert [m.role for m in made.conversation.messages] == client.roles.split()
    assert made.unreadable == client.unreadable
    assert made.left_out == client.left_out
    assert made.is_streamed is (name != "mini-swe-agent")
    calls = [p for m in made.conversation.messages for p in m.parts if isinstance(p, ToolCall)]
    assert ["hello-42" in str(call.output) for call in calls] == [True] * len(calls)
    assert len(calls) == (name != "aider")


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", [n for n, c in CLIENT_BODIES.items() if not c.unreadable])
def test_the_request_of_an_agent_goes_to_a_sibling_on_any_wire(name: str, route: Route) -> None:
    provider = ROUTES[route]

    request = render(read(CLIENT_BODIES[name]).conversation, provider, route)

    refusal = complaint(
        json.loads(request.content),
        route=route,
        vendor=vendor_of(provider),
        wire=provider.wire,
        issuer=Issuer(),
    )
    assert refusal is None
    assert b"hello" in request.content
