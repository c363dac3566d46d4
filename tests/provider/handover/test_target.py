"""What each route takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.handover.target import PLACEHOLDER, PLACEHOLDER_SIGNATURE, Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.handover.tool_id import (
    ANTHROPIC_IDS,
    CHAT_IDS,
    FACADE_IDS,
    KIMI_IDS,
    LONG_IDS,
    MISTRAL_IDS,
    OTHER_IDS,
)
from sidestep.provider.handover.tool_name import ANTHROPIC_NAMES, GEMINI_NAMES, OPENAI_NAMES

from ..conversations import ROUTES, target

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire


@pytest.mark.parametrize(
    ("most", "longest"),
    [(None, 100), (64, 64), (100, 100), (200, 100)],
    ids=["unknown", "shorter", "as long", "longer"],
)
def test_an_answer_is_no_longer_than_the_model_gives(most: int | None, longest: int) -> None:
    gpt = Route("openai/gpt-5")

    made = Target(route=gpt, wire="openai-responses", vendor="openai", max_answer_tokens=most)

    assert made.longest(100) == longest


def served(wire: Wire, model: str, name: str) -> Target:
    provider = Provider(name, wire, "https://example.com", None)
    return target_of(provider, Route(f"{name}/{model}"))


FACTS = [
    pytest.param(
        "anthropic",
        "anthropic",
        "claude-opus-4-8",
        {
            "reasoning_form": "signature",
            "is_chained": True,
            "ids": ANTHROPIC_IDS,
            "names": ANTHROPIC_NAMES,
            "images_in_results": True,
            "images_in_errors": False,
            "begins_with_user": True,
            "declares_called_tools": True,
            "thinking": "adaptive",
            "takes_sampling": False,
            "markers": 4,
        },
        id="Anthropic",
    ),
    pytest.param(
        "anthropic",
        "anthropic",
        "claude-sonnet-4-5",
        {
            "thinking": "manual",
            "takes_sampling": True,
            "takes_temperature_and_top_p": False,
            "can_force_tool": True,
        },
        id="Anthropic, with a budget",
    ),
    pytest.param(
        "anthropic",
        "anthropic",
        "claude-fable-5-1",
        {"can_disable_thinking": False, "can_force_tool": False},
        id="Anthropic, always thinking",
    ),
    *(
        pytest.param(
            name,
            "anthropic",
            "claude-opus-4-8",
            {
                "reasoning_form": "signature",
                "is_chained": True,
                "takes_sampling": False,
                "markers": 4,
            },
            id=f"a Claude behind {name}",
        )
        for name in ("bedrock", "openrouter-anthropic", "my-gateway")
    ),
    pytest.param(
        "my-gateway",
        "anthropic",
        "some-model",
        {"reasoning_form": "unsigned", "is_chained": False, "markers": 0},
        id="another model behind a gateway",
    ),
    pytest.param(
        "zai-anthropic",
        "anthropic",
        "claude-opus-4-8",
        {"reasoning_form": "unsigned", "is_chained": False, "markers": 0, "takes_images": False},
        id="a facade that calls its model Claude",
    ),
    pytest.param(
        "zai-anthropic",
        "anthropic",
        "glm-4.5v",
        {"reasoning_form": "unsigned", "missing_reasoning": None, "takes_images": True},
        id="facade of z.ai",
    ),
    pytest.param(
        "deepseek-anthropic",
        "anthropic",
        "deepseek-v4-pro",
        {"missing_reasoning": PLACEHOLDER, "reasons_before_calls": True, "takes_images": False},
        id="facade of DeepSeek",
    ),
    pytest.param(
        "moonshot-anthropic",
        "anthropic",
        "kimi-k2-thinking",
        {"missing_reasoning": PLACEHOLDER, "takes_images": False, "ids": FACADE_IDS},
        id="facade of Moonshot",
    ),
    pytest.param(
        "openai",
        "openai-responses",
        "gpt-5.1-codex",
        {
            "reasoning_form": "encrypted",
            "ids": LONG_IDS,
            "names": OPENAI_NAMES,
            "images_in_results": True,
            "images_in_errors": True,
            "takes_system_later": True,
            "thinking": "adaptive",
            "takes_sampling": False,
            "token_limit": "max_output_tokens",
            "takes_images": True,
        },
        id="Responses",
    ),
    pytest.param(
        "openai",
        "openai-responses",
        "gpt-4o",
        {"thinking": "none", "takes_sampling": True},
        id="Responses, no reasoning",
    ),
    pytest.param(
        "openai",
        "openai-responses",
        "o3-mini",
        {"takes_images": False},
        id="Responses, no pictures",
    ),
    *(
        pytest.param(
            vendor,
            "openai-responses",
            model,
            {"missing_reasoning": missing, "reasons_before_calls": True},
            id=f"Responses of {vendor}, {model}",
        )
        for vendor, model, missing in (
            ("deepseek", "deepseek-v4-pro", PLACEHOLDER),
            ("deepseek", "deepseek-chat", None),
            ("azure", "deepseek-v4-pro", None),
            ("xai", "grok-4", None),
        )
    ),
    pytest.param(
        "gemini",
        "gemini",
        "gemini-3-pro",
        {
            "reasoning_form": "signature",
            "is_chained": False,
            "missing_signature": PLACEHOLDER_SIGNATURE,
            "ids": LONG_IDS,
            "names": GEMINI_NAMES,
            "images_in_results": True,
            "images_in_errors": True,
            "begins_with_user": True,
            "thinking": "adaptive",
            "token_limit": "maxOutputTokens",
        },
        id="Gemini 3",
    ),
    pytest.param(
        "gemini",
        "gemini",
        "gemini-2.5-flash",
        {"missing_signature": None, "images_in_results": False, "thinking": "manual"},
        id="Gemini 2.5",
    ),
    pytest.param(
        "gemini", "gemini", "gemma-3", {"missing_signature": None, "thinking": "none"}, id="Gemma"
    ),
    pytest.param(
        "openai-chat",
        "openai-chat",
        "gpt-4o",
        {
            "reasoning_form": "none",
            "ids": CHAT_IDS,
            "thinking": "none",
            "takes_sampling": True,
            "token_limit": "max_completion_tokens",
            "takes_system_later": True,
            "images_in_results": False,
            "takes_images": True,
            "unsupported_parameters": frozenset(),
        },
        id="Chat",
    ),
    pytest.param(
        "openai-chat",
        "openai-chat",
        "o3-mini",
        {
            "thinking": "adaptive",
            "takes_sampling": False,
            "takes_images": False,
            "unsupported_parameters": frozenset({"parallel_tool_calls"}),
        },
        id="Chat, o-series",
    ),
    pytest.param(
        "openrouter",
        "openai-chat",
        "anthropic/claude-opus-4.8",
        {
            "reasoning_form": "details",
            "ids": LONG_IDS,
            "markers": 4,
            "takes_sampling": False,
            "declares_called_tools": True,
        },
        id="OpenRouter, Claude",
    ),
    pytest.param(
        "openrouter",
        "openai-chat",
        "google/gemini-3-pro",
        {"reasoning_form": "details", "markers": 4, "missing_signature": None},
        id="OpenRouter, Gemini",
    ),
    pytest.param(
        "openrouter",
        "openai-chat",
        "openai/gpt-5.1",
        {"reasoning_form": "details", "ids": OTHER_IDS, "markers": 0},
        id="OpenRouter, OpenAI",
    ),
    pytest.param(
        "deepseek",
        "openai-chat",
        "deepseek-chat",
        {
            "reasoning_form": "text",
            "missing_reasoning": "",
            "reasons_before_calls": False,
            "takes_images": False,
            "is_plain": True,
            "can_force_tool": True,
            "thinking_excludes_forcing": True,
        },
        id="DeepSeek",
    ),
    pytest.param(
        "deepseek",
        "openai-chat",
        "deepseek-v4-pro",
        {"can_force_tool": False},
        id="DeepSeek that thinks",
    ),
    pytest.param(
        "moonshot",
        "openai-chat",
        "kimi-k2-thinking",
        {
            "reasoning_form": "text",
            "ids": KIMI_IDS,
            "missing_reasoning": PLACEHOLDER,
            "reasons_before_calls": True,
            "takes_sampling": False,
            "takes_images": False,
        },
        id="Kimi that thinks",
    ),
    pytest.param(
        "moonshot",
        "openai-chat",
        "kimi-k2-0905",
        {"missing_reasoning": None, "takes_sampling": True, "takes_images": False},
        id="Kimi that does not",
    ),
    pytest.param(
        "moonshot", "openai-chat", "kimi-k2.5", {"takes_images": True}, id="Kimi that sees"
    ),
    pytest.param(
        "zai", "openai-chat", "glm-4.6", {"reasoning_form": "text", "takes_images": False}, id="GLM"
    ),
    pytest.param("zai", "openai-chat", "glm-4.5v", {"takes_images": True}, id="GLM that sees"),
    pytest.param(
        "mistral",
        "openai-chat",
        "magistral-medium",
        {"reasoning_form": "text", "ids": MISTRAL_IDS, "begins_with_user": True},
        id="Magistral",
    ),
    pytest.param(
        "mistral",
        "openai-chat",
        "codestral",
        {"reasoning_form": "text", "bridges_results": False},
        id="Mistral",
    ),
    pytest.param(
        "openrouter",
        "openai-chat",
        "mistralai/mistral-medium-3.5",
        {"bridges_results": False},
        id="OpenRouter, Mistral",
    ),
    pytest.param(
        "moonshot",
        "anthropic",
        "kimi-k3",
        {"unsupported_parameters": frozenset({"thinking"})},
        id="a facade, Kimi with an effort",
    ),
    pytest.param(
        "moonshot",
        "anthropic",
        "kimi-k2.6",
        {"unsupported_parameters": frozenset()},
        id="a facade, Kimi",
    ),
    pytest.param(
        "groq",
        "openai-chat",
        "openai/gpt-oss-120b",
        {"reasoning_form": "text", "thinking": "adaptive", "takes_images": False},
        id="Groq",
    ),
    pytest.param(
        "groq",
        "openai-chat",
        "meta-llama/llama-4-scout",
        {"thinking": "none", "takes_images": True},
        id="Groq, seeing",
    ),
    pytest.param(
        "cerebras",
        "openai-chat",
        "gpt-oss-120b",
        {"reasoning_form": "text", "takes_images": False, "is_plain": True},
        id="Cerebras",
    ),
    pytest.param(
        "minimax",
        "openai-chat",
        "MiniMax-M2",
        {"reasoning_form": "text", "takes_images": False, "is_plain": True},
        id="MiniMax",
    ),
    pytest.param(
        "somewhere",
        "openai-chat",
        "some-model",
        {
            "reasoning_form": "as issued",
            "ids": OTHER_IDS,
            "token_limit": "max_tokens",
            "takes_images": True,
        },
        id="a dialect that is not known",
    ),
    *(
        pytest.param(
            name,
            "openai-chat",
            model,
            {
                "reasoning_form": "as issued" if name == "somewhere" else "none",
                "signs_calls": name != "openai",
                "missing_signature": signature,
            },
            id=f"signatures of {name}, {model}",
        )
        for name, model, signature in (
            ("gemini-chat", "gemini-3-pro", PLACEHOLDER_SIGNATURE),
            ("gemini-chat", "gemini-2.5-flash", None),
            ("gemini-chat", "gemma-4-27b", None),
            ("somewhere", "gemini-3-pro", None),
            ("openai", "gpt-5.1", None),
        )
    ),
]


@pytest.mark.parametrize(("name", "wire", "model", "facts"), FACTS)
def test_what_a_route_takes(name: str, wire: Wire, model: str, facts: dict[str, Any]) -> None:
    found = served(wire, model, name)

    assert {fact: getattr(found, fact) for fact in facts} == facts


DIALECTS = [
    ("openai", "openai-responses", "gpt-5.1", {"takes_cache_key": True}),
    ("openrouter", "openai-responses", "openai/gpt-5.1", {"takes_cache_key": False}),
    (
        "openai-chat",
        "openai-chat",
        "gpt-5.1",
        {
            "takes_cache_key": True,
            "has_developer_role": True,
            "takes_openai_schemas": True,
            "effort_form": "openai",
        },
    ),
    (
        "openrouter",
        "openai-chat",
        "OpenAI/gpt-5.1",
        {"takes_cache_key": False, "takes_openai_schemas": True, "effort_form": "openrouter"},
    ),
    ("openrouter", "openai-chat", "anthropic/claude-opus-4-8", {"takes_openai_schemas": False}),
    (
        "mistral",
        "openai-chat",
        "magistral-medium",
        {"joins_neighbours": True, "reasoning_in_content": "chunks", "effort_form": None},
    ),
    ("minimax", "openai-chat", "MiniMax-M2", {"reasoning_in_content": "tag"}),
    ("mine", "openai-chat", "m", {"has_developer_role": False, "effort_form": "as asked"}),
]


@pytest.mark.parametrize(("name", "wire", "model", "facts"), DIALECTS)
def test_how_dialects_differ(name: str, wire: Wire, model: str, facts: dict[str, Any]) -> None:
    found = served(wire, model, name)

    assert {fact: getattr(found, fact) for fact in facts} == facts


def test_a_provider_is_known_by_its_address_where_its_name_says_nothing() -> None:
    provider = Provider("work", "openai-chat", "https://api.deepseek.com/beta", None)

    found = target_of(provider, Route("work/deepseek-chat"))

    assert found.vendor == "deepseek"
    assert found.missing_reasoning == ""


@pytest.mark.parametrize("route", ROUTES)
def test_a_made_id_has_the_form_that_it_is_made_for(route: str) -> None:
    ids = target(route).ids

    assert ids.pattern.fullmatch(ids.prefix + "0" * (ids.length - len(ids.prefix)))


def test_every_provider_that_is_known_takes_something() -> None:
    for provider in catalog().values():
        route = Route(f"{provider.name}/some-model")
        assert target_of(provider, route).route == route
