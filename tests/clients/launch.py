"""How each agent is told where the stub is, and is asked for a turn without a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROMPT = "Say hello."
FAILING_TEST = "printf 'hello-%s' 42 | tee -a ran.txt; false"
"""What aider runs after an edit; because it fails, aider asks the model again."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, and the variables that it needs."""

    command: tuple[str, ...]
    variables: Mapping[str, str]


def _model(route: str) -> str:
    return route.partition("/")[2]


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def claude(url: str, _home: Path, route: str) -> Launch:
    command = ("claude", "-p", PROMPT, "--model", _model(route), "--allowedTools", "Bash")
    return Launch(
        command,
        {
            "ANTHROPIC_BASE_URL": f"{url}/anthropic",
            "ANTHROPIC_API_KEY": "k",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )


def codex(url: str, home: Path, route: str) -> Launch:
    provider = route.partition("/")[0]
    _written(
        home / ".codex" / "config.toml",
        f'model = "{_model(route)}"\nmodel_provider = "stub"\n[model_providers.stub]\n'
        f'name = "stub"\nbase_url = "{url}/{provider}/v1"\nwire_api = "responses"\n'
        'env_key = "OPENAI_API_KEY"\nsupports_websockets = true\n',
    )
    options = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return Launch(("codex", "exec", *options, PROMPT), {"OPENAI_API_KEY": "k"})


def opencode(url: str, home: Path, route: str) -> Launch:
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
    if provider == "deepseek":  # its title would take an answer of the turn
        config["agent"] = {"title": {"disable": True}}
    _written(home / ".config" / "opencode" / "opencode.json", json.dumps(config))
    return Launch(
        ("opencode", "run", "--model", route, PROMPT),
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
    )


def gemini(url: str, home: Path, route: str) -> Launch:
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


def qwen(url: str, home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    # Without a terminal for its commands it loses the output of some that end at once.
    settings = {"tools": {"shell": {"enableInteractiveShell": True}}}
    _written(home / ".qwen" / "settings.json", json.dumps(settings))
    return Launch(
        ("qwen", "--yolo", "--auth-type", "openai", "--model", model, "-p", PROMPT),
        {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/{provider}", "OPENAI_MODEL": model},
    )


def mini(url: str, _home: Path, route: str) -> Launch:
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


def aider(url: str, _home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    quiet = ("--no-git", "--no-check-update", "--no-show-model-warnings", "--no-analytics")
    tested = ("--auto-test", "--test-cmd", FAILING_TEST)
    options = ("--yes-always", *quiet, *tested)
    return Launch(
        ("aider", "--model", f"openai/{model}", *options, "--message", PROMPT),
        {
            "OPENAI_API_KEY": "k",
            "OPENAI_API_BASE": f"{url}/{provider}/v1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
    )


def pi(url: str, home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    apis = {
        "openai": ("openai-responses", "/v1"),
        "gemini": ("google-generative-ai", "/v1beta"),
        "deepseek": ("openai-completions", "/v1"),
    }
    settings: dict[str, object] = {"baseUrl": f"{url}/{provider}", "apiKey": "k"}
    if provider in apis:  # it knows the others itself
        api, ending = apis[provider]
        models = [{"id": model, "reasoning": True}]
        settings |= {"baseUrl": f"{url}/{provider}{ending}", "api": api, "models": models}
    if provider == "deepseek":  # it knows this by the address of DeepSeek
        settings["compat"] = {"supportsDeveloperRole": False}
    config = {"providers": {provider: settings}}
    _written(home / ".pi" / "agent" / "models.json", json.dumps(config))
    return Launch(("pi", "-p", "--offline", "--provider", provider, "--model", model, PROMPT), {})


def cn(url: str, home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    settings = {
        "name": "stub",
        "provider": "anthropic" if provider == "anthropic" else "openai",
        "model": model,
        "apiBase": f"{url}/{provider}/v1",
        "apiKey": "k",
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    config = {"name": "stub", "version": "1.0.0", "schema": "v1", "models": [settings]}
    _written(home / "config.yaml", json.dumps(config))
    command = ("cn", "-p", PROMPT, "--auto", "--config", str(home / "config.yaml"))
    return Launch(command, {"CONTINUE_TELEMETRY_ENABLED": "0"})


def cline(url: str, _home: Path, route: str) -> Launch:
    provider, _, model = route.partition("/")
    named = "openai-compatible"
    auth = f"cline auth -p {named} -k k -m {model} -b {url}/{provider}/v1"
    variables = {
        "CLINE_LOG_ENABLED": "0",
        "CLINE_NO_AUTO_UPDATE": "1",
        "CLINE_SESSION_BACKEND_MODE": "local",  # else it leaves a process behind
    }
    turn = f"cline --auto-approve true -P {named} -m {model} '{PROMPT}'"
    return Launch(("sh", "-c", f"{auth} && {turn}"), variables)
