"""The judge refuses by its own facts of a model, whatever the encoder believes."""

from __future__ import annotations

import dataclasses
import json
import sys

import pytest

from sidestep.provider.catalog import model as encoder
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.vendor import vendor_of
from sidestep.provider.client.rendering import render
from sidestep.provider.conversation import Conversation, Message, Settings, Text
from sidestep.provider.route import Route

from .judged import judge

CLAUDE_4_8 = encoder.claude("claude-opus-4-8")

# A fact of the encoder, what it is wrongly made to say, and what the judge says to the temperature
# that is sent then.
WRONG_FACTS = [
    pytest.param(
        "claude",
        dataclasses.replace(CLAUDE_4_8, takes_sampling=True),
        "anthropic/claude-opus-4-8",
        "`temperature` is deprecated for this model.",
        id="claude",
    ),
    pytest.param(
        "reasons_as_openai",
        False,
        "openai-chat/gpt-5.5",
        "'temperature' does not support 0.5",
        id="openai",
    ),
    pytest.param(
        "is_kimi_thinking", False, "moonshot/kimi-k3", "invalid temperature", id="moonshot"
    ),
]


@pytest.mark.parametrize(("fact", "wrong", "name", "says"), WRONG_FACTS)
def test_the_judge_refuses_what_a_wrong_fact_of_the_encoder_lets_through(
    fact: str, wrong: object, name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source: fault T8. When both shared one table, the judge took what the encoder sent."""
    known = catalog()[Route(name).provider]
    provider = dataclasses.replace(known, name=f"{known.name}-wrong")  # has no cached target
    _put_wrong(fact, wrong, monkeypatch)
    talk = Conversation([Message("user", [Text("hi")])], settings=Settings(temperature=0.5))

    body = json.loads(render(talk, provider, Route(name)).content)
    found = judge(body, route=name, vendor=vendor_of(known), wire=provider.wire)

    assert body["temperature"] == 0.5
    assert found is not None
    assert says in found.message


def _put_wrong(fact: str, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let *fact* return *wrong* in every module that has imported it."""
    right = getattr(encoder, fact)
    for name, module in list(sys.modules.items()):
        if name.startswith("sidestep.") and getattr(module, fact, None) is right:
            monkeypatch.setattr(module, fact, lambda _model: wrong)


NOT_SUPPORTED = "is not supported for this model"

THINKING = [
    pytest.param("claude-3-5-haiku", "enabled", "does not support thinking", id="3.5, budget"),
    pytest.param("claude-3-5-haiku", "disabled", None, id="3.5, off"),
    pytest.param("claude-opus-4-5", "enabled", None, id="4.5, budget"),
    pytest.param("claude-opus-4-5", "adaptive", "adaptive thinking", id="4.5, effort"),
    pytest.param("claude-opus-4-6", "enabled", None, id="4.6, budget"),
    pytest.param("claude-opus-4-7", "enabled", NOT_SUPPORTED, id="4.7, budget"),
    pytest.param("claude-opus-5", "disabled", None, id="5, off"),
    pytest.param("claude-fable-5", "disabled", NOT_SUPPORTED, id="fable 5, off"),
    pytest.param("claude-opus-5-5", "disabled", NOT_SUPPORTED, id="opus 5.5, off"),
    pytest.param("claude-haiku-5-5", "disabled", None, id="haiku 5.5, off"),
    pytest.param("claude-sonnet-5-5", "disabled", NOT_SUPPORTED, id="sonnet 5.5, off"),
    pytest.param("claude-sonnet-5-5", "between_tools", None, id="sonnet 5.5, between tools"),
    pytest.param("claude-opus-5-5", "between_tools", "Input tag", id="opus 5.5, between tools"),
]


@pytest.mark.parametrize(("model", "kind", "says"), THINKING)
def test_which_claude_is_told_to_think_how(model: str, kind: str, says: str | None) -> None:
    """Source: platform.claude.com/docs/en/models/*/migration-guide, read on 2026-11-30."""
    thinking = {"type": kind} | ({"budget_tokens": 1024} if kind == "enabled" else {})

    assert _refusal(model, thinking=thinking) == says


FORCED = [
    pytest.param("claude-fable-5", None, id="fable 5"),
    pytest.param("claude-haiku-5-5", None, id="haiku 5.5"),
    pytest.param("claude-sonnet-5-5", "not compatible", id="sonnet 5.5"),
    pytest.param("claude-opus-5-5", "not compatible", id="opus 5.5"),
    pytest.param("claude-mythos-5-1", "not compatible", id="mythos 5.1"),
]


@pytest.mark.parametrize(("model", "says"), FORCED)
def test_which_claude_can_be_forced_to_call_a_tool(model: str, says: str | None) -> None:
    """Source: platform.claude.com/docs/en/models/*/migration-guide, read on 2026-11-30."""
    tools = [{"name": "ls", "input_schema": {"type": "object"}}]

    assert _refusal(model, tools=tools, tool_choice={"type": "any"}) == says


def _refusal(model: str, **more: object) -> str | None:
    """Return the known phrase that the refusal of a small request has; None if it is taken."""
    body = {
        "model": model,
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "hi"}],
        **more,
    }
    found = judge(body, route=f"anthropic/{model}", vendor="anthropic", wire="anthropic")
    if found is None:
        return None
    phrases = (NOT_SUPPORTED, "does not support thinking", "adaptive thinking")
    known = (*phrases, "not compatible", "Input tag")
    return next((phrase for phrase in known if phrase in found.message), found.message)
