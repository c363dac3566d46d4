""""""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.conversation import (
    Conversation,
    Message,
    Part,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.handover.handover import Handover, hand_over
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.json_value import write_json
from sidestep.provider.wire.anthropic.encode import encode, headers, path

from .requests import (
    ADAPTIVE,
    FOREIGN,
    MANUAL,
    OTHER,
    PIXEL,
    READ,
    STRICT,
    THINKING,
    UNTHINKING,
    USER,
    answer,
    assistant,
    body_of,
    call,
    target,
    use,
)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def result(id_: str = "toolu_1", content: Any = "print(1)", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "aWNvbg=="},
}

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
