"""Routes of every kind, and conversations of any shape that was made on them."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from hypothesis import strategies as st

from sidestep import Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import (
    Conversation,
    Effort,
    Image,
    Message,
    Reasoning,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
    ToolState,
)
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.target_facts import target_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidestep.provider.wire_name import Wire


def _provider(name: str, wire: Wire, url: str = "https://example.com") -> Provider:
    return Provider(name, wire, url, None)


_PROVIDERS = {
    provider.name: provider
    for provider in (
        _provider("anthropic", "anthropic"),
        _provider("zai-anthropic", "anthropic"),
        _provider("deepseek-anthropic", "anthropic"),
        _provider("moonshot-anthropic", "anthropic"),
        _provider("minimax-anthropic", "anthropic"),
        _provider("openai", "openai-responses"),
        _provider("openai-chat", "openai-chat"),
        _provider("gemini", "gemini"),
        _provider("openrouter", "openai-chat"),
        _provider("deepseek", "openai-chat"),
        _provider("moonshot", "openai-chat"),
        _provider("zai", "openai-chat"),
        _provider("mistral", "openai-chat"),
        _provider("groq", "openai-chat"),
        _provider("cerebras", "openai-chat"),
        _provider("minimax", "openai-chat"),
        _provider("somewhere", "openai-chat"),
    )
}

ROUTES: Mapping[Route, Provider] = MappingProxyType(
    {
        (route := Route(text)): _PROVIDERS[route.provider]
        for text in (
            "anthropic/claude-opus-4-8",
            "anthropic/claude-sonnet-4-5",
            "zai-anthropic/glm-4.6",
            "deepseek-anthropic/deepseek-v4-pro",
            "moonshot-anthropic/kimi-k2-thinking",
            "minimax-anthropic/MiniMax-M2",
            "openai/gpt-5.1",
            "openai-chat/gpt-4o",
            "gemini/gemini-3-pro",
            "gemini/gemini-2.5-flash",
            "openrouter/anthropic/claude-opus-4.6",
            "openrouter/google/gemini-3-pro",
            "openrouter/openai/gpt-5.1",
            "deepseek/deepseek-chat",
            "moonshot/kimi-k2-thinking",
            "moonshot/kimi-k2-0905",
            "zai/glm-4.6",
            "mistral/magistral-medium",
            "mistral/codestral",
            "groq/openai/gpt-oss-120b",
            "cerebras/gpt-oss-120b",
            "minimax/MiniMax-M2",
            "somewhere/some-model",
        )
    }
)
"""Routes that differ in what they take, each with the provider that serves it."""


def target(route: str, **changes: Any) -> Target:
    """Return what *route* takes, which is one of `ROUTES`."""
    return replace(target_of(ROUTES[Route(route)], Route(route)), **changes)


IDS = (
    *("call_a", "call_b|fc_b", "|", "", "functions.read_file:0", "toolu_01A", "abcDEF123", "идент"),
    *("x" * 40, "x" * 41, "x" * 65, "call_a|fc_c"),
)
"""Ids as routes and agents make them, few enough to come twice."""

NAMES = ("read_file", "read.file", "read file", "читай", "", "1st", "x" * 65, "x" * 129, "default")


def texts(*, surrogates: bool = True) -> st.SearchStrategy[str]:
    """Return any text, often none."""
    some = st.text(max_size=6) if surrogates else st.text(st.characters(codec="utf-8"), max_size=6)
    return st.sampled_from(["", " \n", "Hello."]) | some


def _parts(text: st.SearchStrategy[str]) -> dict[str, st.SearchStrategy[Any]]:
    proof = st.none() | text
    images = st.builds(Image, st.just("image/png"), st.just("iVBORw0KGgo="))
    phases = st.none() | st.sampled_from(["commentary", "final_answer"])
    said = st.builds(Text, text, signature=proof, item_id=proof, phase=phases)
    json = st.none() | st.booleans() | st.integers() | text
    objects = st.dictionaries(text, json | st.lists(json, max_size=2), max_size=2)
    reasoning = st.builds(
        Reasoning,
        text,
        field_name=st.none() | st.sampled_from(["reasoning", "content"]),
        signature=proof,
        redacted=proof,
        details=st.lists(objects, max_size=2).map(tuple),
        complete=st.booleans(),
        encrypted=proof,
        item_id=proof,
    )
    calls = st.builds(
        ToolCall,
        st.sampled_from(IDS) | text,
        st.sampled_from(NAMES) | text,
        objects,
        state=st.sampled_from(get_args(ToolState)),
        output=st.none() | text | st.lists(said | images, max_size=3),
        is_error=st.booleans(),
        signature=proof,
        item_id=proof,
    )
    return {"text": said, "image": images, "reasoning": reasoning, "call": calls}


def messages(*, surrogates: bool = True) -> st.SearchStrategy[Message]:
    """Return any message, also one that no agent should write."""
    parts = st.one_of(*_parts(texts(surrogates=surrogates)).values())
    routes = st.none() | st.sampled_from([*ROUTES])
    return st.builds(
        Message,
        st.sampled_from(["system", "user", "assistant", "assistant"]),
        st.lists(parts, max_size=4),
        route=routes,
        requested=routes,
    )


def conversations(*, surrogates: bool = True) -> st.SearchStrategy[Conversation]:
    """Return any conversation that the types can hold.

    Args:
        surrogates: There may be half a surrogate pair in any text, which no file can hold.
    """
    text = texts(surrogates=surrogates)
    tools = st.builds(ToolSpec, st.sampled_from(NAMES) | text, text)
    share = st.none() | st.floats(0, 1)
    settings = st.builds(
        Settings,
        max_output_tokens=st.none() | st.integers(1, 10**6),
        reasoning=st.none() | st.sampled_from(get_args(Effort)),
        temperature=share,
        top_p=share,
        tool_choice=st.none() | st.sampled_from(["auto", "none", "required", *NAMES]),
        parallel_tool_calls=st.none() | st.booleans(),
        cache_key=st.none() | text,
    )
    return st.builds(
        Conversation,
        st.lists(messages(surrogates=surrogates), max_size=6),
        st.lists(tools, max_size=3).map(tuple),
        settings,
    )
