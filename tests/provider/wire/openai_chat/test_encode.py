""""""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import ReasoningDelta, Route, TextDelta
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Part,
    Reasoning,
    Settings,
    Text,
    ToolCall,
)
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.target import PLACEHOLDER, PLACEHOLDER_SIGNATURE
from sidestep.provider.wire.openai_chat.decode import ChatDecoder
from sidestep.provider.wire.openai_chat.encode import BRIDGE, encode, headers, path

from .requests import (
    ASKED,
    CEREBRAS,
    DEEPSEEK,
    DETAILS,
    DOTTED,
    EVERY,
    GPT,
    GPT_4,
    GROQ,
    ID,
    LOCAL,
    MAGISTRAL,
    MINIMAX,
    MISTRAL,
    MOONSHOT,
    OPENROUTER,
    PROVIDERS,
    READ,
    SONNET,
    TOOL_SPELLED,
    ZAI,
    Object,
    call,
    call_spelled,
    result_spelled,
    said,
    spelled,
    target,
    user,
)

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta

OTHER = Route("anthropic/claude-sonnet-5")

ANOTHERS = [
    pytest.param(GPT, {}, id="openai"),
    pytest.param(OPENROUTER, {}, id="openrouter"),
    pytest.param(GROQ, {}, id="groq"),
    pytest.param(CEREBRAS, {}, id="cerebras"),
    pytest.param(MAGISTRAL, {}, id="mistral"),
    pytest.param(DEEPSEEK, {"reasoning_content": ""}, id="deepseek"),
    pytest.param(ZAI, {}, id="zai"),
    pytest.param(MOONSHOT, {"reasoning_content": PLACEHOLDER}, id="moonshot"),
    pytest.param(MINIMAX, {}, id="minimax"),
    pytest.param(LOCAL, {}, id="one that we do not know"),
]


@pytest.mark.parametrize(("route", "made"), ANOTHERS)
def test_only_calls_of_another_route(route: Route, made: Object) -> None:
    other = said(OTHER, Reasoning("Hm.", signature="s", details=DETAILS), call())

    body = spelled(route, user("Hi"), other)

    answer = {"role": "assistant", "content": None, **made, "tool_calls": [call_spelled()]}
    assert body["messages"] == [{"role": "user", "content": "Hi"}, answer, result_spelled()]


OWN = [
    pytest.param(
        OPENROUTER,
        [Reasoning("Hm.", details=DETAILS[:1]), Reasoning(details=DETAILS[1:]), Text("a")],
        {"content": "a", "reasoning_details": DETAILS},
        id="details of two parts",
    ),
    pytest.param(OPENROUTER, [Reasoning("Hm."), Text("a")], {"content": "a"}, id="no details"),
    pytest.param(
        OPENROUTER,
        [Reasoning("Hm.", details=DETAILS, complete=False), Text("a")],
        {"content": "a"},
        id="unfinished",
    ),
    pytest.param(
        MAGISTRAL,
        [Reasoning("1"), Text("a"), Reasoning("2"), Text("b")],
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "1"}]},
                {"type": "text", "text": "a"},
                {"type": "thinking", "thinking": [{"type": "text", "text": "2"}]},
                {"type": "text", "text": "b"},
            ]
        },
        id="chunks keep their order",
    ),
    pytest.param(
        MISTRAL,
        [Reasoning("1"), Text("a")],
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "1"}]},
                {"type": "text", "text": "a"},
            ]
        },
        id="chunks of a Mistral that is no Magistral",
    ),
    pytest.param(
        CEREBRAS, [Reasoning("1"), Text("a")], {"content": "a", "reasoning": "1"}, id="Cerebras"
    ),
    pytest.param(GROQ, [Reasoning("1"), Text("a")], {"content": "a", "reasoning": "1"}, id="Groq"),
    pytest.param(
        LOCAL,
        [Reasoning("1"), Text("a")],
        {"content": "a", "reasoning_content": "1"},
        id="unknown vendor",
    ),
    pytest.param(
        LOCAL,
        [Reasoning("1", field_name="reasoning"), Text("a")],
        {"content": "a", "reasoning": "1"},
        id="unknown vendor, in the field that it came in",
    ),
    pytest.param(
        LOCAL,
        [Reasoning("Hm.", details=DETAILS, field_name="reasoning"), Text("a")],
        {"content": "a", "reasoning_details": DETAILS},
        id="unknown vendor, details",
    ),
    pytest.param(
        Route("openrouter/moonshotai/kimi-k2.6"),
        [Reasoning("1"), Text("a")],
        {"content": "a", "reasoning": "1"},
        id="OpenRouter, a model without proofs",
    ),
    pytest.param(
        DEEPSEEK,
        [Reasoning("1"), Reasoning("2"), Text("a"), Text("b")],
        {"content": "a\n\nb", "reasoning_content": "1\n\n2"},
        id="several parts",
    ),
    pytest.param(DEEPSEEK, [Text("a")], {"content": "a", "reasoning_content": ""}, id="none there"),
    pytest.param(MOONSHOT, [Text("a")], {"content": "a"}, id="none needed"),
    pytest.param(
        MINIMAX,
        [Reasoning("1"), Text("a")],
        {"content": "<think>\n1\n</think>\n\na"},
        id="in a tag",
    ),
    pytest.param(
        MINIMAX,
        [Reasoning("1"), call()],
        {"content": "<think>\n1\n</think>", "tool_calls": [call_spelled()]},
        id="in a tag, before a call",
    ),
]


@pytest.mark.parametrize(("route", "parts", "fields"), OWN)
def test_own_reasoning_goes_back_as_it_came(
    route: Route, parts: list[Part], fields: Object
) -> None:
    body = spelled(route, user("Hi"), said(route, *parts), user("Go"))

    assert body["messages"][1] == {"role": "assistant", **fields}


SIGNED_CALLS = [
    pytest.param(LOCAL, LOCAL, {}, ["c2ln", None], id="its own"),
    pytest.param(OTHER, LOCAL, {}, [None, None], id="another's"),
    pytest.param(GPT, GPT, {}, [None, None], id="of one that takes none"),
    pytest.param(LOCAL, LOCAL, {"signs_calls": False}, [None, None], id="which it refused"),
    pytest.param(
        OTHER,
        LOCAL,
        {"missing_signature": PLACEHOLDER_SIGNATURE},
        [PLACEHOLDER_SIGNATURE, None],
        id="another's, if one must be",
    ),
]


@pytest.mark.parametrize(("made_on", "to", "changes", "signatures"), SIGNED_CALLS)
def test_what_a_gemini_signed_of_a_call_goes_back_on_it(
    made_on: Route, to: Route, changes: dict[str, Any], signatures: list[str | None]
) -> None:
    made = said(made_on, call(signature="c2ln"), call("call_2"))

    body = spelled(replace(target(to), **changes), user("Hi"), made)

    proofs = [each.get("extra_content") for each in body["messages"][1]["tool_calls"]]
    assert proofs == [s and {"google": {"thought_signature": s}} for s in signatures]


def test_an_answer_that_holds_but_thinking_is_left_out() -> None:
    body = spelled(DEEPSEEK, user("a"), said(DEEPSEEK, Reasoning("Hm.")), user("b"))

    assert body["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


def test_reasoning_that_was_read_goes_back_the_same() -> None:
    decoder = ChatDecoder(PROVIDERS["deepseek"])
    for delta in ({"reasoning_content": "Hm", "content": None}, {"content": "a"}):
        decoder.decode(json.dumps({"choices": [{"delta": delta}]}).encode())
    decoder.decode(b'{"choices":[{"delta":{},"finish_reason":"stop"}]}')

    body = spelled(DEEPSEEK, user("Hi"), said(DEEPSEEK, *decoder.parts), user("Go"))

    answer = {"role": "assistant", "content": "a", "reasoning_content": "Hm"}
    assert body["messages"][1] == answer


PICTURE = Image("image/png", "aGk=")
PICTURE_SPELLED = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}

CONTENTS = [
    pytest.param(GPT, ["a", "b"], "a\n\nb", id="texts"),
    pytest.param(
        GPT,
        ["a", PICTURE, "b"],
        [{"type": "text", "text": "a"}, PICTURE_SPELLED, {"type": "text", "text": "b"}],
        id="a picture between texts",
    ),
    pytest.param(MISTRAL, [PICTURE], [PICTURE_SPELLED], id="a picture alone"),
    pytest.param(
        DEEPSEEK,
        ["a", PICTURE],
        "a\n\n[An image stood here; this model takes none.]",
        id="a model without eyes",
    ),
]


@pytest.mark.parametrize(("route", "parts", "content"), CONTENTS)
def test_content_is_a_string_unless_there_is_a_picture(
    route: Route, parts: list[Part | str], content: object
) -> None:
    assert spelled(route, user(*parts))["messages"] == [{"role": "user", "content": content}]


def test_a_dialect_of_strings_gets_no_list() -> None:
    plain = replace(target(LOCAL), is_plain=True)

    body = spelled(plain, user("a", PICTURE))

    assert body["messages"] == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize("route", EVERY, ids=str)
def test_who_takes_strings_alone_takes_no_pictures(route: Route) -> None:
    assert not (target(route).is_plain and target(route).takes_images)


def test_results_follow_their_calls_in_order_and_pictures_after_all() -> None:
    shown = call("call_2", [Text("Seen."), PICTURE])

    body = spelled(GPT, user("Hi"), said(OTHER, call("call_1"), shown, call("call_3", None)))

    assert body["messages"] == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call_spelled(id_) for id_ in ("call_1", "call_2", "call_3")],
        },
        result_spelled("call_1"),
        result_spelled("call_2", "Seen.\n[The image follows below.]"),
        result_spelled(
            "call_3", "This call was not run: the step was interrupted before it began."
        ),
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[Images from the result of read:]"},
                PICTURE_SPELLED,
            ],
        },
    ]


def test_a_picture_stays_in_a_result_where_it_may() -> None:
    showing = replace(target(LOCAL), images_in_results=True)

    body = spelled(showing, user("Hi"), said(OTHER, call(ID, [Text("Seen."), PICTURE])))

    assert body["messages"][-1] == result_spelled(
        content=[{"type": "text", "text": "Seen."}, PICTURE_SPELLED]
    )


LATER = [
    pytest.param(GPT, "developer", id="openai, a model that reasons"),
    pytest.param(GPT_4, "system", id="openai"),
    pytest.param(OPENROUTER, "user", id="elsewhere"),
]


@pytest.mark.parametrize(("route", "role"), LATER)
def test_instructions_that_come_later_stand_in_place_where_they_may(
    route: Route, role: str
) -> None:
    body = spelled(route, user("a"), said(OTHER, "b"), Message("system", [Text("c")]), user("d"))

    assert body["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": role, "content": "c"},
        {"role": "user", "content": "d"},
    ]


def test_mistral_gets_no_neighbours_of_one_role() -> None:
    conversation = [
        user("a"),
        user("b", PICTURE),
        said(OTHER, "c"),
        said(OTHER, Reasoning("Hm."), "d", call()),
        said(OTHER, call("call67890")),
        Message("system", [Text("e")]),
        user("f"),
    ]

    body = spelled(MISTRAL, *conversation)

    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "text", "text": "b"},
                PICTURE_SPELLED,
            ],
        },
        {"role": "assistant", "content": "c\n\nd", "tool_calls": [call_spelled()]},
        result_spelled(),
        {"role": "assistant", "content": None, "tool_calls": [call_spelled("call67890")]},
        result_spelled("call67890"),
        {"role": "user", "content": "e\n\nf"},
    ]


BRIDGED = [
    pytest.param("mistral/mistral-small-latest", False, id="today"),
    pytest.param("mistral/ministral-3b-2512", False, id="December 2025"),
    pytest.param("mistral/devstral-medium-2507", True, id="July 2025"),
    pytest.param("mistral/mistral-large-2411", True, id="2024"),
    pytest.param("mistral/open-mistral-nemo", True, id="old, without a date"),
    pytest.param("openrouter/mistralai/mistral-small-2603", False, id="OpenRouter, today"),
    pytest.param("openrouter/mistralai/mistral-small-3.2-24b-instruct", True, id="OpenRouter, old"),
    pytest.param("openrouter/openai/gpt-4o-2411", False, id="no Mistral"),
]


@pytest.mark.parametrize(("route", "is_bridged"), BRIDGED)
def test_an_answer_is_made_up_after_results_only_for_an_old_mistral(
    route: str, is_bridged: bool
) -> None:
    """Source: fault W28."""
    body = spelled(Route(route), user("a"), said(OTHER, call()), user("b"))

    roles = ["user", "assistant", "tool", *(["assistant"] if is_bridged else []), "user"]
    assert [message["role"] for message in body["messages"]] == roles


def test_an_answer_stands_between_results_and_the_user_where_one_must() -> None:
    bridging = replace(target(LOCAL), bridges_results=True)

    body = spelled(bridging, user("a"), said(OTHER, call()), user("b"), said(OTHER, call("call_2")))

    assert body["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call_spelled()]},
        result_spelled(),
        {"role": "assistant", "content": BRIDGE},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": None, "tool_calls": [call_spelled("call_2")]},
        result_spelled("call_2"),
    ]


def test_cache_markers_stand_where_they_are_taken() -> None:
    marked = {"cache_control": {"type": "ephemeral"}}
    instructions = Message("system", [Text("Be brief.")])

    body = spelled(SONNET, instructions, user("a"), said(SONNET, call()), tools=[READ])

    assert body["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **marked}]},
        {"role": "user", "content": [{"type": "text", "text": "a", **marked}]},
        {"role": "assistant", "content": None, "tool_calls": [call_spelled()]},
        result_spelled(content=[{"type": "text", "text": "print(1)", **marked}]),
    ]
    assert body["tools"] == [TOOL_SPELLED]


@pytest.mark.parametrize("route", EVERY, ids=str)
def test_the_conversation_stays_as_it_is(route: Route) -> None:
    own = said(route, Reasoning("Hm.", details=DETAILS), "a", call(), call("2", [PICTURE]))
    messages = [Message("system", [Text("s")]), user("a"), user("b"), own, own, user("c", PICTURE)]
    conversation = Conversation(messages, [READ, DOTTED], Settings(**ASKED))
    before = copy.deepcopy(conversation)

    first = encode(hand_over(conversation, target(route)))
    again = encode(hand_over(conversation, target(route)))

    assert conversation == before
    assert first == again


def test_half_a_character_in_arguments_does_no_harm() -> None:
    broken = ToolCall(ID, "read", {"path": "\ud83d"}, "completed", "")

    body = spelled(GPT, user("a"), said(OTHER, broken))

    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"path":"?"}'


@pytest.mark.parametrize("cut", range(1, 32))
def test_what_minimax_thinks_in_a_tag_goes_back_in_it(cut: int) -> None:
    content = "<think>\nHm <b>.\n</think>\n\nYes"
    decoder = ChatDecoder(PROVIDERS["minimax"])
    deltas: list[Delta] = []
    for piece in (content[:cut], content[cut:]):
        event = {"choices": [{"delta": {"role": "", "content": piece}}]}
        deltas += decoder.decode(json.dumps(event).encode())
    deltas += decoder.decode(b'{"choices":[{"delta":{},"finish_reason":"stop"}]}')

    assert decoder.parts == [Reasoning("Hm <b>."), Text("Yes")]
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "Hm <b>."
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Yes"
    body = spelled(MINIMAX, user("Hi"), said(MINIMAX, *decoder.parts), user("Go"))
    assert body["messages"][1] == {"role": "assistant", "content": content}


def test_the_key_is_a_header() -> None:
    assert headers("k") == {"authorization": "Bearer k"}
    assert headers(None) == {}


def test_the_path_is_the_same_everywhere() -> None:
    assert {path(target(route)) for route in EVERY} == {"/chat/completions"}
