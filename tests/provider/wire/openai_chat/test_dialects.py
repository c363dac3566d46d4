"""A whole conversation in every dialect of Chat Completions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from sidestep import Route
from sidestep.provider.conversation import (
    Message,
    Reasoning,
    Text,
)

from .requests import (
    ASKED,
    CEREBRAS,
    DEEPSEEK,
    DETAILS,
    EVERY,
    GPT,
    GPT_4,
    GROQ,
    LOCAL,
    MAGISTRAL,
    MINIMAX,
    MISTRAL,
    MOONSHOT,
    OPENROUTER,
    READ,
    TOOL_SPELLED,
    ZAI,
    Object,
    call,
    call_spelled,
    result_spelled,
    said,
    spelled,
    user,
)

if TYPE_CHECKING:
    pass

SAMPLING = {"temperature": 0.5, "top_p": 0.9}
THOUGHT_IN_CHUNKS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
    {"type": "text", "text": "Yes."},
]
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
        {"content": "Yes.", "reasoning": "Hm."},
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
        {"content": "Yes.", "reasoning": "Hm."},
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
        {"content": THOUGHT_IN_CHUNKS},
        {"max_tokens": 99, **SAMPLING, "tool_choice": "required", "parallel_tool_calls": False},
    ),
    Dialect(
        "mistral, a model that reasons",
        MAGISTRAL,
        {"content": THOUGHT_IN_CHUNKS},
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
        {"content": "Yes.", "reasoning_details": DETAILS},
        {
            "max_tokens": 99,
            "reasoning_effort": "medium",
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
