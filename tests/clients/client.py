"""How each agent is told to talk to the stub, and how it is asked for a turn without a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

SHELL = "printf 'hello-%s' 42"
"""The command that the model asks for. Its output is in no request unless it was run."""
OUTPUT = "hello-42"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo It is done."
PROMPT = "Say hello."


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, and the variables that it needs."""

    command: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One agent.

    Args:
        routes: The routes on which it is tried.
        launch: Returns how to start it with the stub's URL, its home folder and a route.
        tool: The name of its shell tool; None: it has no tools.
        arguments: The arguments of the shell tool.
        last: The calls with which the model ends a turn, for an agent that wants one.
    """

    routes: tuple[str, ...]
    launch: Callable[[str, Path, str], Launch]
    tool: str | None
    arguments: Mapping[str, object]
    last: Mapping[str, object] | None = None


def _model(route: str) -> str:
    return route.partition("/")[2]


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _claude(url: str, _home: Path, route: str) -> Launch:
    command = ("claude", "-p", PROMPT, "--model", _model(route), "--allowedTools", "Bash")
    return Launch(
        command,
        {
            "ANTHROPIC_BASE_URL": f"{url}/anthropic",
            "ANTHROPIC_API_KEY": "k",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )


def _codex(url: str, home: Path, route: str) -> Launch:
    provider = route.partition("/")[0]
    _written(
        home / ".codex" / "config.toml",
        f'model = "{_model(route)}"\nmodel_provider = "stub"\n[model_providers.stub]\n'
        f'name = "stub"\nbase_url = "{url}/{provider}/v1"\nwire_api = "responses"\n'
        'env_key = "OPENAI_API_KEY"\nsupports_websockets = true\n',
    )
    options = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return Launch(("codex", "exec", *options, PROMPT), {"OPENAI_API_KEY": "k"})


def _opencode(url: str, home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    bases = {"anthropic": "/v1", "openai": "/v1", "deepseek": ""}
    models = {model: {"name": model, "tool_call": True, "reasoning": True}}
    settings: dict[str, object] = {
        "options": {"baseURL": f"{url}/{provider}{bases[provider]}", "apiKey": "k"},
        "models": models,
    }
    if provider == "deepseek":
        settings["npm"] = "@ai-sdk/openai-compatible"
    config = {"autoupdate": False, "share": "disabled", "provider": {provider: settings}}
    _written(home / ".config" / "opencode" / "opencode.json", json.dumps(config))
    return Launch(
        ("opencode", "run", "--model", route, PROMPT),
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
    )


def _gemini(url: str, home: Path, route: str) -> Launch:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    _written(home / ".gemini" / "settings.json", json.dumps(settings))
    return Launch(
        ("gemini", "--yolo", "--model", _model(route), "-p", PROMPT),
        {
            "GEMINI_API_KEY": "k",
            "GOOGLE_GEMINI_BASE_URL": f"{url}/gemini",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    )


def _qwen(url: str, _home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    return Launch(
        ("qwen", "--yolo", "--auth-type", "openai", "--model", model, "-p", PROMPT),
        {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/{provider}", "OPENAI_MODEL": model},
    )


def _mini(url: str, _home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    command = ("mini", "--model", f"openai/{model}", "--yolo", "--exit-immediately", "-t", PROMPT)
    return Launch(
        command,
        {
            "OPENAI_API_KEY": "k",
            "OPENAI_API_BASE": f"{url}/{provider}/v1",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    )


def _aider(url: str, _home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    quiet = ("--no-git", "--no-check-update", "--no-show-model-warnings", "--no-analytics")
    return Launch(
        ("aider", "--model", f"openai/{model}", "--yes-always", *quiet, "--message", PROMPT),
        {
            "OPENAI_API_KEY": "k",
            "OPENAI_API_BASE": f"{url}/{provider}/v1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    )


CLIENTS: Mapping[str, Client] = {
    "claude": Client(
        routes=(
            *(
                "anthropic/claude-sonnet-5",
                "anthropic/claude-opus-4-8",
                "anthropic/claude-opus-5-5",
            ),
            *("anthropic/claude-fable-5-1", "anthropic/claude-haiku-4-5"),
        ),
        launch=_claude,
        tool="Bash",
        arguments={"command": SHELL, "description": "Say hello"},
    ),
    "codex": Client(
        routes=("openai/gpt-5.6", "openai/o4-mini", "xai/grok-4", "deepseek/deepseek-v4-pro"),
        launch=_codex,
        tool="exec_command",
        arguments={"cmd": SHELL},
    ),
    "opencode": Client(
        routes=("anthropic/claude-sonnet-5", "openai/gpt-5.6", "deepseek/deepseek-v4-pro"),
        launch=_opencode,
        tool="bash",
        arguments={"command": SHELL, "description": "Say hello"},
    ),
    "gemini": Client(
        routes=("gemini/gemini-3-pro-preview", "gemini/gemini-2.5-flash"),
        launch=_gemini,
        tool="run_shell_command",
        arguments={"command": SHELL},
    ),
    "qwen": Client(
        routes=("zai/glm-4.6", "deepseek/deepseek-v4-pro", "moonshot/kimi-k3"),
        launch=_qwen,
        tool="run_shell_command",
        arguments={"command": SHELL, "is_background": False, "description": "Say hello"},
    ),
    "mini": Client(
        # LiteLLM sends the reasoning of another vendor's answer back under a name of its own.
        routes=("openai-chat/gpt-4.1", "deepseek/deepseek-v4-pro"),
        launch=_mini,
        tool="bash",
        arguments={"command": SHELL},
        last={"tool_calls": [{"name": "bash", "input": {"command": SUBMIT}}]},
    ),
    "aider": Client(
        routes=("openai-chat/gpt-4.1", "groq/llama-3.3-70b"),
        launch=_aider,
        tool=None,
        arguments={},
    ),
}
"""The agents, by the name of their command."""
