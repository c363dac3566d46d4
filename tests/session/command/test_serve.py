"""`sidestep serve`: a process beside its client, or around it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from sidestep.session.serve.client_setup import ClientSetup
from sidestep.session.serve.memory_file import SqliteMemory

from ...command import environment, run_command, scenario, stub
from .test_main import SIDESTEP

CLAUDE, SIBLING = "anthropic/claude-sonnet-5", "groq/llama"
ASKING = """
import json, os, urllib.request, sys
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    json.dumps({"model": "claude-sonnet-5", "max_tokens": 9,
                "messages": [{"role": "user", "content": "Hi"}]}).encode(),
    {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
sys.exit(7)
"""


@contextmanager
def serving(*arguments: str, **variables: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve in a process of its own; yield the address, and the process."""
    server = subprocess.Popen(
        [*SIDESTEP, "serve", "--port", "0", *arguments], env=environment(**variables),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    with server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().removeprefix("listening on ").strip(), server
        finally:
            server.kill()


def providers(url: str) -> str:
    return httpx.get(f"{url}/_stub/providers", trust_env=False).text


def test_the_command_is_started_with_the_variables_and_gives_its_exit_status(
    tmp_path: Path,
) -> None:
    played = {CLAUDE: {"status": 503}, SIBLING: {"text": "The sibling answers."}}
    config = {"fallbackModelsByModel": {CLAUDE: SIBLING}, "maxUpstreamRetryAttempts": 0}
    with stub(scenario(tmp_path, played)) as url:
        ran = subprocess.run(
            [*SIDESTEP, "serve", "--", sys.executable, "-c", ASKING],
            env=environment(SIDESTEP_PROVIDERS=providers(url), SIDESTEP_FALLBACK_CONFIG=config),
            capture_output=True, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip

    assert (ran.returncode, ran.stdout) == (7, "The sibling answers.\n")
    assert "export ANTHROPIC_BASE_URL=http://127.0.0.1:" in ran.stderr
    assert "export ANTHROPIC_API_KEY=TOKEN\n" in ran.stderr


LOCKING = """
import sqlite3
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
"""


@pytest.mark.parametrize(
    ("damage", "client", "why"),
    [
        pytest.param("PRAGMA user_version = 7", ASKING, "another version of sidestep", id="before"),
        pytest.param("VACUUM", "import sys" + LOCKING + ASKING, "database is locked", id="after"),
    ],
)
def test_what_is_wrong_with_the_store_is_told_once_in_the_terminal_of_the_client(
    tmp_path: Path, damage: str, client: str, why: str
) -> None:
    store = tmp_path / "store"
    SqliteMemory(store).close()
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute(damage)
    played = {CLAUDE: {"status": 503}, SIBLING: {"text": "The sibling answers."}}
    config = {"fallbackModelsByModel": {CLAUDE: SIBLING}, "maxUpstreamRetryAttempts": 0}
    with stub(scenario(tmp_path, played)) as url:
        ran = subprocess.run(
            [*SIDESTEP, "serve", "--store", store, "--", sys.executable, "-c", client, store],
            env=environment(SIDESTEP_PROVIDERS=providers(url), SIDESTEP_FALLBACK_CONFIG=config),
            capture_output=True, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip

    assert (ran.returncode, ran.stdout) == (7, "The sibling answers.\n")
    assert ran.stderr.count("stays in memory, and is lost at the end") == 1
    assert why in ran.stderr


def test_a_swap_is_told_in_the_terminal_of_the_server(tmp_path: Path) -> None:
    played = {CLAUDE: {"status": 503}, SIBLING: {"text": "The sibling answers."}}
    config = {"fallbackModelsByModel": {CLAUDE: SIBLING}, "maxUpstreamRetryAttempts": 0}
    with (
        stub(scenario(tmp_path, played)) as url,
        serving(SIDESTEP_PROVIDERS=providers(url), SIDESTEP_FALLBACK_CONFIG=config) as served,
    ):
        address, server = served
        asked = [{"role": "user", "content": "Hi"}]
        body = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": asked}
        httpx.post(f"{address}/anthropic/v1/messages", json=body, trust_env=False)
        server.terminate()
        _, told = server.communicate(timeout=60)

    assert f"switched model from={CLAUDE} to={SIBLING}" in told


def test_a_command_that_a_signal_ended_has_the_status_of_a_shell() -> None:
    ran = subprocess.run(
        [*SIDESTEP, "serve", "--", "sh", "-c", "kill -9 $$"],
        env=environment(), capture_output=True, timeout=60, check=False,
    )  # fmt: skip

    assert ran.returncode == 128 + 9


def test_sigterm_is_passed_on_to_the_command() -> None:
    waits = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [*SIDESTEP, "serve", "--", "sh", "-c", waits],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
    ) as server:  # fmt: skip
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        server.send_signal(signal.SIGTERM)

        assert server.wait(timeout=60) == 5


def test_a_command_that_is_not_there_is_an_error_in_words() -> None:
    ran = run_command("serve", "--", "/nowhere/claude")

    assert ran.returncode == 2
    assert "'/nowhere/claude' cannot be started" in ran.stderr


def test_sigterm_lets_the_running_answer_end(tmp_path: Path) -> None:
    slow = {"text": "The whole answer.", "chunk": 2, "pace": 0.05}
    body = {"model": "claude-sonnet-5", "max_tokens": 9, "stream": True, "messages": []}
    with (
        stub(scenario(tmp_path, {CLAUDE: slow})) as url,
        serving(SIDESTEP_PROVIDERS=providers(url)) as (address, server),
        subprocess.Popen(
            [sys.executable, "-c", _asking(address, body)],
            stdout=subprocess.PIPE, encoding="utf-8",
        ) as client,
    ):  # fmt: skip
        while not httpx.get(f"{url}/_stub/requests", trust_env=False).json():
            pass
        server.send_signal(signal.SIGTERM)
        assert client.stdout is not None
        answer = client.stdout.read()

        assert answer.rstrip().endswith('"message_stop"}')
        assert server.wait(timeout=60) == 128 + signal.SIGTERM


def _asking(address: str, body: object) -> str:
    return (
        "import urllib.request as r\n"
        f"q = r.Request({address + '/anthropic/v1/messages'!r}, {json.dumps(body).encode()!r})\n"
        "print(r.build_opener(r.ProxyHandler({})).open(q).read().decode())"
    )


def test_the_token_of_a_file_is_made_once_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    seen = []
    for _ in range(2):
        with serving("--token", str(path)) as (_, server):
            assert server.stderr is not None
            lines: list[str] = []
            while not lines or not lines[-1].startswith("export ANTHROPIC_API_KEY="):
                lines.append(server.stderr.readline())
            seen.append(lines)

    assert seen[0][-1] == seen[1][-1] == f"export ANTHROPIC_API_KEY={path.read_text()}"
    assert [f"made the file '{path}'" in lines[0] for lines in seen] == [True, False]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("mode", "is_told"), [(0o644, True), (0o660, True), (0o600, False)])
def test_a_token_that_others_can_read_is_told(tmp_path: Path, mode: int, is_told: bool) -> None:
    path = tmp_path / "token"
    path.write_text("a-token-of-enough-characters")
    path.chmod(mode)
    ran = run_command("serve", "--token", str(path), "--", "true")

    assert (f"chmod 600 {path}" in ran.stderr) is is_told


@pytest.mark.parametrize("text", ["", "short", "has a blank in it somewhere", "ä" * 20])
def test_a_file_without_a_token_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    ran = run_command("serve", "--token", str(path), "--", "true")

    assert ran.returncode == 2
    assert "must hold 16 characters" in ran.stderr


def test_without_a_token_the_clients_own_keys_are_left_alone(tmp_path: Path) -> None:
    ran = run_command(
        "serve", "--token", "none", "--", "sh", "-c", f"env > {tmp_path}/env", ANTHROPIC_API_KEY="k"
    )
    found = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())

    assert ran.returncode == 0
    assert found["ANTHROPIC_API_KEY"] == "k"
    assert "OPENAI_API_KEY" not in found
    assert found["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")


def test_use_own_keys_without_token_none_is_refused() -> None:
    ran = run_command("serve", "--use-own-keys")

    assert ran.returncode == 2
    assert "--token none" in ran.stderr


def test_a_port_that_is_taken_is_an_error_in_words() -> None:
    with serving() as (address, _):
        ran = run_command("serve", "--port", address.rpartition(":")[2])

    assert ran.returncode == 2
    assert "`sidestep serve` cannot listen on '127.0.0.1'" in ran.stderr


def test_the_lines_for_each_client_are_those_that_a_shell_takes() -> None:
    setup = ClientSetup("http://127.0.0.1:8504", "the-token")
    script = "\n".join(line for line in setup.lines() if not line.startswith("codex"))
    ran = subprocess.run(
        ["sh"], env={"PATH": os.environ["PATH"]}, input=f"set -e\n{script}\nenv",
        capture_output=True, encoding="utf-8", timeout=60, check=True,
    )  # fmt: skip
    found = dict(line.split("=", 1) for line in ran.stdout.splitlines())

    assert found["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8504/anthropic"
    assert found["GEMINI_API_KEY"] == "the-token"
    opencode = json.loads(found["OPENCODE_CONFIG_CONTENT"])["provider"]["google"]["options"]
    assert opencode["baseURL"] == "http://127.0.0.1:8504/gemini/v1beta"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["/usr/bin/codex", "|", "exec"], id="by its path"),
        pytest.param(["codex.cmd", "|", "exec"], id="on Windows"),
        pytest.param(["npx", "-y", "@openai/codex", "|", "exec"], id="by npx"),
        pytest.param(["/usr/bin/npx", "@openai/codex@0.171.0", "|"], id="a version"),
        pytest.param(["npx.cmd", "@openai/codex", "|", "exec"], id="npx on Windows"),
        pytest.param(["pnpm", "dlx", "@openai/codex@latest", "|", "codex"], id="by pnpm"),
        pytest.param(["env", "A=b", "codex", "|", "exec", "codex"], id="by env"),
    ],
)
def test_codex_is_led_by_options_behind_its_name(command: list[str]) -> None:
    setup, place = ClientSetup("http://127.0.0.1:8504", "t"), command.index("|")
    expected = [*command[:place], *setup.codex, *command[place + 1 :]]
    typed = [word for word in command if word != "|"]

    assert setup.command(typed) == expected
    assert setup.note(typed) is None


@pytest.mark.parametrize(
    "command",
    [
        ["claude", "-p", "codex"],
        ["npx", "@anthropic-ai/claude-code"],
        ["sh", "-c", "codex exec"],
        ["./codex-like"],
    ],
)
def test_what_does_not_start_codex_by_itself_is_started_as_it_is(command: list[str]) -> None:
    assert ClientSetup("http://127.0.0.1:8504", "t").command(command) == command


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        pytest.param(["gemini", "-p", "Hi"], True, id="Gemini CLI"),
        pytest.param(["/opt/bin/gemini"], True, id="by its path"),
        pytest.param(["npx", "@google/gemini-cli@latest"], True, id="by npx"),
        pytest.param(["sh", "-c", "gemini"], False, id="inside a shell"),
        pytest.param(["claude"], False, id="another"),
    ],
)
def test_what_no_variable_sets_is_told(command: list[str], is_told: bool) -> None:
    setup = ClientSetup("http://127.0.0.1:8504", None)

    assert ("settings.json" in (setup.note(command) or "")) is is_told
    assert any("settings.json" in line for line in setup.lines())


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        pytest.param(["sh", "-c", "cd work && codex exec"], True, id="inside a shell"),
        pytest.param(["/bin/bash", "-lc", "npx @openai/codex"], True, id="its package"),
        pytest.param(["sh", "-c", "claude"], False, id="another inside a shell"),
        pytest.param(["claude", "-p", "What is codex?"], False, id="a prompt"),
        pytest.param(["codex"], False, id="by itself"),
    ],
)
def test_the_options_of_codex_are_told_where_they_cannot_be_added(
    command: list[str], is_told: bool
) -> None:
    setup = ClientSetup("http://127.0.0.1:8504", None)

    assert ("model_providers.sidestep=" in (setup.note(command) or "")) is is_told


def test_a_proxy_is_not_asked_for_the_local_address() -> None:
    setup = ClientSetup("http://127.0.0.1:8504", "t")

    assert "NO_PROXY" not in setup.variables({})
    found = setup.variables({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "a.example"})
    assert found["NO_PROXY"] == "a.example,127.0.0.1,localhost"
