"""What becomes of one message, and of how a conversation begins and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import (
    Conversation,
    Message,
    Reasoning,
    Text,
    ToolCall,
)
from sidestep.provider.handover.handover import FILLER_USER_TEXT, hand_over
from sidestep.provider.handover.target import PLACEHOLDER
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.handover.tool_result import NO_IMAGE

from .translations import CALL, CHAT, CLAUDE, PICTURE, answer, moved, user

if TYPE_CHECKING:
    from sidestep.provider.conversation import Part

GPT = "openai/gpt-5.1"
GEMINI = "gemini/gemini-3-pro"
DEEPSEEK = "deepseek/deepseek-chat"


def system(*parts: Part | str) -> Message:
    return Message("system", [Text(p) if isinstance(p, str) else p for p in parts])


@dataclass(frozen=True)
class Shape:
    """One conversation, and what a route gets of it."""

    id: str
    history: list[Message]
    messages: list[Message]
    notes: tuple[str, ...] = ()
    to: str = CLAUDE
    system: tuple[str, ...] = ()


EMPTY = "dropped text of messages[{}].parts[0]: it is empty"
NOTHING = "dropped the message of messages[{}]: nothing is in it that can be sent"
LAST = "dropped the last answer of messages[{}]: the model cannot go on with it"
NONE = "made a message of the user's: there is none"
FIRST = "made a message of the user's: it must be the first"
LATER = "changed instructions of messages[{}]: here they can stand only as the user's"

SHAPES = [
    Shape("nothing at all", [], [user(FILLER_USER_TEXT)], (NONE,)),
    Shape("a question", [user("Hi.")], [user("Hi.")]),
    Shape("empty text", [user("", "Hi.")], [user("Hi.")], (EMPTY.format(0),)),
    Shape("white space", [user(" \n\t", "Hi.")], [user("Hi.")], (EMPTY.format(0),)),
    Shape("space around text stays", [user(" Hi.\n")], [user(" Hi.\n")]),
    Shape(
        "a message without parts",
        [user(), user("Hi.")],
        [user("Hi.")],
        (NOTHING.format(0),),
    ),
    Shape(
        "a message of nothing but white space",
        [user("Hi."), answer(""), user("?")],
        [user("Hi."), user("?")],
        (EMPTY.format(1), NOTHING.format(1)),
    ),
    Shape(
        "the beginning of the answer",
        [user("Hi."), answer("I")],
        [user("Hi.")],
        (LAST.format(1),),
    ),
    Shape(
        "answers without end",
        [user("Hi."), answer("I"), answer("would")],
        [user("Hi.")],
        (LAST.format(2), LAST.format(1)),
    ),
    Shape(
        "calls are no last word",
        [user("Hi."), answer(CALL)],
        [user("Hi."), answer(CALL)],
        to=CHAT,
    ),
    Shape(
        "only instructions",
        [system("Be kind.")],
        [user(FILLER_USER_TEXT)],
        (NONE,),
        system=("Be kind.",),
    ),
    Shape("only an answer", [answer("Hi.")], [user(FILLER_USER_TEXT)], (LAST.format(0), NONE)),
    Shape(
        "the model first",
        [answer("Hi."), user("Hi.")],
        [user(FILLER_USER_TEXT), answer("Hi."), user("Hi.")],
        (FIRST,),
    ),
    Shape(
        "the model first, if it may be",
        [answer("Hi."), user("Hi.")],
        [answer("Hi."), user("Hi.")],
        to=CHAT,
    ),
    Shape(
        "the model first, after instructions",
        [system("Be kind."), answer("Hi."), user("Hi.")],
        [user(FILLER_USER_TEXT), answer("Hi."), user("Hi.")],
        (FIRST,),
        to="mistral/codestral",
        system=("Be kind.",),
    ),
    Shape(
        "several instructions",
        [system("Be kind.", "And short."), system("Now."), user("Hi.")],
        [user("Hi.")],
        system=("Be kind.", "And short.", "Now."),
    ),
    Shape(
        "instructions after a question",
        [user("Hi."), system("Be kind.")],
        [user("Hi."), user("Be kind.")],
        (LATER.format(1),),
    ),
    Shape(
        "instructions after a question, if they may be",
        [user("Hi."), system("Be kind.")],
        [user("Hi."), system("Be kind.")],
        to=GPT,
    ),
    Shape(
        "instructions after a message that lost all its parts",
        [user(""), system("Be kind."), user("Hi.")],
        [user("Hi.")],
        (EMPTY.format(0), NOTHING.format(0)),
        system=("Be kind.",),
    ),
    *(
        Shape(
            f"a picture in instructions at {to}",
            [user("Hi."), system(PICTURE, "Be kind.")],
            [user("Hi."), Message("system" if to == GPT else "user", [Text("Be kind.")])],
            (
                "dropped image of messages[1].parts[0]: a message of the system holds none",
                *(() if to == GPT else (LATER.format(1),)),
            ),
            to=to,
        )
        for to in (GPT, CLAUDE)
    ),
    Shape("a picture", [user("See:", PICTURE)], [user("See:", PICTURE)]),
    Shape(
        "a picture for a model that takes none",
        [user("See:", PICTURE)],
        [user("See:", NO_IMAGE)],
        ("changed image of messages[0].parts[1]: this model takes none",),
        to=DEEPSEEK,
    ),
    Shape(
        "a picture in an answer",
        [user("Draw."), answer(PICTURE, "There."), user("Thanks.")],
        [user("Draw."), answer("There."), user("Thanks.")],
        ("dropped image of messages[1].parts[0]: an answer cannot hold one",),
    ),
    Shape(
        "what only a model can say, in the user's message",
        [user("Hi.", Reasoning("T"), CALL)],
        [user("Hi.")],
        (
            "dropped reasoning of messages[0].parts[1]: a message of the user holds none",
            "dropped call of messages[0].parts[2]: a message of the user holds none",
        ),
    ),
    Shape(
        "the user's text with proofs",
        [user(Text("Hi.", signature="cw", item_id="msg_1"))],
        [user("Hi.")],
    ),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_a_target_gets_a_conversation_that_it_can_answer(shape: Shape) -> None:
    handover = moved(shape.to, *shape.history)

    assert handover.messages == shape.messages
    assert handover.system == [*shape.system]
    assert tuple(map(str, handover.notes)) == shape.notes


# Reasoning of the route itself, in every form, and what of it goes back.

ANSWER = [Text("Hi.")]
KEPT = "kept reasoning of messages[1].parts[0]: this route issued it"


def dropped(why: str, part: int = 0) -> str:
    return f"dropped reasoning of messages[1].parts[{part}]: {why}"


OWN = [
    pytest.param(CLAUDE, Reasoning("T", signature="c2ln"), KEPT, id="signed"),
    pytest.param(CLAUDE, Reasoning("", signature="c2ln"), KEPT, id="signed, not shown"),
    pytest.param(CLAUDE, Reasoning(redacted="ZGF0YQ=="), KEPT, id="redacted"),
    pytest.param(CLAUDE, Reasoning("T"), dropped("it has no signature"), id="unsigned"),
    pytest.param(CLAUDE, Reasoning("T", signature=""), dropped("it has no signature"), id="empty"),
    pytest.param(
        CLAUDE,
        Reasoning("T", signature="c2ln", complete=False),
        dropped("it is not finished"),
        id="torn off",
    ),
    pytest.param("zai-anthropic/glm-4.6", Reasoning("T"), KEPT, id="facade, unsigned"),
    pytest.param("zai-anthropic/glm-4.6", Reasoning(), dropped("it is empty"), id="facade, empty"),
    pytest.param(GPT, Reasoning("T", encrypted="e", item_id="rs_1"), KEPT, id="item"),
    pytest.param(GPT, Reasoning(encrypted="e", item_id="rs_1"), KEPT, id="item without summary"),
    *(
        pytest.param(GPT, thought, dropped("it has no encrypted form"), id=f"item without {what}")
        for what, thought in {
            "encryption": Reasoning("T", item_id="rs_1"),
            "an id": Reasoning("T", encrypted="e"),
        }.items()
    ),
    pytest.param(GEMINI, Reasoning("T", signature="c2ln"), KEPT, id="thought, signed"),
    pytest.param(GEMINI, Reasoning("T"), dropped("it has no signature"), id="thought"),
    pytest.param(
        GEMINI,
        Reasoning(redacted="ZGF0YQ=="),
        dropped("it has no signature"),
        id="redacted, Gemini",
    ),
    pytest.param(
        "openrouter/anthropic/claude-opus-4.6",
        Reasoning("T", details=({"type": "reasoning.text"},)),
        KEPT,
        id="details",
    ),
    pytest.param(
        "openrouter/anthropic/claude-opus-4.6",
        Reasoning("T"),
        dropped("it has no details"),
        id="text in place of details",
    ),
    pytest.param("zai/glm-4.6", Reasoning("T"), KEPT, id="text"),
    pytest.param("zai/glm-4.6", Reasoning(""), dropped("it is empty"), id="no text"),
    pytest.param(CHAT, Reasoning("T"), dropped("this API takes none back"), id="not taken"),
]


@pytest.mark.parametrize(("route", "thought", "note"), OWN)
def test_reasoning_goes_back_in_the_form_that_its_route_wants(
    route: str, thought: Reasoning, note: str
) -> None:
    handover = moved(route, user("Hi."), answer(thought, *ANSWER, route=route), user("Bye."))

    crossed = [part for part in handover.messages[1].parts if isinstance(part, Reasoning)]
    assert crossed == ([thought] if note == KEPT else [])
    assert str(handover.notes[0]) == note


ITEM = Reasoning("T", encrypted="e", item_id="rs_1")
TORN = Reasoning("T", complete=False)
SAYS = Text("Hi.", item_id="msg_1")
CALLS = ToolCall("call_1", "ls", {}, "completed", "", item_id="fc_1")
FOLLOWS = "nothing follows it, without which it is refused"

ITEMS = [
    pytest.param([ITEM, SAYS, CALLS], GPT, ["rs_1", "msg_1", "fc_1"], id="all kept"),
    pytest.param([SAYS, CALLS], GPT, [None, None], id="no reasoning, though it thinks"),
    pytest.param([TORN, SAYS, CALLS], GPT, [None, None], id="reasoning dropped"),
    pytest.param([TORN, SAYS, ITEM, CALLS], GPT, [None, "rs_1", None], id="some of it dropped"),
    pytest.param([ITEM, CALLS, ITEM], GPT, ["rs_1", None], id="the last without a follower"),
    pytest.param([SAYS, ITEM], GPT, [None], id="no follower at all"),
    pytest.param([ITEM, Text(" ", item_id="m"), CALLS], GPT, ["rs_1", "fc_1"], id="empty text"),
    pytest.param([ITEM, SAYS, CALLS], "openai/gpt-4o", [None, None], id="of another model"),
    pytest.param([ITEM, SAYS, CALLS], CHAT, [None, None], id="of another wire"),
]


@pytest.mark.parametrize(("parts", "made_on", "ids"), ITEMS)
def test_an_item_is_named_only_beside_all_the_reasoning_it_came_with(
    parts: list[Part], made_on: str, ids: list[str | None]
) -> None:
    handover = moved(GPT, user("Hi."), answer(*parts, route=made_on), user("Bye."))

    named = [
        part.item_id
        for part in handover.messages[1].parts
        if isinstance(part, Text | ToolCall | Reasoning)
    ]
    assert named == ids


MISSING = "not all the reasoning beside it is kept"
WITHOUT = [
    pytest.param("openai/gpt-4o", [SAYS, CALLS], None, id="model that does not think"),
    pytest.param("elsewhere/grok-4.3", [SAYS, CALLS], None, id="unknown vendor"),
    pytest.param("openai/gpt-4.1-mini", [SAYS], None, id="another that does not think"),
    pytest.param("openai/gpt-5-chat-latest", [SAYS, CALLS], None, id="one for chats"),
    pytest.param("azure/gpt-4.1", [CALLS, SAYS], None, id="Azure's that does not think"),
    pytest.param("elsewhere/gpt-oss-120b", [SAYS], None, id="an open model"),
    pytest.param("elsewhere/openai.gpt-oss-120b-1:0", [SAYS, CALLS], None, id="at Bedrock"),
    pytest.param("elsewhere/deepseek-v4-pro", [SAYS, CALLS], None, id="a DeepSeek elsewhere"),
    pytest.param("openai/o4-mini", [SAYS], "nothing is stored under them", id="of the o-series"),
    pytest.param("openai/o4-mini", [TORN, CALLS, SAYS], MISSING, id="o-series that thought"),
    pytest.param("azure/gpt-5.1", [SAYS], "nothing is stored under them", id="model that thinks"),
    pytest.param("azure/gpt-5.1", [TORN, SAYS], MISSING, id="model that thought"),
]


@pytest.mark.parametrize(("name", "parts", "why"), WITHOUT)
def test_no_id_of_an_item_is_dropped_for_reasoning_that_never_was(
    name: str, parts: list[Part], why: str | None
) -> None:
    """Source: fault W29."""
    route = Route(name)
    provider = Provider(route.provider, "openai-responses", "https://example.com", None)
    history = [user("Hi."), answer(*parts, route=name), user("Bye.")]

    handover = hand_over(Conversation(history), target_of(provider, route))

    notes = [str(note) for note in handover.notes if "ids of items" in note.what]
    assert notes == ([] if why is None else [f"dropped ids of items of messages[1]: {why}"])
    kept = [part.item_id for part in handover.messages[1].parts if isinstance(part, Text)]
    assert kept == [None if why else "msg_1"]


def test_what_deepseek_wants_back_on_responses_is_made_up_in_the_field_that_it_reads() -> None:
    provider = Provider("deepseek", "openai-responses", "https://example.com", None)
    history = [user("Hi."), answer(CALLS, route=CLAUDE), answer(SAYS, route=CLAUDE)]

    handover = hand_over(
        Conversation(history), target_of(provider, Route("deepseek/deepseek-v4-pro"))
    )

    thoughts = [message.parts[0] for message in handover.messages[1:]]
    assert thoughts[0] == Reasoning(PLACEHOLDER, field_name="content")
    assert not any(isinstance(part, Reasoning) for part in thoughts[1:])


@pytest.mark.parametrize("route", ["zai/glm-4.6", CLAUDE, GPT, GEMINI, DEEPSEEK])
def test_an_answer_of_which_there_is_only_reasoning_is_none(route: str) -> None:
    thought = Reasoning("T", signature="c2ln", encrypted="e", item_id="rs_1")

    handover = moved(route, user("Hi."), answer(thought, route=route), user("Bye."))

    assert handover.messages == [user("Hi."), user("Bye.")]
    assert f"dropped reasoning of messages[1]: {FOLLOWS}" in map(str, handover.notes)
    assert str(handover.notes[-1]) == NOTHING.format(1)


PHASES = [
    pytest.param(GPT, GPT, "final_answer", None, id="its own"),
    pytest.param("openai/gpt-4o", GPT, None, "another route issued it", id="of another model"),
    pytest.param(GPT, CHAT, None, "another route issued it", id="on another wire"),
    pytest.param(CLAUDE, CLAUDE, None, "this API has no place for it", id="nobody has one"),
    pytest.param(None, GPT, None, "another route issued it", id="of nobody knows whom"),
]


@pytest.mark.parametrize(("made_on", "route", "phase", "why"), PHASES)
def test_the_phase_of_an_answer_goes_back_to_its_own_route_alone(
    made_on: str | None, route: str, phase: str | None, why: str | None
) -> None:
    said = Text("Hi.", phase="final_answer")

    handover = moved(route, user("Hi."), answer(said, route=made_on), user("Bye."))

    (part,) = handover.messages[1].parts
    assert isinstance(part, Text)
    assert part.phase == phase
    notes = [str(note) for note in handover.notes]
    assert notes == ([f"dropped phase of text of messages[1].parts[0]: {why}"] if why else [])


SIGNED_TEXT = [
    pytest.param(GEMINI, GEMINI, "", True, id="its own, empty"),
    pytest.param(GEMINI, GEMINI, "Hi.", True, id="its own"),
    pytest.param(CLAUDE, GEMINI, "Hi.", False, id="another's"),
    pytest.param(None, GEMINI, "Hi.", False, id="unknown"),
    pytest.param(CLAUDE, CLAUDE, "Hi.", False, id="its own, though text has none"),
]


@pytest.mark.parametrize(("made_on", "to", "text", "crosses"), SIGNED_TEXT)
def test_a_signature_stays_on_the_text_it_came_with(
    made_on: str | None, to: str, text: str, crosses: bool
) -> None:
    signed = Text(text, signature="c2ln")

    handover = moved(to, user("Hi."), answer(signed, "Done.", route=made_on), user("Bye."))

    first = handover.messages[1].parts[0]
    assert first == (signed if crosses else Text(text))
    assert any(note.what == "signature of text" for note in handover.notes) is not crosses


def test_a_signature_without_its_issuer_does_not_hold_up_an_empty_text() -> None:
    handover = moved(GEMINI, user("Hi."), answer(Text("", signature="c2ln"), "A"), user("Bye."))

    assert handover.messages[1] == answer("A")
