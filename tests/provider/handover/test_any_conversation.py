"""Whatever a conversation holds, and whoever made it, no API refuses the request made of it."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sidestep import Route
from sidestep.provider.catalog.vendor import vendor_of
from sidestep.provider.client.rendering import render
from sidestep.provider.conversation import Conversation
from sidestep.provider.cure import Change, Cure
from sidestep.provider.stub.signature.issuer import Issuer
from sidestep.provider.stub.strict.judge import complaint

from ...property import examples
from ..conversations import ROUTES, conversations

DETAILS = {
    Change.LIMIT_TOKENS: "2048",
    Change.FIT_ANSWER: "2048",
    Change.LIMIT_EFFORT: "low medium high",
    Change.SHORTEN: "200",
    Change.OMIT: "temperature",
}
# Asked for only by an API that is otherwise than its judge here takes it for.
OTHERWISE = {
    Change.THINK_ADAPTIVELY,
    Change.THINK_BY_BUDGET,
    Change.ADD_REASONING,
    Change.DROP_REASONING_TEXT,
    Change.RENAME_LIMIT,
}
cures = st.sampled_from(
    [Cure(change, DETAILS.get(change, "")) for change in Change if change not in OTHERWISE]
)


@examples(200)
@given(conversations(), st.sampled_from([*ROUTES]), st.lists(cures, max_size=2))
def test_a_conversation_made_elsewhere_is_taken_everywhere(
    conversation: Conversation, route: Route, cures: list[Cure]
) -> None:
    provider = ROUTES[route]
    # No proof in it is good anywhere, so its own are like a stranger's.
    elsewhere = [replace(message, route=None) for message in conversation.messages]

    request = render(replace(conversation, messages=elsewhere), provider, route, cures)

    refusal = complaint(
        json.loads(request.content),
        route=route,
        vendor=vendor_of(provider),
        wire=provider.wire,
        issuer=Issuer(),
    )
    assert refusal is None
