"""How each client is led to the local address.

Source: the agents of tests/clients, which were all started so.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import quote

from .pages import PAGE

_LOCAL = "127.0.0.1,localhost"
_GEMINI_NEEDS = (
    '~/.gemini/settings.json must hold {"security": {"auth": {"selectedType": "gemini-api-key"}}}'
)
"""Gemini CLI 0.61 reads this from no variable; without it, it ends with "Invalid auth method"."""
_LAUNCHERS = frozenset(
    {"npx", "npm", "bunx", "bun", "pnpm", "yarn", "env", "nice", "nohup", "time"}
)
"""Programs that start the client which is named after their own words."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "fish", "pwsh", "powershell", "cmd"})
_PACKAGES = {"codex": "@openai/codex", "gemini": "@google/gemini-cli"}
"""The packages of npm that hold the clients."""
_CODEX = re.compile(r"\bcodex\b")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """What leads clients to *url*.

    Args:
        token: What they send in place of a key; None: they have keys of their own.
    """

    url: str
    token: str | None

    @property
    def addresses(self) -> dict[str, str]:
        """The variables with an address, for the clients that read one."""
        return {
            "ANTHROPIC_BASE_URL": f"{self.url}/anthropic",
            "OPENAI_BASE_URL": f"{self.url}/openai/v1",
            "OPENAI_API_BASE": f"{self.url}/openai/v1",
            "GOOGLE_GEMINI_BASE_URL": f"{self.url}/gemini",
            "OPENROUTER_API_BASE": f"{self.url}/openrouter/api/v1",
        }

    @property
    def page(self) -> str:
        """The address of the page; what stands behind the # never leaves the browser."""
        return f"{self.url}{PAGE}" + (
            "" if self.token is None else f"#{quote(self.token, safe='')}"
        )

    @property
    def keys(self) -> dict[str, str]:
        """The variables with the token."""
        if self.token is None:
            return {}
        names = ("ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER")
        return {f"{name}_API_KEY": self.token for name in names}

    @property
    def opencode(self) -> str:
        """The configuration of opencode."""
        bases = {
            "anthropic": "/anthropic/v1",
            "openai": "/openai/v1",
            "google": "/gemini/v1beta",
            "openrouter": "/openrouter/api/v1",
        }
        key = {} if self.token is None else {"apiKey": self.token}
        providers = {
            name: {"options": {"baseURL": f"{self.url}{base}", **key}}
            for name, base in bases.items()
        }
        return json.dumps({"provider": providers}, separators=(",", ":"))

    @property
    def codex(self) -> tuple[str, ...]:
        """The options of Codex, which reads no address from a variable.

        Its web search and its sub-agents are off, because only OpenAI has them: a request with such
        tools cannot go to a sibling. An option that the user writes comes later, and counts.
        """
        provider = (
            f'{{name="sidestep",base_url="{self.url}/openai/v1",wire_api="responses",'
            'env_key="OPENAI_API_KEY"}'
        )
        settings = (
            f"model_providers.sidestep={provider}",
            'model_provider="sidestep"',
            'web_search="disabled"',
            "agents.enabled=false",
        )
        return tuple(word for setting in settings for word in ("-c", setting))

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variables for a client that is started in *environ*."""
        found = {**self.addresses, **self.keys, "OPENCODE_CONFIG_CONTENT": self.opencode}
        if any(environ.get(name) or environ.get(name.upper()) for name in _PROXIES):
            for name in ("NO_PROXY", "no_proxy"):
                found[name] = ",".join(filter(None, (environ.get(name), _LOCAL)))
        return found

    def command(self, command: Sequence[str]) -> list[str]:
        """Return *command* with the options that a variable cannot replace."""
        place = _place(command, "codex")
        options = () if place is None else self.codex
        after = 0 if place is None else place + 1
        return [*command[:after], *options, *command[after:]]

    def note(self, command: Sequence[str]) -> str | None:
        """Return what a person has to set for *command*, because no variable can."""
        if _place(command, "gemini") is not None:
            return f"Gemini CLI: {_GEMINI_NEEDS}"
        if _named(command[0]) in _SHELLS and any(map(_CODEX.search, command)):
            return f"Codex reads no variable: write codex {shlex.join(self.codex)}"
        return None

    def lines(self) -> list[str]:
        """Return what a person pastes into the shell of a client, for each client."""
        addresses, keys = self.addresses, self.keys

        def export(*names: str) -> list[str]:
            every = {**addresses, **keys}
            return [f"export {name}={shlex.quote(every[name])}" for name in names if name in every]

        return [
            "# Claude Code",
            *export("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
            "# Codex",
            *export("OPENAI_API_KEY"),
            f"codex {shlex.join(self.codex)}",
            "# opencode",
            f"export OPENCODE_CONFIG_CONTENT={shlex.quote(self.opencode)}",
            f"# Gemini CLI: {_GEMINI_NEEDS}",
            *export("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
            "# qwen-code, aider, mini-swe-agent, and others that speak Chat Completions",
            *export("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY"),
        ]


def _place(command: Sequence[str], client: str) -> int | None:
    """Return where *command* names *client*; None: it does not start it, or not by itself.

    >>> _place(["npx", "-y", "@openai/codex@latest", "exec"], "codex")
    2
    """
    if _named(command[0]) not in _LAUNCHERS:
        return 0 if _is(command[0], client) else None
    places = (place for place, word in enumerate(command) if _is(word, client))
    return next(places, None)


def _named(program: str) -> str:
    """Return the name of *program*, without its folder and its ending on Windows."""
    return PurePath(program).name.partition(".")[0]


def _is(word: str, client: str) -> bool:
    """True if *word* is the command or the package of *client*, wherever it is installed."""
    package = _PACKAGES[client]
    if word == package or word.startswith(f"{package}@"):
        return True
    return PurePath(word).name in {client, f"{client}.exe", f"{client}.cmd"}
