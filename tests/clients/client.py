"""The agents: on which routes each is tried, and what the model asks of its shell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import launch
from .launch import Launch

SHELL = "printf 'hello-%s' 42"
"""The command that the model asks for. Its output is in no request unless it was run."""
OUTPUT = "hello-42"
RAN = "ran.txt"
COUNTED = f"{SHELL} | tee -a {RAN}"
"""The same command; its output is also added to a file, once for each time that it is run."""
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo It is done."


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One agent.

    Args:
        routes: The routes on which nothing that it sends is refused.
        refused: The routes whose real API refuses what it sends, and a part of the refusal.
        launch: Returns how to start it with the stub's URL, its home folder and a route.
        tool: The name of its shell tool; None: it has no tools.
        arguments: The arguments of the shell tool.
        edit: The text after which an agent without tools runs a command of its own.
        copies: How often it prints the last text; some also print a log.
        last: The calls with which the model ends a turn, for an agent that wants one.
    """

    routes: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    launch: Callable[[str, Path, str], Launch]
    tool: str | None
    arguments: Mapping[str, object]
    edit: str = ""
    copies: int = 1
    last: Mapping[str, object] | None = None

    @property
    def counted(self) -> dict[str, object]:
        """The answer after which the agent runs `COUNTED`, and asks again."""
        return {"text": self.edit} if self.tool is None else self.asks_for(COUNTED)

    def asks_for(self, command: str) -> dict[str, object]:
        """Return the answer after which the agent runs *command*, and asks again."""
        arguments = json.loads(json.dumps(self.arguments).replace(SHELL, command))
        return {
            "reasoning": "Hm.",
            "text": "I do.",
            "tool_calls": [{"name": self.tool, "input": arguments}],
        }


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
        launch=launch.claude,
        tool="Bash",
        arguments={"command": SHELL, "description": "Say hello"},
    ),
    "codex": Client(
        routes=(
            *("openai/gpt-5.6", "openai/o4-mini", "openai/gpt-5.5", "openai/gpt-5.6-sol"),
            "deepseek/deepseek-v4-pro",
        ),
        # Source: router-for-me/CLIProxyAPI#5257; a null beside its reasoning would be next.
        refused={"xai/grok-4": "unknown variant `namespace`"},
        launch=launch.codex,
        tool="exec_command",
        arguments={"cmd": SHELL},
        copies=2,  # on stdout, and in the log on stderr
    ),
    "opencode": Client(
        routes=("anthropic/claude-sonnet-5", "openai/gpt-5.6", "deepseek/deepseek-v4-pro"),
        launch=launch.opencode,
        tool="bash",
        arguments={"command": SHELL, "description": "Say hello"},
    ),
    "gemini": Client(
        routes=("gemini/gemini-3-pro-preview", "gemini/gemini-2.5-flash"),
        launch=launch.gemini,
        tool="run_shell_command",
        arguments={"command": SHELL},
    ),
    "qwen": Client(
        routes=("zai/glm-4.6", "deepseek/deepseek-v4-pro", "moonshot/kimi-k3"),
        launch=launch.qwen,
        tool="run_shell_command",
        arguments={"command": SHELL, "is_background": False, "description": "Say hello"},
    ),
    "mini": Client(
        # LiteLLM sends the reasoning of another vendor's answer back under a name of its own.
        routes=("openai-chat/gpt-4.1", "deepseek/deepseek-v4-pro"),
        launch=launch.mini,
        tool="bash",
        arguments={"command": SHELL},
        last={"tool_calls": [{"name": "bash", "input": {"command": SUBMIT}}]},
    ),
    "aider": Client(
        routes=("openai-chat/gpt-4.1", "groq/llama-3.3-70b"),
        launch=launch.aider,
        tool=None,
        arguments={},
        edit="hello.txt\n```\n<<<<<<< SEARCH\n=======\nHello.\n>>>>>>> REPLACE\n```\n",
    ),
    "pi": Client(
        routes=(
            *("anthropic/claude-opus-4-7", "openai/gpt-5.6", "gemini/gemini-3-pro-preview"),
            "deepseek/deepseek-v4-pro",
        ),
        launch=launch.pi,
        tool="bash",
        arguments={"command": SHELL},
    ),
    "cn": Client(
        routes=("anthropic/claude-sonnet-5", "openai/gpt-5.6"),
        # Source: api-docs.deepseek.com/guides/thinking_mode; it sends no reasoning back.
        refused={"deepseek/deepseek-v4-pro": "in the thinking mode must be passed back"},
        launch=launch.cn,
        tool="Bash",
        arguments={"command": SHELL},
    ),
    "cline": Client(
        routes=("openai-chat/gpt-4.1", "deepseek/deepseek-v4-pro"),
        launch=launch.cline,
        tool="run_commands",
        arguments={"commands": [SHELL]},
    ),
}
"""The agents, by the name of their command."""
