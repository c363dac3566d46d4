"""An agent that is not ours, drilled from outside: nothing is shared but variables.

The agent is fixtures/agents/tinycode. It owns a package named `session`, its loop and its HTTP
call; each row looks only at what it prints and at what reached the stub. Two rows, one for each
exit status, run it in a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from sidestep.session.clock import SystemClock

from .command import Ran, run_program, scenario, stub

AGENT = Path(__file__).parents[1] / "fixtures" / "agents" / "tinycode" / "main.py"
OWN_MODULES = ("model", "session", "tools")
TIMEOUT = 60.0

OPENROUTER = "openrouter/anthropic/claude-sonnet-5"
ANTHROPIC = "anthropic/claude-sonnet-5"
TWO_WAY = {OPENROUTER: ANTHROPIC, ANTHROPIC: OPENROUTER}

CONFIG = "SIDESTEP_FALLBACK_CONFIG"
COORDINATOR_CONFIG = "REPLO_OPENCODE_FALLBACK_CONFIG"

Json = dict[str, Any]

TINYCODE = (sys.executable, str(AGENT))
WRITE = {"name": "write_file", "input": {"path": "notes.md", "content": "mended"}}
READ = {"name": "read_file", "input": {"path": "notes.md"}}


@dataclass(frozen=True)
class Run:
    """What a person sees of a run of the agent, and what the providers saw.

    Args:
        status: With which it exited.
        stderr: Line by line.
        requests: Each as the stub lists it, in order.
    """

    status: int
    stdout: str
    stderr: list[str]
    requests: list[Json]

    @property
    def routes(self) -> list[str]:
        """The route of each request, in order."""
        return [request["route"] for request in self.requests]


@dataclass
class Sandbox:
    """A folder and the variables in which the agent runs, and how it is started."""

    folder: Path
    agent: tuple[str, ...] = TINYCODE
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def configure(self, **settings: object) -> None:
        """Inject a configuration as a coordinator does; without same-route retries."""
        self.variables[CONFIG] = config(**settings)

    def run(
        self, answers: dict[str, list[Json]], *, model: str = OPENROUTER, has_process: bool = False
    ) -> Run:
        """Let the agent take one turn against a stub that plays *answers*.

        Args:
            has_process: The agent runs in a process of its own, not in this one.
        """
        self.workspace.mkdir()
        arguments = ["Mend it.", "--model", model, "--workspace", str(self.workspace)]
        start = self._start if has_process or self.agent != TINYCODE else self._call
        with stub(scenario(self.folder, answers)) as url:
            ran = start(arguments, self._environment(url))
            requests = httpx.get(f"{url}/_stub/requests", timeout=TIMEOUT).json()
        return Run(ran.returncode, ran.stdout, ran.stderr.splitlines(), requests)

    def _start(self, arguments: list[str], environ: dict[str, str]) -> Ran:
        ran = subprocess.run(
            [*self.agent, *arguments], cwd=self.folder, env=environ, timeout=TIMEOUT,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def _call(self, arguments: list[str], environ: dict[str, str]) -> Ran:
        argv = [str(AGENT), *arguments]
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(AGENT.parent)
            try:
                return run_program(
                    lambda: runpy.run_path(argv[0], run_name="__main__"), argv, environ,
                    cwd=self.folder,
                )  # fmt: skip
            finally:
                for name in OWN_MODULES:
                    sys.modules.pop(name, None)

    def _environment(self, url: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "OPENROUTER_API_KEY": "dummy",
            "ANTHROPIC_API_KEY": "dummy",
            "TINYCODE_OPENROUTER_URL": f"{url}/openrouter/api/v1",
            "TINYCODE_ANTHROPIC_URL": f"{url}/anthropic",
            **self.variables,
        }


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def config(**settings: object) -> str:
    return json.dumps({"fallbackModelsByModel": TWO_WAY, "maxUpstreamRetryAttempts": 0, **settings})


def tool_results(request: Json) -> list[str]:
    """The results of tools in the history that *request* carries, in either wire."""
    found = []
    for message in request["body"]["messages"]:
        if message["role"] == "tool":
            found.append(message["content"])
        elif isinstance(message["content"], list):
            blocks = message["content"]
            found += [block["content"] for block in blocks if block["type"] == "tool_result"]
    return found


def test_an_answer_at_once_takes_one_request(sandbox: Sandbox) -> None:
    ran = sandbox.run(
        {OPENROUTER: [{"text": "Done."}], ANTHROPIC: [{"text": "No."}]}, has_process=True
    )

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.stderr == [f"answered by {OPENROUTER} after 1 attempts"]
    assert ran.routes == [OPENROUTER]


def test_without_a_configuration_a_route_is_retried_and_no_other_is_asked(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(_clock: SystemClock, seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(SystemClock, "sleep", sleep)

    ran = sandbox.run(
        {OPENROUTER: [{"status": 503}, {"text": "Done."}], ANTHROPIC: [{"text": "No."}]}
    )

    (backoff,) = slept
    assert 2 <= backoff <= 2.5
    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.stderr == [f"answered by {OPENROUTER} after 2 attempts"]
    assert ran.routes == [OPENROUTER, OPENROUTER]


def test_without_a_configuration_the_agents_own_exception_says_what_was_tried(
    sandbox: Sandbox,
) -> None:
    ran = sandbox.run({OPENROUTER: [{"status": 401}], ANTHROPIC: [{"text": "No."}]})

    assert (ran.status, ran.stdout) == (1, "")
    assert ran.routes == [OPENROUTER]
    assert ran.stderr[0].startswith("httpx.HTTPStatusError: Client error '401")
    assert ran.stderr[-1].startswith(f"sidestep: 1 attempt failed (1. {OPENROUTER} auth 401")


@pytest.mark.parametrize(
    ("primary", "sibling"),
    [
        pytest.param(OPENROUTER, ANTHROPIC, id="from chat completions to messages"),
        pytest.param(ANTHROPIC, OPENROUTER, id="from messages to chat completions"),
    ],
)
def test_a_swap_in_a_turn_keeps_what_its_tools_did_and_the_next_step_stays_on_the_sibling(
    sandbox: Sandbox, primary: str, sibling: str
) -> None:
    """Run a second time, `write_file` would say `replaced`."""
    sandbox.configure()

    ran = sandbox.run(
        {
            primary: [{"text": "I write.", "tool_calls": [WRITE]}, {"status": 500}],
            sibling: [{"tool_calls": [READ]}, {"text": "Done."}],
        },
        model=primary,
    )

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.routes == [primary, primary, sibling, sibling]
    assert [tool_results(request) for request in ran.requests] == [
        [],
        ["created notes.md"],
        ["created notes.md"],
        ["created notes.md", "mended"],
    ]
    assert {path.name: path.read_text() for path in sandbox.workspace.iterdir()} == {
        "notes.md": "mended"
    }
    assert ran.stderr == [
        f"[model-fallback] switched model from={primary} to={sibling} "
        "reason=server_error status=500 swaps=1/2",
        f"answered by {sibling} after 4 attempts",
    ]


def test_a_route_that_failed_in_the_first_step_is_not_asked_again_in_the_turn(
    sandbox: Sandbox,
) -> None:
    sandbox.configure()

    ran = sandbox.run(
        {
            OPENROUTER: [{"status": 503}],
            ANTHROPIC: [{"tool_calls": [WRITE]}, {"tool_calls": [READ]}, {"text": "Done."}],
        }
    )

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.routes == [OPENROUTER, ANTHROPIC, ANTHROPIC, ANTHROPIC]
    assert tool_results(ran.requests[-1]) == ["created notes.md", "mended"]


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param({"status": 200, "body": {"error": {"code": 502, "message": "down"}}},
                     id="an error in a 200"),
        pytest.param({"status": 200, "body": "<html>Bad Gateway</html>"}, id="a page in a 200"),
        pytest.param({"text": "I wri", "abort": True}, id="half an answer"),
        pytest.param({"text": ""}, id="no answer"),
    ],
)  # fmt: skip
def test_a_bad_answer_moves_an_agent_that_does_not_judge_itself(
    sandbox: Sandbox, failure: Json
) -> None:
    sandbox.configure()

    ran = sandbox.run({OPENROUTER: [failure], ANTHROPIC: [{"text": "Done."}]})

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.routes == [OPENROUTER, ANTHROPIC]


def test_a_sibling_that_the_agent_cannot_speak_to_is_passed_over(sandbox: Sandbox) -> None:
    sandbox.configure(fallbackModelsByModel={OPENROUTER: ["gemini/gemini-3-pro", ANTHROPIC]})

    ran = sandbox.run({OPENROUTER: [{"status": 503}], ANTHROPIC: [{"text": "Done."}]})

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.routes == [OPENROUTER, ANTHROPIC]


def inline(_folder: Path) -> str:
    return config()


def in_a_file(folder: Path) -> str:
    path = folder / "fallback.json"
    path.write_text(config())
    return f"@{path}"


def in_a_file_beside(folder: Path) -> str:
    return "@" + Path(in_a_file(folder)[1:]).name


@pytest.mark.parametrize(
    ("variable", "written"),
    [
        pytest.param(CONFIG, in_a_file, id="@file"),
        pytest.param(CONFIG, in_a_file_beside, id="@file in the working directory"),
        pytest.param(COORDINATOR_CONFIG, inline, id="the coordinator's variable"),
    ],
)
def test_a_variable_alone_is_enough_to_move_an_agent(
    sandbox: Sandbox, variable: str, written: Callable[[Path], str]
) -> None:
    sandbox.variables[variable] = written(sandbox.folder)

    ran = sandbox.run({OPENROUTER: [{"status": 503}], ANTHROPIC: [{"text": "Done."}]})

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.stderr[-1] == f"answered by {ANTHROPIC} after 2 attempts"
    assert ran.routes == [OPENROUTER, ANTHROPIC]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param('{"sk-secret": ', "not JSON", id="not JSON"),
        pytest.param(config(cooldownSeconds="60"), "`cooldownSeconds` must be", id="wrong type"),
        pytest.param("@missing.json", "missing.json", id="no such file"),
    ],
)
def test_a_broken_configuration_costs_one_line_and_no_answer(
    sandbox: Sandbox, text: str, says: str
) -> None:
    sandbox.variables[CONFIG] = text

    ran = sandbox.run(
        {OPENROUTER: [{"tool_calls": [WRITE]}, {"text": "Done."}], ANTHROPIC: [{"text": "No."}]}
    )

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.routes == [OPENROUTER, OPENROUTER]
    complaint, story = ran.stderr
    assert CONFIG in complaint
    assert says in complaint
    assert "sk-secret" not in complaint
    assert story == f"answered by {OPENROUTER} after 2 attempts"


def test_when_both_routes_are_down_the_agent_names_every_attempt_and_exits_1(
    sandbox: Sandbox,
) -> None:
    sandbox.configure(maxFallbackAttempts=2)

    ran = sandbox.run(
        {OPENROUTER: [{"status": 503}], ANTHROPIC: [{"status": 529}]}, has_process=True
    )

    assert (ran.status, ran.stdout) == (1, "")
    assert ran.routes == [OPENROUTER, ANTHROPIC, OPENROUTER]
    assert not [line for line in ran.stderr if "Traceback" in line or "  File " in line]
    story = ran.stderr[-1]
    assert "FallbackExhausted: 3 attempts failed" in story
    for number, (route, status) in enumerate(zip(ran.routes, (503, 529, 503), strict=True), 1):
        assert re.search(rf"\b{number}\. {re.escape(route)} \w+ {status}\b", story)
