"""The judge's own facts of models, beside those that requests are made from."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sidestep.provider.catalog import model as encoder
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.route import Route
from sidestep.provider.stub.strict import model_facts as judge
from sidestep.provider.stub.strict.model_name import ClaudeName, plain_name

Facts = Mapping[str, object]

# Names as their providers and gateways spell them, with the facts in which the encoder is wrong
# and why. Source: platform.claude.com/docs/en/models/{fable-5,fable-5-1,opus-5-5,sonnet-5-5,
# haiku-5-5}/migration-guide and whats-new-*, read on 2026-11-30.
CLAUDES: Mapping[str, Mapping[str, str]] = {
    "claude-2.1": {},
    "anthropic.claude-v2:1": {},
    "claude-instant-1.2": {},
    "claude-3-haiku-20240307": {},
    "claude-3-sonnet-20240229": {},
    "claude-3-opus-20240229": {},
    "claude-3-opus-latest": {},
    "claude-3-5-haiku-20241022": {},
    "claude-3-5-haiku-latest": {},
    "anthropic/claude-3.5-haiku": {},
    "claude-3-5-sonnet-20240620": {},
    "claude-3-5-sonnet-v2@20241022": {},
    "claude-3-7-sonnet-20250219": {},
    "anthropic/claude-3.7-sonnet:thinking": {},
    "claude-sonnet-4-20250514": {},
    "claude-sonnet-4-0": {},
    "claude-opus-4-20250514": {},
    "us.anthropic.claude-opus-4-20250514-v1:0": {},
    "claude-opus-4-1-20250805": {},
    "claude-haiku-4-5-20251001": {},
    "anthropic.claude-haiku-4-5": {},
    "claude-sonnet-4-5@20250929": {},
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": {},
    "claude-opus-4-5-20251101": {},
    "claude-sonnet-4-6": {},
    "claude-opus-4-6[1m]": {},
    "anthropic/claude-opus-4.6": {},
    "anthropic/claude-4.7-opus": {},
    "claude-opus-4-7": {},
    "claude-opus-4-8": {},
    "claude-sonnet-5": {},
    "claude-opus-5": {},
    "claude-fable-5": {},
    "claude-mythos-5": {},
    "claude-fable-5-1": {},
    "anthropic/claude-fable-5.1": {},
    "claude-mythos-5-1": {},
    "claude-haiku-5-5": {},
    "anthropic.claude-haiku-5-5": {},
    "claude-sonnet-5-5": {},
    "claude-opus-5-5": {},
    "anthropic/claude-opus-5.5": {},
}

# Source: developers.openai.com/api/docs/models, ai.google.dev/gemini-api/docs/models,
# platform.moonshot.ai/docs, models.dev for the names of Kimi Code; read on 2026-11-30.
OTHERS: Mapping[str, Mapping[str, str]] = {
    "gpt-3.5-turbo": {},
    "gpt-35-turbo": {},
    "gpt-4-turbo": {},
    "gpt-4o": {},
    "gpt-4o-mini-2024-07-18": {},
    "chatgpt-4o-latest": {},
    "gpt-4.1": {},
    "gpt-4.1-mini-2025-04-14": {},
    "gpt-4.5-preview": {},
    "ft:gpt-4.1-2025-04-14:acme::id": {},
    "ft:o4-mini-2025-04-16:acme::id": {},
    "o1": {},
    "o1-mini": {},
    "o1-preview-2024-09-12": {},
    "o3": {},
    "o3-mini": {},
    "o3-deep-research": {},
    "o4-mini": {},
    "gpt-5": {},
    "gpt-5-mini-2025-08-07": {},
    "gpt-5-nano": {},
    "gpt-5-pro": {},
    "gpt-5-codex": {},
    "gpt-5-chat-latest": {},
    "openai/gpt-5-chat": {},
    "gpt-5.1": {},
    "gpt-5.1-chat-latest": {},
    "gpt-5.1-codex-max": {},
    "gpt-5.2-pro": {},
    "gpt-5.3-codex": {},
    "gpt-5.4-mini": {},
    "openai/gpt-5.5:online": {},
    "gpt-5.6-terra": {},
    "codex-mini-latest": {},
    "openai/gpt-oss-120b": {},
    "gpt-oss-20b": {},
    "gemini-pro": {},
    "gemini-1.5-flash-8b": {},
    "gemini-2.0-flash-001": {},
    "gemini-2.5-flash": {},
    "gemini-2.5-flash-lite-preview-09-2025": {},
    "models/gemini-2.5-pro": {},
    "gemini-exp-1206": {},
    "gemini-robotics-er-1.5-preview": {},
    "gemini-3-pro-preview": {},
    "google/gemini-3-flash-preview": {},
    "gemini-3.1-pro-preview": {},
    "gemini-3.5-flash": {},
    "gemini-flash-latest": {},
    "gemma-3-27b-it": {},
    "kimi-k2-0905-preview": {},
    "kimi-k2-turbo-preview": {},
    "kimi-k2-thinking": {},
    "kimi-k2-thinking-turbo": {},
    "moonshotai/kimi-k2.5": {},
    "kimi-k2.6": {},
    "kimi-k2.7-code": {},
    "kimi-k3": {},
    "kimi-k3.1-pro": {},
    "kimi-thinking-preview": {},
    "kimi-for-coding": {},
    "k3": {},
    "k3-256k": {},
    "kimi-latest": {},
    "moonshot-v1-128k": {},
    "deepseek-chat": {},
    "deepseek-v4-pro": {},
    "glm-4.6": {},
    "MiniMax-M2": {},
    "magistral-medium-latest": {},
    "mistral-large-latest": {},
    "llama-3.3-70b-versatile": {},
}


def _claude_to_the_encoder(model: str) -> Facts:
    facts = encoder.claude(model)
    return {
        "thinking": facts.thinking,
        "takes_sampling": facts.takes_sampling,
        "takes_temperature_and_top_p": facts.takes_temperature_and_top_p,
        "can_disable_thinking": facts.can_disable_thinking,
        "takes_forced_tools": facts.can_force_tool,
        "takes_prefill": facts.takes_prefill,
        "binds_prefix": facts.binds_prefix,
    }


def _claude_to_the_judge(model: str) -> Facts:
    facts = judge.claude_facts(model)
    by_budget = "manual" if "enabled" in facts.thinking else "none"
    return {
        "thinking": "adaptive" if "adaptive" in facts.thinking else by_budget,
        "takes_sampling": facts.sampling != "none",
        "takes_temperature_and_top_p": facts.sampling == "both",
        "can_disable_thinking": "disabled" in facts.thinking,
        "takes_forced_tools": facts.takes_forced_tools,
        "takes_prefill": facts.takes_prefill,
        "binds_prefix": facts.binds_prefix,
    }


def _other_to_the_encoder(model: str) -> Facts:
    return {
        "is_openai_reasoning": encoder.reasons_as_openai(model),
        "is_gemini_3": encoder.gemini_version(model) >= (3, 0),
        "is_kimi_thinking": encoder.is_kimi_thinking(model),
    }


def _other_to_the_judge(model: str) -> Facts:
    return {
        "is_openai_reasoning": judge.is_openai_reasoning(model),
        "is_gemini_3": judge.is_gemini_3(model),
        "is_kimi_thinking": judge.is_kimi_thinking(model),
    }


def _differences(one: Facts, other: Facts) -> set[str]:
    return {name for name in one if one[name] != other[name]}


@pytest.mark.parametrize("model", CLAUDES)
def test_judge_and_encoder_agree_on_a_claude(model: str) -> None:
    """Except for the differences in its row; a row that no longer differs fails too."""
    found = _differences(_claude_to_the_encoder(model), _claude_to_the_judge(model))

    assert found == CLAUDES[model].keys()


@pytest.mark.parametrize("model", OTHERS)
def test_judge_and_encoder_agree_on_another_model(model: str) -> None:
    found = _differences(_other_to_the_encoder(model), _other_to_the_judge(model))

    assert found == OTHERS[model].keys()


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        pytest.param("deepseek-chat", False, id="chat"),
        pytest.param("deepseek-v3-0324", False, id="v3"),
        pytest.param("deepseek-v2.5", False, id="v2.5"),
        pytest.param("deepseek-reasoner", True, id="reasoner"),
        pytest.param("deepseek-v3.2", True, id="v3.2"),
        pytest.param("deepseek-v4-flash", True, id="v4-flash"),
        pytest.param("deepseek-v4-pro", True, id="v4-pro"),
    ],
)
def test_the_encoder_sends_reasoning_where_the_judge_asks_deepseek_for_it(
    model: str, thinks: bool
) -> None:
    """The encoder sends it for every model of DeepSeek, because the others ignore it."""
    target = target_of(catalog()["deepseek"], Route(f"deepseek/{model}"))

    assert judge.is_deepseek_thinking(model) is thinks
    assert target.missing_reasoning is not None


SEEN = ("deepseek/deepseek-v4-pro", "cerebras/gpt-oss-120b", "groq/llama-3.3-70b-versatile")
BLIND = [
    *SEEN,
    *("zai/glm-4.6", "zai/glm-4.5v", "openai/gpt-4o", "openai/gpt-3.5-turbo", "openai/o3-mini"),
    *("groq/meta-llama/llama-4-scout-17b-16e-instruct", "openai/gpt-5.1"),
]


@pytest.mark.parametrize("name", BLIND)
def test_judge_and_encoder_agree_on_who_takes_images(name: str) -> None:
    route = Route(name)
    target = target_of(catalog()[route.provider], route)

    assert judge.takes_images(route.provider, route.model) == target.takes_images


@pytest.mark.parametrize(
    ("model", "needs"),
    [
        pytest.param("gemini-3-pro-preview", True, id="3"),
        pytest.param("gemini-2.5-pro", False, id="2.5"),
        pytest.param("gemini-3-pro-image-preview", False, id="image model"),
        pytest.param("gemini-x", True, id="unknown"),
    ],
)
def test_which_gemini_refuses_calls_without_a_signature(model: str, needs: bool) -> None:
    assert judge.needs_call_signatures(model) is needs


@pytest.mark.parametrize(
    ("model", "same"),
    [
        pytest.param("claude-opus-6", "claude-opus-5-5", id="newest of its family"),
        pytest.param("claude-haiku-latest", "claude-haiku-5-5", id="no version"),
        pytest.param("claude-muse-1", "claude-fable-5-1", id="unknown family"),
        pytest.param("claude-sonnet-4-0", "claude-sonnet-4", id="version with a zero"),
    ],
)
def test_an_unknown_claude_is_judged_as_one_that_is_known(model: str, same: str) -> None:
    assert judge.claude_facts(model) == judge.claude_facts(same)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        pytest.param("us.anthropic.claude-3-7-sonnet-20250219-v1:0", ("sonnet", "3.7"), id="AWS"),
        pytest.param("anthropic/claude-4.7-opus-20260416", ("opus", "4.7"), id="family last"),
        pytest.param("CLAUDE-OPUS-4-8-FAST", ("opus", "4.8"), id="capitals and a variant"),
        pytest.param("claude-v2:1", ("", "2.1"), id="with a v"),
        pytest.param("claude", ("", ""), id="nothing else"),
    ],
)
def test_the_name_of_a_claude(model: str, name: tuple[str, str]) -> None:
    assert ClaudeName.of(model) == name


def test_a_plain_name_has_no_gateway_and_no_variant() -> None:
    assert plain_name("openrouter/OpenAI/GPT-5:online") == "gpt-5"
    assert plain_name("ft:gpt-4.1-2025-04-14:acme::id") == "gpt-4.1-2025-04-14"
