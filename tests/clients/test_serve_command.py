"""`sidestep serve -- COMMAND` starts agents of others, in an empty home folder.

Nothing leads them to the address but the variables and the options that the command adds.

How to run this: tests/clients/README.md.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from ..session.command.test_main import SIDESTEP
from .client import CLIENTS, OUTPUT, Client
from .launch import FAILING_TEST, PROMPT
from .test_clients import DONE, LONGEST, PRESENT, Turn, quiet, run
from .test_serve import RENAMED, SIBLINGS, sibling_of

pytestmark = pytest.mark.asyncio

SPENT, FULL = "FIRST_KEY", "SECOND_KEY"


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person types behind `sidestep serve --`, and what the client needs beside it."""

    command: tuple[str, ...]
    route: str
    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


_LITELLM = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
TYPED: Mapping[str, Typed] = {
    "claude": Typed(
        ("claude", "-p", PROMPT, "--model", "claude-sonnet-5", "--allowedTools", "Bash"),
        "anthropic/claude-sonnet-5",
        {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    "codex": Typed(
        (
            *("codex", "exec", "--skip-git-repo-check", "--model", "gpt-5.6"),
            *("--dangerously-bypass-approvals-and-sandbox", PROMPT),
        ),
        "openai/gpt-5.6",
    ),
    "opencode": Typed(
        ("opencode", "run", "--model", "anthropic/claude-sonnet-4-5", PROMPT),
        "anthropic/claude-sonnet-4-5",
        {"OPENCODE_DISABLE_AUTOUPDATE": "1"},
    ),
    "gemini": Typed(
        ("gemini", "--yolo", "--model", "gemini-3-pro-preview", "-p", PROMPT),
        "gemini/gemini-3-pro-preview",
        {"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
    ),
    "qwen": Typed(
        ("qwen", "--yolo", "--auth-type", "openai", "--model", "gpt-4.1", "-p", PROMPT),
        "openai/gpt-4.1",
        {},
        {".qwen/settings.json": '{"tools": {"shell": {"enableInteractiveShell": true}}}'},
    ),
    "mini": Typed(
        ("mini", "--model", "openai/gpt-4.1", "--yolo", "--exit-immediately", "-t", PROMPT),
        "openai/gpt-4.1",
        {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", **_LITELLM},
    ),
    "aider": Typed(
        (
            *("aider", "--model", "openai/gpt-4.1", "--yes-always", "--no-git"),
            *("--no-check-update", "--no-show-model-warnings", "--no-analytics"),
            *("--auto-test", "--test-cmd", FAILING_TEST, "--message", PROMPT),
        ),
        "openai/gpt-4.1",
        _LITELLM,
    ),
}
"""The agents that a variable or an option leads to the address."""


STARTED = [name for name in TYPED if name in PRESENT]


def whole_turn(client: Client) -> list[object]:
    """Return a call of the shell, if the agent has one, and the end of the turn."""
    call = {"name": client.tool, "input": client.arguments}
    step = {"reasoning": "Hm.", "text": "I do.", "tool_calls": [call]}
    return [*([step] if client.tool is not None else []), client.last or DONE]


@pytest.mark.parametrize(("name", "where"), list(itertools.product(STARTED, SIBLINGS)))
async def test_an_agent_that_the_command_starts_goes_on_at_a_sibling(
    name: str, where: str, tmp_path: Path
) -> None:
    typed = TYPED[name]
    routes = (typed.route, *RENAMED.get(typed.route, ()))
    sibling = sibling_of(typed.route, where)
    answers = {sibling: whole_turn(CLIENTS[name]), "*": {"status": 503}}

    taken = await turn(typed, answers, dict.fromkeys(routes, sibling), tmp_path)

    assert [each for each in taken.refused if "strict" in each] == []
    assert_whole(name, taken)


@pytest.mark.parametrize("name", STARTED)
async def test_an_agent_that_the_command_starts_goes_on_with_the_second_key(
    name: str, tmp_path: Path
) -> None:
    """The client has a token in place of a key, and the spent key is asked only once."""
    typed = TYPED[name]
    routes = (typed.route, *RENAMED.get(typed.route, ()))
    keyed = {"keys": {SPENT: {"status": 402}, FULL: whole_turn(CLIENTS[name])}}
    answers = {**dict.fromkeys(routes, keyed), "*": {"text": "A title"}}

    taken = await turn(typed, answers, {}, tmp_path)

    asked = taken.asked_of(*routes)
    assert_whole(name, taken)
    assert [each.api_key_env for each in asked] == [SPENT, *[FULL] * (len(asked) - 1)]
    assert [each.answered for each in asked if each.answered.startswith("4")] == ["402"]


def assert_whole(name: str, taken: Turn) -> None:
    assert taken.status == 0, taken.printed
    assert "It is done." in taken.printed
    if CLIENTS[name].tool is not None:
        assert OUTPUT in json.dumps([each.body for each in taken.requests])


async def turn(
    typed: Typed, answers: Mapping[str, object], siblings: Mapping[str, str], tmp_path: Path
) -> Turn:
    """Return the turn of an agent, which `sidestep serve` starts in a process of its own."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for place, text in typed.files.items():
        (home / place).parent.mkdir(exist_ok=True)
        (home / place).write_text(text)
    async with Stub(Scenario.parse({"answers": answers}), strict=True) as stub:
        config = {"fallbackModelsByModel": siblings, "maxUpstreamRetryAttempts": 0}
        env = {
            **quiet(home),
            **typed.variables,
            **stub.keys,
            "SIDESTEP_PROVIDERS": json.dumps(stub.providers()),
            "SIDESTEP_FALLBACK_CONFIG": json.dumps(config),
        }
        with anyio.fail_after(LONGEST):
            printed, status = await run((*SIDESTEP, "serve", "--", *typed.command), env, work)
    return Turn(printed, status, [*stub.requests, *stub.counts])
