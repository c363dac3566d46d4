"""What a model takes, as far as its name shows."""

from __future__ import annotations

import pytest

from sidestep.provider.catalog.model import (
    NEWEST,
    claude,
    gemini_version,
    is_kimi_thinking,
    plain_name,
    reasons_as_openai,
)

# How its thinking is set; then whether it takes sampling, silence, force and prefill, and whether
# its thinking is bound to what came before.
CLAUDES = [
    pytest.param("claude-2.1", "none", "sampling silence force prefill", id="2.1"),
    pytest.param("anthropic.claude-v2:1", "none", "sampling silence force prefill", id="v2"),
    pytest.param("claude-instant-1.2", "none", "sampling silence force prefill", id="instant"),
    pytest.param("claude-3-opus-20240229", "none", "sampling silence force prefill", id="3"),
    pytest.param("claude-3-5-haiku-20241022", "none", "sampling silence force prefill", id="3.5"),
    pytest.param("claude-3-7-sonnet", "manual", "sampling silence force prefill", id="3.7"),
    pytest.param("claude-sonnet-4-20250514", "manual", "sampling silence force prefill", id="4"),
    pytest.param("claude-opus-4-1-20250805", "manual", "sampling silence force prefill", id="4.1"),
    pytest.param("claude-sonnet-4-5@20250929", "manual", "sampling silence force prefill", id="@"),
    pytest.param(
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "manual",
        "sampling silence force prefill",
        id="Bedrock",
    ),
    pytest.param("anthropic/claude-opus-4.6", "adaptive", "sampling silence force", id="4.6"),
    pytest.param("claude-opus-4-6[1m]", "adaptive", "sampling silence force", id="4.6, longer"),
    pytest.param("claude-opus-4-8", "adaptive", "silence force", id="4.8"),
    pytest.param("claude-sonnet-5", "adaptive", "silence force", id="5"),
    pytest.param("claude-opus-5-5", "adaptive", "bound", id="opus 5.5"),
    pytest.param("claude-sonnet-5-5", "adaptive", "bound", id="sonnet 5.5"),
    pytest.param("anthropic/claude-5.5-opus", "adaptive", "bound", id="family last"),
    pytest.param("claude-haiku-5-5", "adaptive", "silence force bound", id="haiku 5.5"),
    pytest.param("claude-haiku-latest", "adaptive", "silence force bound", id="newest haiku"),
    pytest.param("claude-fable-5-1", "adaptive", "bound", id="fable 5.1"),
    pytest.param("claude-mythos-5-1", "adaptive", "", id="mythos 5.1"),
    pytest.param("claude-fable-5", "adaptive", "force", id="fable 5"),
    pytest.param("us.anthropic.claude-mythos-5", "adaptive", "force", id="mythos 5"),
    pytest.param("claude-muse-1", "adaptive", "bound", id="unknown family"),
    pytest.param("CLAUDE-OPUS-4-8", "adaptive", "silence force", id="capitals"),
    pytest.param("claude-opus-latest", "adaptive", "bound", id="without a number"),
    pytest.param("glm-4.6", "adaptive", "bound", id="no Claude"),
]


@pytest.mark.parametrize(("model", "thinking", "takes"), CLAUDES)
def test_what_a_claude_takes(model: str, thinking: str, takes: str) -> None:
    facts = claude(model)

    found = {
        "sampling": facts.takes_sampling,
        "silence": facts.can_disable_thinking,
        "force": facts.can_force_tool,
        "prefill": facts.takes_prefill,
        "bound": facts.binds_prefix,
    }
    assert facts.thinking == thinking
    assert [name for name, is_so in found.items() if is_so] == takes.split()


GEMINIS = [
    pytest.param("gemini-3-pro", (3, 0), id="3"),
    pytest.param("gemini-3.5-flash", (3, 5), id="3.5"),
    pytest.param("gemini-2.5-flash", (2, 5), id="2.5"),
    pytest.param("gemini-2.0-flash-001", (2, 0), id="2.0"),
    pytest.param("google/gemini-3-pro-preview", (3, 0), id="through a gateway"),
    pytest.param("models/gemini-3-pro", (3, 0), id="as a resource"),
    pytest.param("gemini-flash-latest", NEWEST, id="without a number"),
    pytest.param("gemini-pro-latest", NEWEST, id="newest pro"),
    pytest.param("gemini-pro", (1, 0), id="the first pro"),
    pytest.param("gemini-pro-vision", (1, 0), id="the first that sees"),
    pytest.param("gemini-exp-1206", (2, 0), id="experiment, with its date"),
    pytest.param("gemini-robotics-er-1.5-preview", (2, 5), id="robotics, made from 2.5"),
    pytest.param("gemini-live-2.5-flash-preview", (2, 5), id="number after another word"),
    pytest.param("gemma-3", (0, 0), id="Gemma"),
    pytest.param("gemma-3-27b-it", (0, 0), id="Gemma, with its size"),
]


@pytest.mark.parametrize(("model", "version"), GEMINIS)
def test_the_version_of_a_gemini(model: str, version: tuple[int, int]) -> None:
    assert gemini_version(model) == version


REASONING = [
    pytest.param("gpt-5.1-codex", True, id="codex"),
    pytest.param("gpt-5", True, id="gpt-5"),
    pytest.param("gpt-6", True, id="one to come"),
    pytest.param("gpt-10", True, id="one to come later"),
    pytest.param("o3-mini", True, id="o-series"),
    pytest.param("o1", True, id="the first"),
    pytest.param("openai/gpt-oss-120b", True, id="open weights"),
    pytest.param("codex-mini-latest", True, id="codex-mini"),
    pytest.param("ft:o4-mini-2025-04-16:acme::id", True, id="fine-tuned"),
    pytest.param("ft:gpt-4.1-2025-04-14:acme::id", False, id="fine-tuned, without reasoning"),
    pytest.param("gpt-5-chat-latest", False, id="gpt-5-chat"),
    pytest.param("gpt-4o", False, id="gpt-4o"),
    pytest.param("gpt-4.1-mini", False, id="gpt-4.1"),
    pytest.param("gpt-35-turbo", False, id="gpt-3.5, as Azure spells it"),
    pytest.param("chatgpt-4o-latest", False, id="chatgpt"),
    pytest.param("openrouter-model", False, id="another that begins with o"),
]


@pytest.mark.parametrize(("model", "reasons"), REASONING)
def test_which_of_openais_models_reason(model: str, reasons: bool) -> None:
    assert reasons_as_openai(model) is reasons


KIMIS = [
    pytest.param("kimi-k2-thinking", True, id="k2-thinking"),
    pytest.param("kimi-k2-thinking-turbo", True, id="k2-thinking-turbo"),
    pytest.param("moonshotai/kimi-k2.5", True, id="k2.5"),
    pytest.param("kimi-k3", True, id="k3"),
    pytest.param("kimi-for-coding", True, id="for coding"),
    pytest.param("k3", True, id="k3 at Kimi Code"),
    pytest.param("k3-256k", True, id="k3-256k at Kimi Code"),
    pytest.param("k30", False, id="another that begins with k3"),
    pytest.param("kimi-latest", False, id="kimi-latest, which is retired"),
    pytest.param("kimi-k2-0905", False, id="k2"),
    pytest.param("kimi-k2-0905-preview", False, id="k2-preview"),
    pytest.param("moonshot-v1-8k", False, id="v1"),
]


@pytest.mark.parametrize(("model", "thinks"), KIMIS)
def test_which_kimis_think(model: str, thinks: bool) -> None:
    assert is_kimi_thinking(model) is thinks


def test_a_plain_name_is_what_stands_after_everyone_it_comes_through() -> None:
    assert plain_name("openrouter/Anthropic/Claude-Opus-4.6") == "claude-opus-4.6"
    assert plain_name("openai/gpt-5:online") == "gpt-5"
