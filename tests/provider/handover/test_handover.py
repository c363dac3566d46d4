"""What of a conversation crosses from one route to another, and what holds for any conversation."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.client.rendering import body_of
from sidestep.provider.conversation import (
    Conversation,
    Image,
    Message,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
)
from sidestep.provider.handover.handover import FILLER_USER_TEXT, Handover, hand_over
from sidestep.provider.handover.target import PLACEHOLDER, PLACEHOLDER_SIGNATURE, Target

from ...property import examples
from ..conversations import ROUTES, conversations, messages, target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sidestep.provider.conversation import Part

CLAUDE = "anthropic/claude-opus-4-8"
GPT = "openai/gpt-5.1"
GEMINI = "gemini/gemini-3-pro"

# Each row: what the route issues, what of it goes back to it, and what another's answers become
# there. Three answers of one turn and of the next: one that thinks, speaks and calls two tools at
# once, one that thinks and speaks, one that thinks and calls.
#
# "thinks": the reasoning as it is stored; 'text' made up in its place; "*" signed with its own
# proof, "!" with a placeholder; "#" with the id of its item.
PLAIN = "says calls calls | says | calls"
THINKING = "thinks says calls calls | thinks says | thinks calls"
PROOFS = "thinks says# calls# calls# | thinks says# | thinks calls#"
SIGNED = "says calls* calls | says* | calls*"
UNSIGNED = "says calls! calls | says | calls!"
EMPTY = "'' says calls calls | '' says | '' calls"
TOLD = f"{PLACEHOLDER!r} says calls calls | says | {PLACEHOLDER!r} calls"

TABLE = {
    "anthropic/claude-opus-4-8": ("signature", THINKING, PLAIN),
    "anthropic/claude-sonnet-4-5": ("signature", THINKING, PLAIN),
    "zai-anthropic/glm-4.6": ("text", THINKING, PLAIN),
    "deepseek-anthropic/deepseek-v4-pro": ("text", THINKING, TOLD),
    "moonshot-anthropic/kimi-k2-thinking": ("text", THINKING, TOLD),
    "minimax-anthropic/MiniMax-M2": ("signature", THINKING, PLAIN),
    "openai/gpt-5.1": ("items", PROOFS, PLAIN),
    "openai-chat/gpt-4o": ("nothing", PLAIN, PLAIN),
    "gemini/gemini-3-pro": ("parts", SIGNED, UNSIGNED),
    "gemini/gemini-2.5-flash": ("parts", SIGNED, PLAIN),
    "openrouter/anthropic/claude-opus-4.6": ("details", THINKING, PLAIN),
    "openrouter/google/gemini-3-pro": ("details", THINKING, PLAIN),
    "openrouter/openai/gpt-5.1": ("details", THINKING, PLAIN),
    "deepseek/deepseek-chat": ("text", THINKING, EMPTY),
    "moonshot/kimi-k2-thinking": ("text", THINKING, TOLD),
    "moonshot/kimi-k2-0905": ("nothing", PLAIN, PLAIN),
    "zai/glm-4.6": ("text", THINKING, PLAIN),
    "mistral/magistral-medium": ("text", THINKING, PLAIN),
    "mistral/codestral": ("nothing", PLAIN, PLAIN),
    "groq/openai/gpt-oss-120b": ("text", THINKING, PLAIN),
    "cerebras/gpt-oss-120b": ("text", THINKING, PLAIN),
    "minimax/MiniMax-M2": ("text", THINKING, PLAIN),
    "somewhere/some-model": ("text", THINKING, PLAIN),
}

ID_FORMS = {
    "usual": ("toolu_01AbCdEf", "call_0000000000000000000000", "call_00_x-1"),
    "long": tuple(f"tool_{n}_read_file_0123456789abcdefghijklmnop" for n in range(3)),
    "kimi": ("functions.read_file:0", "functions.read_file:1", "functions.read_file:2"),
    "nine": ("a1B2c3D4e", "000000000", "ZZZZZZZZZ"),
}
MADE_IDS = {
    "openrouter/google/gemini-3-pro": "long",
    "moonshot/kimi-k2-thinking": "kimi",
    "moonshot/kimi-k2-0905": "kimi",
    "mistral/magistral-medium": "nine",
    "mistral/codestral": "nine",
}
"""The ids that a route makes, if they are not the usual ones."""
SHORT = {"long", "kimi"}
REWRITTEN = {
    "openai-chat/gpt-4o": SHORT,
    "openrouter/openai/gpt-5.1": SHORT,
    "deepseek/deepseek-chat": SHORT,
    "moonshot/kimi-k2-thinking": set[str](),
    "moonshot/kimi-k2-0905": set[str](),
    "zai/glm-4.6": SHORT,
    "mistral/magistral-medium": SHORT | {"usual"},
    "mistral/codestral": SHORT | {"usual"},
    "groq/openai/gpt-oss-120b": SHORT,
    "cerebras/gpt-oss-120b": SHORT,
    "minimax/MiniMax-M2": SHORT,
    "somewhere/some-model": SHORT,
}
"""The ids that a route does not take; the others take all except a Kimi's."""


def reasoning(kind: str, number: int) -> list[Reasoning]:
    """Return what a route that issues *kind* thinks; the proofs in it are invented."""
    text = f"Thought {number}."
    forms: dict[str, list[Reasoning]] = {
        "nothing": [],
        "text": [Reasoning(text)],
        "signature": [Reasoning(text, signature=f"c2lnbmF0dXJl{number}")],
        "items": [Reasoning(text, encrypted=f"gAAAA{number}", item_id=f"rs_{number}")],
        "parts": [Reasoning(text)],
        "details": [Reasoning(text, details=({"type": "reasoning.text", "text": text},))],
    }
    return forms[kind]


def made_on(route: str | None, kind: str, ids: Sequence[str]) -> list[Message]:
    """Return two turns in which *route* made every answer."""
    sign: dict[str, Any] = {"signature": "c2lnbmF0dXJl"} if kind == "parts" else {}

    def named(name: str) -> Any:
        return {"item_id": name} if kind == "items" else {}

    def call(number: int, **proof: Any) -> ToolCall:
        where = {"path": f"{number}.py"}
        item = named(f"fc_{number}")
        return ToolCall(ids[number], "read_file", where, "completed", "1", **item, **proof)

    def answer(number: int, *parts: Text | ToolCall) -> Message:
        issuer = None if route is None else Route(route)
        return Message("assistant", [*reasoning(kind, number), *parts], issuer, issuer)

    return [
        Message("user", [Text("Read both.")]),
        answer(1, Text("I read.", **named("msg_1")), call(0, **sign), call(1)),
        answer(2, Text("Done.", **named("msg_2"), **sign)),
        Message("user", [Text("And the third.")]),
        answer(3, call(2, **sign)),
    ]


def spelled(handover: Handover, stored: Sequence[Message]) -> str:
    """Spell the answers as the table does."""
    known = {id(part) for message in stored for part in message.parts}

    def words(message: Message) -> Iterator[str]:
        for part in message.parts:
            if isinstance(part, Reasoning):
                yield "thinks" if id(part) in known else repr(part.text)
            elif isinstance(part, Text | ToolCall):
                is_made = part.signature == PLACEHOLDER_SIGNATURE
                word = "says" if isinstance(part, Text) else "calls"
                word += "!" if is_made else "*" if part.signature else ""
                yield word + ("#" if part.item_id else "")

    answers = [message for message in handover.messages if message.role == "assistant"]
    return " | ".join(" ".join(words(message)) for message in answers)


def calls_of(handover: Handover) -> list[ToolCall]:
    parts = [part for message in handover.messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolCall)]


def test_the_table_has_every_route() -> None:
    assert set(TABLE) == set(ROUTES)


@pytest.mark.parametrize("sent_to", TABLE)
@pytest.mark.parametrize("made", TABLE)
def test_reasoning_and_proofs_cross_only_to_the_route_that_issued_them(
    made: str, sent_to: str
) -> None:
    kind, own, _ = TABLE[made]
    foreign = TABLE[sent_to][2]
    form = MADE_IDS.get(made, "usual")
    history = made_on(made, kind, ID_FORMS[form])

    handover = hand_over(Conversation(history), target(sent_to))

    assert spelled(handover, history) == (own if made == sent_to else foreign)
    changed = [call.id != id_ for call, id_ in zip(calls_of(handover), ID_FORMS[form], strict=True)]
    assert changed == [form in REWRITTEN.get(sent_to, {"kimi"})] * 3
    assert all(target(sent_to).ids.pattern.fullmatch(call.id) for call in calls_of(handover))
    assert [call.output for call in calls_of(handover)] == ["1"] * 3
    dropped = [
        note for note in handover.notes if (note.action, note.what) == ("dropped", "reasoning")
    ]
    kept = spelled(handover, history).count("thinks")
    assert len(dropped) == (0 if kind == "nothing" else 3 - kept)


@pytest.mark.parametrize("sent_to", TABLE)
def test_an_unknown_issuer_is_another_one(sent_to: str) -> None:
    kind, _, foreign = TABLE[sent_to]
    history = made_on(None, kind, ID_FORMS["nine"])

    handover = hand_over(Conversation(history), target(sent_to))

    assert spelled(handover, history) == foreign


ELSEWHERE = [
    pytest.param(CLAUDE, "anthropic/claude-sonnet-4-5", id="another model of one provider"),
    pytest.param("openrouter/anthropic/claude-opus-4.6", CLAUDE, id="a model through a gateway"),
    pytest.param("zai/glm-4.6", "zai-anthropic/glm-4.6", id="another wire of one vendor"),
    pytest.param("gemini/gemini-2.5-flash", GEMINI, id="another version"),
]


@pytest.mark.parametrize(("made", "sent_to"), ELSEWHERE)
def test_the_same_model_elsewhere_did_not_issue_it(made: str, sent_to: str) -> None:
    history = made_on(made, TABLE[made][0], ID_FORMS["nine"])

    handover = hand_over(Conversation(history), target(sent_to))

    assert spelled(handover, history) == TABLE[sent_to][2]


THOUGHT = Reasoning("T", signature="cw", encrypted="e", item_id="rs", details=({"a": 1},))
UNFINISHED = replace(THOUGHT, complete=False)
UNPROVED = Reasoning("")
CHAINS = [
    pytest.param(CLAUDE, [(CLAUDE, THOUGHT), (CLAUDE, THOUGHT)], [1, 1], id="its own"),
    pytest.param(CLAUDE, [(GPT, THOUGHT), (CLAUDE, THOUGHT)], [0, 1], id="after another's"),
    pytest.param(
        CLAUDE, [(CLAUDE, THOUGHT), (GPT, THOUGHT), (CLAUDE, THOUGHT)], [1, 0, 1], id="both"
    ),
    pytest.param(CLAUDE, [(GPT, None), (CLAUDE, THOUGHT)], [0, 1], id="after none of another's"),
    pytest.param(CLAUDE, [(CLAUDE, UNFINISHED), (CLAUDE, THOUGHT)], [0, 0], id="after a torn one"),
    pytest.param(CLAUDE, [(CLAUDE, UNPROVED), (CLAUDE, THOUGHT)], [0, 0], id="after a lost proof"),
    pytest.param(CLAUDE, [(None, THOUGHT), (CLAUDE, THOUGHT)], [0, 0], id="after one unknown"),
    *(
        pytest.param(
            route, [(CLAUDE, THOUGHT), (route, THOUGHT), (route, UNFINISHED), (route, THOUGHT)],
            [0, 1, 0, 1], id=f"no chain at {route}",
        )
        for route in (GPT, GEMINI, "zai-anthropic/glm-4.6", "openrouter/anthropic/claude-opus-4.6")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sent_to", "steps", "kept"), CHAINS)
def test_what_is_dropped_for_a_claude_takes_with_it_all_that_came_later(
    sent_to: str, steps: list[tuple[str | None, Reasoning | None]], kept: list[int]
) -> None:
    history = [Message("user", [Text("Go.")])]
    for number, (route, thought) in enumerate(steps):
        parts: list[Part] = [thought] if thought else []
        parts.append(ToolCall(f"call_{number}", "ls", {}, output=""))
        history.append(Message("assistant", parts, Route(route) if route else None))

    handover = hand_over(Conversation(history), target(sent_to))

    crossed = [
        sum(isinstance(part, Reasoning) for part in message.parts)
        for message in handover.messages[1:]
    ]
    assert crossed == kept


def test_a_placeholder_signs_the_first_call_of_every_foreign_step_also_of_earlier_turns() -> None:
    history = [*made_on(CLAUDE, "signature", ID_FORMS["usual"]), Message("user", [Text("More.")])]
    longer = [*history, *made_on(GEMINI, "parts", ID_FORMS["nine"])]

    before = hand_over(Conversation(history), target(GEMINI))
    after = hand_over(Conversation(longer), target(GEMINI))

    assert spelled(before, history) == UNSIGNED
    assert spelled(after, longer) == f"{UNSIGNED} | {SIGNED}"
    assert after.messages[: len(before.messages)] == before.messages


def test_a_call_of_its_own_that_lost_its_signature_gets_a_placeholder() -> None:
    history = [
        Message("user", [Text("Go.")]),
        Message("assistant", [ToolCall("a", "ls", {}, signature="")], Route(GEMINI)),
    ]

    (call,) = calls_of(hand_over(Conversation(history), target(GEMINI)))

    assert call.signature == PLACEHOLDER_SIGNATURE


# What holds for any conversation and any route.

TARGETS = st.sampled_from([*ROUTES]).map(target)
many = examples(200)


@many
@given(conversations(), TARGETS)
def test_nothing_stored_is_changed_and_the_same_is_handed_over_twice(
    conversation: Conversation, to: Target
) -> None:
    stored = deepcopy(conversation)

    first = hand_over(conversation, to)

    assert conversation == stored
    assert hand_over(conversation, to) == first
    assert all(str(note) for note in first.notes)


@many
@given(conversations(), TARGETS)
def test_every_call_has_an_id_and_a_name_in_form_and_a_result(
    conversation: Conversation, to: Target
) -> None:
    handover = hand_over(conversation, to)

    calls = calls_of(handover)
    answers = [message for message in conversation.messages if message.role == "assistant"]
    stored = [part for message in answers for part in message.parts if isinstance(part, ToolCall)]
    assert [call.input for call in calls] == [call.input for call in stored]
    assert all(to.ids.pattern.fullmatch(call.id) for call in calls)
    assert len({call.id for call in calls}) == len(calls)
    assert all(call.output is not None for call in calls)
    names = [*(tool.name for tool in handover.tools), *(call.name for call in calls)]
    assert all(0 < len(name) <= to.names.longest and name.isascii() for name in names)
    assert len({tool.name for tool in handover.tools}) == len(handover.tools)
    assert [handover.renamed.get(call.name, call.name) for call in calls] == [
        call.name for call in stored
    ]
    assert handover.tools or not (to.declares_called_tools and calls)


@many
@given(conversations(), TARGETS)
def test_a_target_gets_only_what_it_takes(conversation: Conversation, to: Target) -> None:
    own = [message for message in conversation.messages if message.route == to.route]
    issued = {id(p) for m in own for p in m.parts if isinstance(p, Reasoning) and p.complete}
    proofs = {p.signature for m in own for p in m.parts if isinstance(p, Text | ToolCall)}

    handover = hand_over(conversation, to)

    assert all(text.strip() for text in handover.system)
    roles = [message.role for message in handover.messages]
    assert "user" in roles or "assistant" in roles
    assert to.takes_system_later or "system" not in roles
    assert not to.begins_with_user or roles[0] == "user"
    last = handover.messages[-1]
    assert last.role != "assistant" or any(isinstance(part, ToolCall) for part in last.parts)
    for message in handover.messages:
        assert any(not isinstance(part, Reasoning) for part in message.parts)
        for part in message.parts:
            match part:
                case Text():
                    assert part.signature or part.text.strip()
                    assert part.signature is None or (
                        to.wire == "gemini" and part.signature in proofs
                    )
                case Reasoning():
                    is_made = part == Reasoning(to.missing_reasoning or "")
                    assert id(part) in issued or is_made
                case Image():
                    assert message.role == "user"
                    assert to.takes_images
                case ToolCall():
                    good = {None, to.missing_signature, *(proofs if to.signs_calls else ())}
                    assert part.signature in good
                    images = isinstance(part.output, list)
                    assert not images or to.images_in_results
                    assert not (images and part.is_error) or to.images_in_errors
        if to.wire in {"anthropic", "openai-responses"}:
            assert not isinstance(message.parts[-1], Reasoning)
        named = [
            part for part in message.parts if isinstance(part, Text | ToolCall) and part.item_id
        ]
        assert not named or any(isinstance(part, Reasoning) for part in message.parts)


@many
@given(conversations(), st.lists(messages(), max_size=4), TARGETS)
def test_a_longer_conversation_begins_as_the_shorter_did(
    conversation: Conversation, more: list[Message], to: Target
) -> None:
    longer = replace(conversation, messages=[*conversation.messages, *more])

    short, long = hand_over(conversation, to), hand_over(longer, to)

    begun = short.messages
    if begun == [Message("user", [Text(FILLER_USER_TEXT)])]:
        begun = []  # nothing was said yet, so that something had to be
    assert long.messages[: len(begun)] == begun
    assert long.system[: len(short.system)] == short.system
    assert long.tools[: len(short.tools)] == short.tools
    assert short.renamed.items() <= long.renamed.items()


OF_WIRES = [CLAUDE, GPT, "openai-chat/gpt-4o", "mistral/mistral-large-latest", GEMINI]


def choosing(choice: str, *tools: str) -> Conversation:
    said = [Message("user", [Text("Hello")])]
    return Conversation(said, [ToolSpec(name) for name in tools], Settings(tool_choice=choice))


@pytest.mark.parametrize("route", OF_WIRES)
@pytest.mark.parametrize("choice", ["write", "read_file"], ids=["unknown", "of the target alone"])
def test_a_choice_that_names_no_declared_tool_is_left_to_the_model(route: str, choice: str) -> None:
    provider = catalog()[Route(route).provider]
    asked = choosing(choice, "read file", "ls")

    body, rendering = body_of(asked, provider, Route(route))
    free, _ = body_of(choosing("auto", "read file", "ls"), provider, Route(route))

    assert body == free
    notes = [str(note) for note in rendering.notes]
    assert notes == [f"changed tool_choice {choice!r} to 'auto': no tool is called so"]


@pytest.mark.parametrize("route", OF_WIRES)
def test_a_choice_names_a_tool_as_the_target_knows_it(route: str) -> None:
    body, rendering = body_of(
        choosing("read file", "ls", "read file"), catalog()[Route(route).provider], Route(route)
    )

    assert '"name": "read_file"' in json.dumps(body.get("tool_choice", "")) or (
        body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["read_file"]
    )
    assert rendering.notes == []
