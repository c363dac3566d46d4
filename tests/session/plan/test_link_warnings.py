"""What `check` says of a link on which a step would miss something."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sidestep import Route
from sidestep.session.command.check import inspect

CODES = {"C024", "C025", "C026"}
KEYS = {"ZAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}


def by_map(*routes: str) -> dict[str, str]:
    head, *links = routes
    return {"SIDESTEP_FALLBACK_CONFIG": json.dumps({"fallbackModelsByModel": {head: links}})}


def by_rules(*routes: str) -> dict[str, str]:
    text = '[[rules]]\ntask_class = "coding"\n'
    for route in map(Route, routes):
        text += f'[[rules.candidates]]\nprovider = "{route.provider}"\nmodel = "{route.model}"\n'
    return {"SIDESTEP_ROUTING_RULES": text}


def by_hint(*routes: str) -> dict[str, str]:
    return {"SIDESTEP_HINT": ",".join(route.replace("/", ":", 1) for route in routes)}


WAYS: dict[str, Callable[..., dict[str, str]]] = {
    "map": by_map, "rules": by_rules, "hint": by_hint,
}  # fmt: skip
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def warnings(environ: dict[str, str], model: str | None = None) -> list[str]:
    found = inspect(environ | KEYS, model)
    assert found["error"] is None
    return [f"{w['code']}: {w['message']}: {w['fix']}" for w in found["warnings"]
            if w["code"] in CODES]  # fmt: skip


SMALL = (
    "C024: 'openai/b' holds 99 tokens, less than half of the 200 of 'zai/a', so that a longer "
    "conversation never moves there: name a route that holds more, or correct the window"
)
TOOLLESS = (
    "C025: 'openai/b' has no tool_calling, so that no step with tools moves there: add "
    "tool_calling to its `capabilities`, or remove it"
)


@every_way
@pytest.mark.parametrize(
    ("zai", "openai", "said"),
    [
        pytest.param({"contextWindow": 200}, {"contextWindow": 99}, [SMALL], id="a small window"),
        pytest.param({"contextWindow": 200}, {"contextWindow": 100}, [], id="half the window"),
        pytest.param({"contextWindow": 99}, {"contextWindow": 200}, [], id="a larger window"),
        pytest.param({}, {"contextWindow": 99}, [], id="an unknown window of the route"),
        pytest.param({"contextWindow": 200}, {}, [], id="an unknown window of the link"),
        pytest.param({}, {"capabilities": ["images"]}, [TOOLLESS], id="no tools"),
        pytest.param({}, {"capabilities": []}, [TOOLLESS], id="nothing at all"),
        pytest.param({}, {"capabilities": ["tool_calling"]}, [], id="tools"),
        pytest.param(
            {"capabilities": ["tool_calling"]}, {"capabilities": ["images"]}, [TOOLLESS],
            id="tools of the route only",
        ),
        pytest.param(
            {"capabilities": ["images"]}, {"capabilities": ["images"]}, [], id="tools nowhere"
        ),
        pytest.param(
            {"contextWindow": 200}, {"contextWindow": 99, "capabilities": []}, [SMALL, TOOLLESS],
            id="both",
        ),
    ],
)  # fmt: skip
def test_a_link_that_holds_or_can_do_less_is_a_warning(
    way: Callable[..., dict[str, str]], zai: dict[str, Any], openai: dict[str, Any], said: list[str]
) -> None:
    providers = json.dumps({"zai": zai, "openai": openai})

    assert warnings(way("zai/a", "openai/b") | {"SIDESTEP_PROVIDERS": providers}) == said


def test_the_link_of_a_link_is_compared_with_the_requested_route() -> None:
    siblings = {"zai/a": "openai/b", "openai/b": "groq/c", "groq/c": "zai/a"}
    windows = {"zai": 200, "openai": 150, "groq": 80}
    environ = {
        "SIDESTEP_FALLBACK_CONFIG": json.dumps({"fallbackModelsByModel": siblings}),
        "SIDESTEP_PROVIDERS": json.dumps(
            {name: {"contextWindow": size} for name, size in windows.items()}
        ),
    }

    pairs = [each.split("'")[1::2] for each in warnings(environ)]

    assert pairs == [["groq/c", "zai/a"]]


FACADE = "ask its facade 'zai-anthropic', which takes a Claude's name, or name another model"


@every_way
@pytest.mark.parametrize(
    ("route", "fix"),
    [
        pytest.param("zai/claude-sonnet-5", FACADE, id="a Claude at zai"),
        pytest.param("zai/Claude-Opus-4.8:thinking", FACADE, id="a Claude at zai, in capitals"),
        pytest.param("zai-anthropic/claude-sonnet-5", None, id="a Claude at the facade"),
        pytest.param("zai-anthropic/glm-5.2", None, id="its own at the facade"),
        pytest.param(
            "zai-anthropic/gpt-5.6", "ask 'openai' for it, or name a model of 'zai-anthropic'",
            id="a GPT at the facade",
        ),
        pytest.param(
            "deepseek/claude-haiku-4-5",
            "ask its facade 'deepseek-anthropic', which takes a Claude's name, or name another",
            id="a Claude at deepseek",
        ),
        pytest.param("openrouter-anthropic/claude-sonnet-5", None, id="a Claude at OpenRouter's"),
        pytest.param(
            "anthropic/glm-5.2", "ask 'zai' for it, or name a model of 'anthropic'",
            id="a GLM at Anthropic",
        ),
        pytest.param("anthropic/gpt-5.6", "ask 'openai' for it", id="a GPT at Anthropic"),
        pytest.param("openai/gemini-3-pro", "ask 'gemini' for it", id="a Gemini at OpenAI"),
        pytest.param("openai-chat/grok-4", "ask 'xai' for it", id="a Grok at OpenAI"),
        pytest.param("gemini/kimi-k2.5", "ask 'moonshot' for it", id="a Kimi at Google"),
        pytest.param("mistral/deepseek-chat", "ask 'deepseek' for it", id="a DeepSeek at Mistral"),
        pytest.param("xai/codestral-latest", "ask 'mistral' for it", id="a Mistral at xAI"),
        pytest.param("openai/labs-devstral-small-2512", "ask 'mistral' for it", id="of its labs"),
        pytest.param("mistral/labs-devstral-small-2512", None, id="of its labs, at Mistral"),
        pytest.param("deepseek-anthropic/gpt-5.6", "ask 'openai' for it", id="not a Claude"),
        pytest.param("moonshot/MiniMax-M2", "ask 'minimax' for it", id="a MiniMax at Moonshot"),
        pytest.param("groq/claude-sonnet-5", "ask 'anthropic' for it", id="a Claude at Groq"),
        pytest.param("groq/openai/gpt-oss-120b", None, id="an open model at Groq"),
        pytest.param("groq/moonshotai/kimi-k2-instruct", None, id="a Kimi at Groq"),
        pytest.param("cerebras/zai-glm-4.6", None, id="a GLM at Cerebras"),
        pytest.param("openai/gpt-oss-120b", None, id="an open model of OpenAI's"),
        pytest.param("openai/o4-mini", None, id="OpenAI's own"),
        pytest.param("gemini/gemma-3", None, id="a name that nobody is known by"),
        pytest.param("ollama/gemini-3-pro-preview", None, id="a server of one's own"),
        pytest.param("openrouter/anthropic/claude-sonnet-5", None, id="a Claude at OpenRouter"),
        pytest.param(
            "openrouter/claude-sonnet-5", 'write it as "openrouter/maker/model"', id="no maker"
        ),
        pytest.param("openrouter/auto", None, id="OpenRouter's own"),
        pytest.param(
            "anthropic/anthropic/claude-sonnet-5", "write it as 'anthropic/claude-sonnet-5'",
            id="OpenRouter's name at Anthropic",
        ),
        pytest.param("zai/z-ai/glm-5.2", "write it as 'zai/glm-5.2'", id="OpenRouter's at zai"),
    ],
)  # fmt: skip
def test_a_models_name_that_belongs_to_another_provider_is_a_warning(
    way: Callable[..., dict[str, str]], route: str, fix: str | None
) -> None:
    as_link, as_head = warnings(way("zai/glm-4.5", route)), warnings(way(route, "zai/glm-4.5"))

    assert as_link == as_head
    assert [repr(route) in each for each in as_link] == ([True] if fix else [])
    assert all(each.startswith("C026: ") and (fix or "") in each for each in as_link)


@pytest.mark.parametrize("address", ["http://127.0.0.1:4000", "https://gateway.test/v1"])
def test_nothing_is_known_of_a_provider_at_another_address(address: str) -> None:
    environ = by_map("zai/a", "openai/claude-sonnet-5")
    environ["SIDESTEP_PROVIDERS"] = json.dumps({"openai": {"baseUrl": address}})

    assert warnings(environ) == []


def test_a_numbered_provider_is_known_by_its_address() -> None:
    environ = {
        "MODEL_BASE_URL": "https://openrouter.ai/api/v1",
        "MODEL_API_KEY": "k",
        "MODEL_FAST": "anthropic/claude-haiku-4.5",
        "MODEL_FALLBACK_1_BASE_URL": "https://api.z.ai/api/paas/v4",
        "MODEL_FALLBACK_1_API_KEY": "k",
        "MODEL_FALLBACK_1_FAST": "claude-haiku-4-5",
    }

    (warning,) = warnings(environ)

    assert warning.startswith("C026: 'fallback-1/claude-haiku-4-5' names a model of 'anthropic'")


def test_a_model_that_an_element_takes_over_is_named_once() -> None:
    environ = {"SIDESTEP_HINT": "zai,anthropic"}

    # With OpenRouter's name both elements are the warning C089.
    assert warnings(environ, "openrouter/z-ai/glm-5.2") == []
    assert [each.partition(":")[0] for each in warnings(environ, "zai/glm-5.2")] == ["C026"]
