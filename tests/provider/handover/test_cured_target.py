"""The effect of cures on a target."""

from __future__ import annotations

from typing import Any

import pytest

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Conversation, Message, Part, Reasoning, Text, ToolCall
from sidestep.provider.cure import Change, Cure
from sidestep.provider.handover.cured_target import cured
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.target import PLACEHOLDER, PLACEHOLDER_SIGNATURE
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.handover.tool_id import MISTRAL_IDS

from ..conversations import target

C = Change

CLAUDE = "anthropic/claude-opus-4-8"
CHANGES = [
    pytest.param(CLAUDE, Cure(C.DROP_REASONING), {"reasoning_form": "none"}, id="reasoning"),
    pytest.param(
        "somewhere/some-model",
        Cure(C.DROP_REASONING),
        {"signs_calls": False, "reasoning_form": "none"},
        id="signatures of calls",
    ),
    pytest.param(CLAUDE, Cure(C.THINKING_OFF), {"thinking": "none"}, id="off"),
    pytest.param(CLAUDE, Cure(C.THINK_BY_BUDGET), {"thinking": "manual"}, id="budget"),
    pytest.param(
        "anthropic/claude-sonnet-4-5",
        Cure(C.THINK_ADAPTIVELY),
        {"thinking": "adaptive"},
        id="adaptively",
    ),
    pytest.param(
        "gemini/gemini-2.5-flash",
        Cure(C.SIGN_CALLS),
        {"missing_signature": PLACEHOLDER_SIGNATURE},
        id="signatures",
    ),
    *(
        pytest.param(
            route,
            Cure(C.ADD_REASONING),
            {"missing_reasoning": PLACEHOLDER, "reasons_before_calls": False},
            id=f"reasoning for {route}",
        )
        for route in ("deepseek/deepseek-chat", "moonshot/kimi-k2-thinking", "somewhere/some-model")
    ),
    pytest.param(
        "deepseek/deepseek-chat",
        Cure(C.DROP_REASONING_TEXT),
        {"reasoning_form": "none", "missing_reasoning": None},
        id="reasoning as text",
    ),
    pytest.param(CLAUDE, Cure(C.REWRITE_IDS), {"ids": MISTRAL_IDS}, id="ids"),
    pytest.param(
        "somewhere/some-model",
        Cure(C.DECLARE_TOOLS),
        {"declares_called_tools": True},
        id="declared tools",
    ),
    pytest.param(
        "somewhere/some-model", Cure(C.BRIDGE_RESULTS), {"bridges_results": True}, id="bridge"
    ),
    pytest.param(CLAUDE, Cure(C.UNMARK), {"markers": 0}, id="markers"),
    pytest.param(CLAUDE, Cure(C.DROP_IMAGES), {"takes_images": False}, id="images"),
    pytest.param(
        CLAUDE,
        Cure(C.LEAVE_OUT_IMAGES, "#a #b"),
        {"refused_images": frozenset({"#a", "#b"})},
        id="refused images",
    ),
    pytest.param(
        CLAUDE,
        Cure(C.LEAVE_OUT_IMAGES, "messages.1.content.0"),
        {"takes_images": False},
        id="images that are not known by their content",
    ),
    pytest.param(
        CLAUDE,
        Cure(C.LEAVE_OUT_FILTERED, "a b"),
        {"filtered_messages": frozenset({"a", "b"})},
        id="filtered messages",
    ),
    pytest.param(CLAUDE, Cure(C.PLAIN_TEXT, "7"), {"plain_messages": 7}, id="plain text"),
    pytest.param(CLAUDE, Cure(C.SHORTEN, "arguments 9"), {"longest_arguments": 9}, id="arguments"),
    pytest.param(CLAUDE, Cure(C.SHORTEN, "output 9"), {"longest_output": 9}, id="outputs"),
    pytest.param(CLAUDE, Cure(C.SHORTEN, "5000"), {"longest_text": 5000}, id="texts"),
    pytest.param(
        CLAUDE, Cure(C.SHORTEN, "description 99"), {"longest_description": 99}, id="descriptions"
    ),
    pytest.param(
        CLAUDE,
        Cure(C.LIMIT_EFFORT, "high low max"),
        {"efforts": ("low", "high", "max")},
        id="efforts",
    ),
    pytest.param(
        CLAUDE,
        Cure(C.LIMIT_EFFORT, "medium"),
        {"efforts": ("none", "minimal", "low", "medium")},
        id="the largest effort",
    ),
    pytest.param(CLAUDE, Cure(C.FIT_ANSWER, "99"), {"max_answer_tokens": 99}, id="what fits"),
    pytest.param(
        "somewhere/some-model",
        Cure(C.PLAIN_CONTENT),
        {"is_plain": True, "takes_images": False},
        id="plain",
    ),
    pytest.param(CLAUDE, Cure(C.DO_NOT_FORCE), {"can_force_tool": False}, id="force"),
    pytest.param(CLAUDE, Cure(C.LIMIT_TOKENS, "8192"), {"max_answer_tokens": 8192}, id="limit"),
    pytest.param(
        "somewhere/some-model",
        Cure(C.RENAME_LIMIT, "max_completion_tokens"),
        {"token_limit": "max_completion_tokens"},
        id="name of the limit",
    ),
    pytest.param(
        "cerebras/gpt-oss-120b",
        Cure(C.OMIT, "reasoning.effort"),
        {"unsupported_parameters": frozenset({"parallel_tool_calls", "reasoning"})},
        id="parameter",
    ),
    pytest.param(
        "somewhere/some-model",
        Cure(C.OMIT, "stop[0]"),
        {"unsupported_parameters": frozenset({"stop"})},
        id="parameter that is a list",
    ),
    *(
        pytest.param(route, Cure(C.ADD_REASONING), {}, id=f"no reasoning for {route}")
        for route in (CLAUDE, "openai/gpt-5.1", "gemini/gemini-3-pro")
    ),
    pytest.param(CLAUDE, Cure(C.CLOSE_CALLS), {}, id="calls, which are closed"),
    pytest.param(CLAUDE, Cure(C.DROP_EMPTY), {}, id="empty text, which is dropped"),
    pytest.param(CLAUDE, Cure(C.END_WITH_USER), {}, id="the end, which is the user's"),
]


@pytest.mark.parametrize(("route", "cure", "changes"), CHANGES)
def test_a_cure_changes_what_a_target_is_taken_for(
    route: str, cure: Cure, changes: dict[str, Any]
) -> None:
    before = target(route)

    after = cured(before, [cure])

    assert after == target(route, **changes)
    assert (after != before) is bool(changes)
    assert cured(after, [cure]) == after


@pytest.mark.parametrize(("name", "is_made"), [("azure/gpt-5.1", False), ("relay/some", True)])
def test_reasoning_is_made_up_on_responses_where_it_needs_no_proof(
    name: str, *, is_made: bool
) -> None:
    provider = Provider(Route(name).provider, "openai-responses", "https://example.com", None)

    after = cured(target_of(provider, Route(name)), [Cure(C.ADD_REASONING)])

    assert after.missing_reasoning == (PLACEHOLDER if is_made else None)


def test_cures_add_up() -> None:
    cures = [Cure(C.OMIT, "a"), Cure(C.OMIT, "b"), Cure(C.UNMARK)]

    after = cured(target(CLAUDE), cures)

    assert after == target(CLAUDE, unsupported_parameters=frozenset({"a", "b"}), markers=0)


def test_there_is_a_row_for_every_change() -> None:
    rows: list[Cure] = [param.values[1] for param in CHANGES]  # type: ignore[misc]

    assert {cure.change for cure in rows} == set(Change)


PROVED = [
    pytest.param("anthropic/claude-opus-4-8", id="Anthropic"),
    pytest.param("openai/gpt-5.1", id="Responses"),
    pytest.param("gemini/gemini-3-pro", id="Gemini"),
    pytest.param("openrouter/anthropic/claude-opus-4.6", id="OpenRouter"),
]


@pytest.mark.parametrize("route", PROVED)
def test_without_reasoning_a_request_holds_no_proof_at_all(route: str) -> None:
    proofs: dict[str, Any] = {"signature": "c2ln", "item_id": "id_1"}
    details = ({"type": "reasoning.text"},)
    parts: list[Part] = [
        Reasoning("T", encrypted="e", details=details, **proofs),
        Text("Hi.", **proofs),
        ToolCall("call_1", "ls", {}, output="", **proofs),
    ]
    history = [Message("user", [Text("Hi.")]), Message("assistant", parts, Route(route))]

    bare = cured(target(route), [Cure(C.DROP_REASONING)])
    _, answer = hand_over(Conversation(history), bare).messages

    assert not any(isinstance(part, Reasoning) for part in answer.parts)
    shown = [part for part in answer.parts if isinstance(part, Text | ToolCall)]
    assert {part.signature for part in shown} <= {None, PLACEHOLDER_SIGNATURE}
    assert {part.item_id for part in shown} == {None}
