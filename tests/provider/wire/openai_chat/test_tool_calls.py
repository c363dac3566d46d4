"""Tool calls, put together from their fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sidestep import (
    FailureKind,
    ProviderError,
    ToolCallEnded,
    ToolCallStarted,
)
from sidestep.provider.conversation import ToolCall

from .streams import READ, Event, calls, chunk, decoder, fragment, read

if TYPE_CHECKING:
    pass

ASSEMBLED = [
    pytest.param(
        [
            fragment('{"a":1}', index=0, id="1", **READ),
            fragment('{"b":2}', index=1, id="2", **READ),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="parallel",
    ),
    pytest.param(
        [
            fragment('{"a"', index=0, id="1", **READ),
            fragment('{"b"', index=1, id="2", **READ),
            fragment(":1}", index=0),
            fragment(":2}", index=1),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="interleaved",
    ),
    pytest.param(
        [fragment('{"a"', id="1", **READ), fragment(":1}", id="1", **READ)],
        [("1", {"a": 1})],
        id="no index, id and name repeated",
    ),
    pytest.param(
        [
            fragment('{"a"', id="1", **READ),
            fragment('{"b"', id="2", **READ),
            fragment(":1}", id="1"),
            fragment(":2}", id="2"),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="no index, interleaved",
    ),
    pytest.param(
        [fragment('{"a"', id="1", **READ), fragment(":1}")],
        [("1", {"a": 1})],
        id="no index, no id on what follows",
    ),
    *(
        pytest.param(
            [fragment('{"a"', id="1", **READ), fragment(":1", id="2", **nameless), *rest],
            [("1", {"a": 1})],
            id=f"no index, an id that changes, {named}",
        )
        for named, nameless, rest in (
            ("no name", {}, [fragment("}", id="3")]),
            ("an empty name", {"name": ""}, [fragment("}", id="3", name="")]),
            ("which then stays", {}, [fragment("}", id="2"), fragment("", id="4")]),
            ("and then is none", {}, [fragment("}")]),
        )
    ),
    pytest.param(
        [
            fragment('{"a"', id="1", **READ),
            fragment(":1}", id="2"),
            fragment('{"b"', id="3", **READ),
            fragment(":2}", id="4"),
            fragment("", id="1"),
        ],
        [("1", {"a": 1}), ("3", {"b": 2})],
        id="no index, two calls whose ids change",
    ),
    pytest.param(
        [
            fragment('{"a":1}', index=0, id="1", **READ),
            fragment('{"b":2}', index=0, id="2", **READ),
        ],
        [("1", {"a": 1}), ("2", {"b": 2})],
        id="whole calls, all numbered 0",
    ),
    pytest.param(
        [fragment('{"a"', index=0, id="1", **READ), fragment(":1}", index=0, id="2", **READ)],
        [("1", {"a": 1})],
        id="an id that changes",
    ),
    pytest.param(
        [fragment("", index=0, id="1", **READ), fragment('{"a":1}', index=0, id="2", **READ)],
        [("1", {"a": 1})],
        id="an id that changes before the first argument",
    ),
    pytest.param(
        [fragment('{"a":1}', id="1", **READ), fragment('{"a":1}', id="1", **READ)],
        [("1", {"a": 1})],
        id="the same call twice",
    ),
    pytest.param(
        [fragment('{"a":1}', index=n, id="1", **READ) for n in (0, 1)],
        [("1", {"a": 1})],
        id="the same call under two numbers",
    ),
    pytest.param(
        [fragment(f'{{"a":{n}}}', index=n, id="1", **READ) for n in (0, 1)],
        [("1", {"a": 0}), ("1", {"a": 1})],
        id="two calls under one id",
    ),
    pytest.param([fragment({"a": 1}, index=0, id="1", **READ)], [("1", {"a": 1})], id="an object"),
    pytest.param([fragment("", index=0, id="1", **READ)], [("1", {})], id="no arguments"),
    pytest.param([fragment("null", index=0, id="1", **READ)], [("1", {})], id="null"),
    pytest.param(
        [{}, {"function": None, "id": "1", "index": 0}, fragment("{}", index=0, **READ)],
        [("1", {})],
        id="empty fragments, id before name",
    ),
]


@pytest.mark.parametrize(("fragments", "expected"), ASSEMBLED)
def test_fragments_of_calls_find_together(
    fragments: list[Event], expected: list[tuple[str, dict[str, Any]]]
) -> None:
    reader = decoder()

    deltas = read(reader, [*(calls(f) for f in fragments), chunk("stop")])
    deltas += reader.end()

    assert [(d.id, d.input) for d in deltas if isinstance(d, ToolCallEnded)] == expected
    assert [(p.id, p.input) for p in reader.parts if isinstance(p, ToolCall)] == expected
    assert reader.stop == "tool_calls"


LIST = {"name": "list"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(fragment("", id="1", **LIST), {"id": "2"}, id="empty arguments"),
        pytest.param(fragment(None, id="1", **LIST), {"id": "2"}, id="no arguments"),
        pytest.param(fragment(" ", id="1", **LIST), {"id": "2"}, id="blank arguments"),
        pytest.param(fragment("{}", id="1", **LIST), {"id": "2"}, id="whole arguments"),
        pytest.param(fragment("", id="1", **LIST), {"id": "1"}, id="one id"),
        pytest.param(fragment("", **LIST), {}, id="no ids"),
    ],
)
def test_calls_that_all_are_numbered_0_stay_apart(first: Event, second: Event) -> None:
    reader = decoder("mistral")

    read(reader, [calls({"index": 0, **first}), calls(fragment('{"b"', index=0, **second, **READ))])
    read(reader, [calls(fragment(":2}", index=0)), chunk("tool_calls")])
    reader.end()

    made = [(part.name, part.input) for part in reader.parts if isinstance(part, ToolCall)]
    assert made == [("list", {}), ("read", {"b": 2})]


EARLY = [
    pytest.param(
        [chunk("tool_calls"), calls(fragment('{"a":1}', index=0, id="1", **READ))],
        [{"a": 1}],
        id="a whole call",
    ),
    pytest.param(
        [
            chunk("tool_calls"),
            calls(fragment("", index=0, id="1", **READ)),
            calls(fragment('{"a"', index=0)),
            calls(fragment(":1}", index=0)),
            chunk("tool_calls"),
        ],
        [{"a": 1}],
        id="a call in pieces",
    ),
    pytest.param(
        [
            calls(fragment("", index=0, id="1", **READ)),
            chunk("tool_calls"),
            calls(fragment('{"a":1}', index=0)),
        ],
        [{"a": 1}],
        id="the arguments",
    ),
    pytest.param(
        [
            chunk("stop", tool_calls=[fragment(" ", index=0, id="1", **READ)]),
            chunk("stop", tool_calls=[fragment('{"a"', index=0)]),
            chunk("stop", tool_calls=[fragment(":1}", index=0)]),
        ],
        [{"a": 1}],
        id="the arguments, with a reason on every event",
    ),
    pytest.param(
        [
            calls(fragment('{"a":1}', index=0, id="1", **READ)),
            chunk("tool_calls"),
            calls(fragment('{"b":2}', index=1, id="2", **READ)),
            chunk("tool_calls"),
        ],
        [{"a": 1}, {"b": 2}],
        id="another call",
    ),
    pytest.param(
        [calls(fragment("", index=0, id="1", **READ)), chunk("tool_calls")],
        [{}],
        id="nothing, of a call without arguments",
    ),
]


@pytest.mark.parametrize(("events", "expected"), EARLY)
def test_what_comes_of_calls_after_an_early_reason_for_the_end_is_kept(
    events: list[Event], expected: list[dict[str, Any]]
) -> None:
    """OpenRouter sends several reasons, and content after the first of them."""
    reader = decoder()

    deltas = read(reader, events)
    deltas += reader.end()

    assert [d.input for d in deltas if isinstance(d, ToolCallEnded)] == expected
    assert [p.input for p in reader.parts if isinstance(p, ToolCall)] == expected


def test_a_call_with_arguments_is_closed_as_soon_as_the_reason_for_the_end_comes() -> None:
    reader = decoder()

    deltas = read(reader, [calls(fragment('{"a":1}', index=0, id="1", **READ)), chunk("stop")])

    assert deltas == [ToolCallStarted("1", "read"), ToolCallEnded("1", "read", {"a": 1})]
    assert reader.end() == []


@pytest.mark.parametrize("stop", ["length", "max_tokens", "model_length", "MAX_TOKENS"])
@pytest.mark.parametrize(
    "arguments", ["", " ", None, "\n"], ids=["empty", "blank", "none", "a new line"]
)
def test_a_call_that_is_cut_before_its_first_argument_is_left_out(
    arguments: str | None, stop: str
) -> None:
    reader = decoder()

    deltas = read(
        reader,
        [
            calls(fragment('{"a":1}', index=0, id="1", **READ)),
            calls(fragment(arguments, index=1, id="2", name="delete")),
            chunk(stop),
        ],
    )
    deltas += reader.end()

    assert [d.id for d in deltas if isinstance(d, ToolCallEnded)] == ["1"]
    assert reader.parts == [ToolCall("1", "read", {"a": 1})]


def test_a_call_without_arguments_may_lack_them_where_the_connection_broke() -> None:
    reader = decoder()
    read(reader, [calls(fragment("", index=0, id="1", **READ)), chunk("tool_calls")])

    with pytest.raises(ProviderError, match="truncated"):
        reader.end(is_clean=False)

    assert reader.parts == []


SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}


@pytest.mark.parametrize(
    ("fragments", "signatures"),
    [
        pytest.param([fragment("{}", index=0, id="1", **READ, **SIGNED)], ["c2ln"], id="at once"),
        pytest.param(
            [fragment("", index=0, id="1", **READ), fragment("{}", index=0, **SIGNED)],
            ["c2ln"],
            id="in a later fragment",
        ),
        pytest.param(
            [fragment("", index=0, id="1", **READ, **SIGNED), fragment("{}", index=0)],
            ["c2ln"],
            id="in an earlier one",
        ),
        pytest.param(
            [
                fragment("{}", index=0, id="1", **READ),
                {"index": 0, "extra_content": SIGNED["extra_content"]},
            ],
            ["c2ln"],
            id="in a fragment of its own",
        ),
        pytest.param(
            [fragment("{}", id="1", **READ, **SIGNED), fragment("{}", id="2", **READ)],
            ["c2ln", None],
            id="on the first of two calls",
        ),
        *(
            pytest.param(
                [fragment("{}", index=0, id="1", **READ, extra_content=odd)],
                [None],
                id=f"odd {odd}",
            )
            for odd in (None, "c2ln", {"google": "c2ln"}, {"google": {"thought_signature": 1}})
        ),
    ],
)
def test_what_a_gemini_signs_of_a_call_is_kept(
    fragments: list[Event], signatures: list[str | None]
) -> None:
    reader = decoder()

    read(reader, [*(calls(f) for f in fragments), chunk("tool_calls")])

    assert [p.signature for p in reader.parts if isinstance(p, ToolCall)] == signatures


def test_a_second_call_without_a_name_is_malformed() -> None:
    reader = decoder()
    read(reader, [calls(fragment("{}", id="1", **READ), fragment("{}", id="2"))])
    read(reader, [chunk("tool_calls")])

    with pytest.raises(ProviderError) as caught:
        reader.end()

    assert caught.value.failure.kind is FailureKind.TOOL_CALL_MALFORMED


def test_a_call_without_an_id_gets_one() -> None:
    reader = decoder()

    read(reader, [calls(fragment("{}", index=0, **READ), fragment("{}", index=1, **READ))])
    read(reader, [chunk("tool_calls")])

    first, second = reader.parts
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert first.id != second.id
    assert first.id.startswith("call_")
