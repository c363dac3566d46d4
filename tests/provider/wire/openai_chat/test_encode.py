from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from sidestep import ReasoningDelta, Route, TextDelta
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Part,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
    ToolState,
)
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.target import PLACEHOLDER, PLACEHOLDER_SIGNATURE, Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.wire.openai_chat.decode import ChatDecoder
from sidestep.provider.wire.openai_chat.encode import BRIDGE, encode, headers, path

if TYPE_CHECKING:
    from sidestep.provider.conversation import Effort
    from sidestep.provider.delta import Delta

Object = dict[str, Any]

PROVIDERS = {
    **catalog(),
    "minimax": Provider("minimax", "openai-chat", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    "local": Provider("local", "openai-chat", "http://127.0.0.1:8000/v1", None),
}

GPT = Route("openai-chat/gpt-5.6")
GPT_4 = Route("openai-chat/gpt-4.1")
OPENROUTER = Route("openrouter/openai/gpt-5.6")
SONNET = Route("openrouter/anthropic/claude-sonnet-5")
GROQ = Route("groq/openai/gpt-oss-120b")
CEREBRAS = Route("cerebras/gpt-oss-120b")
HAIKU = Route("openrouter/anthropic/claude-haiku-4.5")
MISTRAL = Route("mistral/mistral-large-latest")
MAGISTRAL = Route("mistral/magistral-medium-latest")
DEEPSEEK = Route("deepseek/deepseek-v4-pro")
ZAI = Route("zai/glm-4.7")
MOONSHOT = Route("moonshot/kimi-k2.6")
MINIMAX = Route("minimax/MiniMax-M2.7")
LOCAL = Route("local/qwen")
OTHER = Route("anthropic/claude-sonnet-5")

EVERY = [
    *(GPT, GPT_4, OPENROUTER, SONNET, GROQ, CEREBRAS, MISTRAL, MAGISTRAL, DEEPSEEK),
    *(ZAI, MOONSHOT, MINIMAX, LOCAL),
]

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = ToolSpec("read", "Read a file.", SCHEMA)
DETAILS = [
    {"type": "reasoning.text", "text": "Hm.", "signature": "sig", "format": "unknown", "index": 0},
    {"type": "reasoning.encrypted", "data": "e", "id": "rs_1", "index": 1},
]
ID = "call12345"
"""An id of the form that every dialect takes."""


def target(route: Route) -> Target:
    return target_of(PROVIDERS[route.provider], route)


def spelled(
    to: Route | Target, *messages: Message, tools: list[ToolSpec] | None = None, **settings: Any
) -> Object:
    conversation = Conversation(list(messages), tools or [], Settings(**settings))
    return encode(hand_over(conversation, to if isinstance(to, Target) else target(to)))


def user(*parts: Part | str) -> Message:
    return Message("user", [Text(part) if isinstance(part, str) else part for part in parts])


def said(route: Route, *parts: Part | str) -> Message:
    told = [Text(part) if isinstance(part, str) else part for part in parts]
    return Message("assistant", told, route=route)


def call(id_: str = ID, output: Any = "print(1)", **fields: Any) -> ToolCall:
    state: ToolState = "pending" if output is None else "completed"
    return ToolCall(id_, "read", {"path": "ä.py"}, state, output, **fields)


def call_spelled(id_: str = ID, name: str = "read") -> Object:
    function = {"name": name, "arguments": '{"path":"ä.py"}'}
    return {"id": id_, "type": "function", "function": function}


def result_spelled(id_: str = ID, content: object = "print(1)") -> Object:
    return {"role": "tool", "tool_call_id": id_, "content": content}


TOOL_SPELLED = {
    "type": "function",
    "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA},
}
ASKED: Object = {
    "max_output_tokens": 99,
    "reasoning": "medium",
    "temperature": 0.5,
    "top_p": 0.9,
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "cache_key": "k",
}
SAMPLING = {"temperature": 0.5, "top_p": 0.9}
USAGE = {"stream_options": {"include_usage": True}}


@dataclass
class Dialect:
    """What is peculiar to the request for one route.

    Args:
        answer: The fields of its own answer, beside the role and the call.
        fields: All fields of the body but the model, the messages, the tools and the stream.
    """

    id: str
    route: Route
    answer: Object
    fields: Object
    instructor: str = "system"
    own: Reasoning = field(default_factory=lambda: Reasoning("Hm.", details=DETAILS))


DIALECTS = [
    Dialect(
        "openai, a model that reasons",
        GPT,
        {"content": "Yes."},
        {
            "max_completion_tokens": 99,
            "reasoning_effort": "medium",
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "prompt_cache_key": "k",
            **USAGE,
        },
        instructor="developer",
    ),
    Dialect(
        "openai, one that does not",
        GPT_4,
        {"content": "Yes."},
        {
            "max_completion_tokens": 99,
            **SAMPLING,
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "prompt_cache_key": "k",
            **USAGE,
        },
    ),
    Dialect(
        "openrouter",
        OPENROUTER,
        {"content": "Yes.", "reasoning_details": DETAILS},
        {
            "max_tokens": 99,
            "reasoning": {"effort": "medium"},
            **SAMPLING,
            "tool_choice": "required",
            "parallel_tool_calls": False,
            **USAGE,
        },
    ),
    Dialect(
        "groq",
        GROQ,
        {"content": "Yes."},
        {
            "max_completion_tokens": 99,
            "reasoning_effort": "medium",
            **SAMPLING,
            "tool_choice": "required",
            "parallel_tool_calls": False,
            **USAGE,
        },
    ),
    Dialect(
        "cerebras",
        CEREBRAS,
        {"content": "Yes."},
        {
            "max_completion_tokens": 99,
            "reasoning_effort": "medium",
            **SAMPLING,
            "tool_choice": "required",
            **USAGE,
        },
    ),
    Dialect(
        "mistral",
        MISTRAL,
        {"content": "Yes."},
        {"max_tokens": 99, **SAMPLING, "tool_choice": "required", "parallel_tool_calls": False},
    ),
    Dialect(
        "mistral, a model that reasons",
        MAGISTRAL,
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Yes."},
            ]
        },
        {"max_tokens": 99, **SAMPLING, "tool_choice": "required", "parallel_tool_calls": False},
    ),
    Dialect(
        "deepseek",
        DEEPSEEK,
        {"content": "Yes.", "reasoning_content": "Hm."},
        {
            "max_tokens": 99,
            "thinking": {"type": "enabled"},
            "reasoning_effort": "high",
            **SAMPLING,
            "tool_choice": "auto",
            "parallel_tool_calls": False,
            **USAGE,
        },
    ),
    Dialect(
        "zai",
        ZAI,
        {"content": "Yes.", "reasoning_content": "Hm."},
        {"max_tokens": 99, "thinking": {"type": "enabled"}, **SAMPLING, **USAGE},
    ),
    Dialect(
        "moonshot",
        MOONSHOT,
        {"content": "Yes.", "reasoning_content": "Hm."},
        {"max_tokens": 99, "tool_choice": "auto", **USAGE},
    ),
    Dialect(
        "minimax",
        MINIMAX,
        {"content": "<think>\nHm.\n</think>\n\nYes."},
        {"max_tokens": 99, **SAMPLING, **USAGE},
    ),
    Dialect(
        "one that we do not know",
        LOCAL,
        {"content": "Yes."},
        {
            "max_tokens": 99,
            **SAMPLING,
            "tool_choice": "required",
            "parallel_tool_calls": False,
            **USAGE,
        },
    ),
]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.id)
def test_a_conversation_in_every_dialect(dialect: Dialect) -> None:
    body = spelled(
        dialect.route,
        Message("system", [Text("Be brief."), Text("Be kind.")]),
        user("Read ä.py"),
        said(dialect.route, dialect.own, "Yes.", call()),
        tools=[READ],
        **ASKED,
    )

    assert body == {
        "model": dialect.route.model,
        "messages": [
            {"role": dialect.instructor, "content": "Be brief.\n\nBe kind."},
            {"role": "user", "content": "Read ä.py"},
            {"role": "assistant", **dialect.answer, "tool_calls": [call_spelled()]},
            result_spelled(),
        ],
        "tools": [TOOL_SPELLED],
        "stream": True,
        **dialect.fields,
    }


@pytest.mark.parametrize("route", EVERY, ids=str)
def test_what_is_not_asked_for_is_left_to_the_provider(route: Route) -> None:
    body = spelled(route, user("Hi"))

    options = {} if route.provider == "mistral" else USAGE
    messages = body.pop("messages")
    assert body == {"model": route.model, "stream": True, **options}
    assert [message["role"] for message in messages] == ["user"]


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
        MISTRAL, [Reasoning("1"), Text("a")], {"content": "a"}, id="a Mistral that takes no chunks"
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
        id="another's, where one must be",
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
        {"role": "assistant", "content": BRIDGE},
        {"role": "user", "content": "e\n\nf"},
    ]


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


def test_a_tool_without_a_description_has_none() -> None:
    body = spelled(GPT, user("a"), tools=[ToolSpec("read")])

    function = {"name": "read", "parameters": {"type": "object", "properties": {}}}
    assert body["tools"] == [{"type": "function", "function": function}]


CHOICE = {"anyOf": [{"properties": {"a": {"type": "array"}}}, {"properties": {"b": {}}}]}
SCHEMAS = [
    pytest.param(GPT, {"a": {"type": "array", "items": {}}, "b": {}}, id="OpenAI"),
    pytest.param(
        Route("openrouter/openai/gpt-5.2"),
        {"a": {"type": "array", "items": {}}, "b": {}},
        id="OpenAI behind OpenRouter",
    ),
    pytest.param(SONNET, {"a": {"type": "array"}, "b": {}}, id="Claude behind OpenRouter"),
    pytest.param(GROQ, {"a": {"type": "array"}, "b": {}}, id="Groq"),
]


@pytest.mark.parametrize(("route", "properties"), SCHEMAS)
def test_arguments_are_an_object_whatever_they_were_declared_as(
    route: Route, properties: Object
) -> None:
    body = spelled(route, user("a"), tools=[ToolSpec("read", "", CHOICE)])

    parameters = {"type": "object", "properties": properties}
    assert body["tools"][0]["function"] == {"name": "read", "parameters": parameters}


SAMPLED = [
    pytest.param(GPT_4, {"temperature": 0.2, "top_p": 0.9}, id="both"),
    pytest.param(Route("openrouter/anthropic/claude-sonnet-4.5"), {"temperature": 0.2}, id="one"),
    pytest.param(SONNET, {}, id="none"),
]


@pytest.mark.parametrize(("route", "sent"), SAMPLED)
def test_as_much_of_sampling_as_is_taken(route: Route, sent: Object) -> None:
    body = spelled(route, user("a"), temperature=0.2, top_p=0.9)

    assert {name: body[name] for name in ("temperature", "top_p") if name in body} == sent


@pytest.mark.parametrize("reasoning", [None, "none", "low"])
def test_a_claude_that_is_asked_to_think_gets_no_sampling(reasoning: Effort | None) -> None:
    body = spelled(HAIKU, user("a"), temperature=0.2, reasoning=reasoning)

    assert ("temperature" in body) is (reasoning != "low")


def named(name: str) -> Object:
    return {"type": "function", "function": {"name": name}}


DOTTED = ToolSpec("read.file", "Read a file.", SCHEMA)
CHOICES = [
    pytest.param(GPT, {"tool_choice": "auto"}, "auto", id="auto"),
    pytest.param(GPT, {"tool_choice": "none"}, "none", id="none"),
    pytest.param(GPT, {"tool_choice": "required"}, "required", id="required"),
    pytest.param(GPT, {"tool_choice": "read"}, named("read"), id="named"),
    pytest.param(
        GPT, {"tool_choice": "read.file"}, named("read_file"), id="named, by another name there"
    ),
    pytest.param(DEEPSEEK, {"tool_choice": "read"}, "auto", id="not while it thinks"),
    pytest.param(
        DEEPSEEK,
        {"tool_choice": "read", "reasoning": "none"},
        named("read"),
        id="when it does not think",
    ),
    pytest.param(MOONSHOT, {"tool_choice": "required", "reasoning": "none"}, "auto", id="never"),
    pytest.param(MOONSHOT, {"tool_choice": "none"}, "none", id="none is never forced"),
    *(
        pytest.param(HAIKU, {"tool_choice": asked, "reasoning": effort}, choice, id=f"{id_} Claude")
        for id_, asked, effort, choice in (
            ("named to a thinking", "read", "low", "auto"),
            ("required of a thinking", "required", "high", "auto"),
            ("none of a thinking", "none", "low", "none"),
            ("named to a silenced", "read", "none", named("read")),
            ("required of a free", "required", None, "required"),
        )
    ),
    pytest.param(
        OPENROUTER, {"tool_choice": "read", "reasoning": "low"}, named("read"), id="of OpenAI"
    ),
]


@pytest.mark.parametrize(("route", "settings", "choice"), CHOICES)
def test_which_tool_is_to_be_called(route: Route, settings: Object, choice: object) -> None:
    body = spelled(route, user("a"), tools=[READ, DOTTED], **settings)

    assert body["tool_choice"] == choice
    assert len(body["tools"]) == 2


def test_without_tools_nothing_is_said_of_them() -> None:
    body = spelled(GPT, user("a"), tool_choice="auto", parallel_tool_calls=True)

    assert body.keys() == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize("route", [ZAI, MINIMAX], ids=str)
def test_where_no_call_can_be_forbidden_no_tool_is_named(route: Route) -> None:
    body = spelled(route, user("a"), tools=[READ], tool_choice="none")

    assert body.keys() == {"model", "messages", "stream", "stream_options"}


def test_the_longest_answer_is_no_longer_than_the_model_gives() -> None:
    short = replace(target(LOCAL), max_answer_tokens=50)

    assert spelled(short, user("a"), max_output_tokens=99)["max_tokens"] == 50
    assert spelled(short, user("a"), max_output_tokens=49)["max_tokens"] == 49


def effort(effort: str) -> Object:
    return {"reasoning_effort": effort}


def switched(type_: str, **fields: Any) -> Object:
    return {"thinking": {"type": type_}, **fields}


EFFORTS = [
    pytest.param(GPT, "none", effort("none"), id="openai, none"),
    pytest.param(GPT, "minimal", effort("low"), id="openai, minimal"),
    pytest.param(GPT, "max", effort("max"), id="openai, max"),
    pytest.param(Route("openai-chat/gpt-5"), "none", effort("minimal"), id="gpt-5 always thinks"),
    pytest.param(Route("openai-chat/o3"), "max", effort("high"), id="o3 takes high at most"),
    pytest.param(Route("openai-chat/gpt-5-chat-latest"), "high", {}, id="one for chat"),
    pytest.param(GPT_4, "high", {}, id="openai, a model that does not think"),
    pytest.param(OPENROUTER, "none", {"reasoning": {"enabled": False}}, id="openrouter, none"),
    pytest.param(OPENROUTER, "xhigh", {"reasoning": {"effort": "xhigh"}}, id="openrouter, xhigh"),
    pytest.param(
        Route("openrouter/anthropic/claude-fable-5.1"), "none", {}, id="one that is never silent"
    ),
    pytest.param(GROQ, "none", effort("low"), id="groq, none"),
    pytest.param(GROQ, "max", effort("high"), id="groq, max"),
    pytest.param(Route("groq/llama-3.3-70b"), "high", {}, id="groq, a model that does not think"),
    pytest.param(CEREBRAS, "minimal", effort("low"), id="cerebras, minimal"),
    pytest.param(Route("cerebras/zai-glm-4.7"), "high", {}, id="cerebras, another model"),
    pytest.param(DEEPSEEK, "none", switched("disabled"), id="deepseek, none"),
    pytest.param(
        DEEPSEEK, "minimal", switched("enabled", reasoning_effort="low"), id="deepseek, minimal"
    ),
    pytest.param(DEEPSEEK, "max", switched("enabled", reasoning_effort="max"), id="deepseek, max"),
    pytest.param(ZAI, "none", switched("disabled"), id="zai, none"),
    pytest.param(ZAI, "low", switched("enabled"), id="zai, low"),
    pytest.param(MAGISTRAL, "high", {}, id="mistral"),
    pytest.param(MOONSHOT, "high", {}, id="moonshot"),
    pytest.param(MINIMAX, "high", {}, id="minimax"),
    pytest.param(LOCAL, "high", {}, id="one that we do not know"),
]


@pytest.mark.parametrize(("route", "asked", "fields"), EFFORTS)
def test_how_much_a_model_is_asked_to_think(route: Route, asked: Any, fields: Object) -> None:
    plain = spelled(route, user("a"))

    body = spelled(route, user("a"), reasoning=asked)

    assert body == {**plain, **fields}


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
