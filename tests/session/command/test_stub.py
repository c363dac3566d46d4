"""`sidestep stub`, and the lines that it prints for another terminal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ...command import environment
from .test_main import PRIMARY, SIBLING, SIDESTEP

DEMO_TEXT = "The sibling answers: the parser drops the last token.\n"


@contextmanager
def stub(*arguments: str) -> Iterator[tuple[str, list[str]]]:
    """Serve the stub in a process of its own; yield its URL, and its lines for a shell."""
    server = subprocess.Popen(
        [*SIDESTEP, "stub", "--port", "0", *arguments], env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    with server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            url = server.stdout.readline().removeprefix("listening on ").strip()
            assert server.stderr.readline().startswith("to lead sidestep here, paste this")
            yield url, lines_until(server.stderr, "sidestep run ")
        finally:
            server.kill()


def lines_until(lines: Iterator[str], start: str) -> list[str]:
    """Return *lines* to the first that begins with *start*."""
    found = []
    for line in lines:
        found.append(line)
        if line.startswith(start):
            break
    return found


def test_the_demo_in_two_terminals_swaps_after_one_retry(tmp_path: Path) -> None:
    command = tmp_path / "sidestep"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sidestep "$@"\n')
    command.chmod(0o700)
    variables = environment()
    variables["PATH"] = f"{tmp_path}:{variables['PATH']}"
    with stub("--scenario", "demo") as (url, lines):
        ran = subprocess.run(
            ["sh"], env=variables, input="".join(lines),
            capture_output=True, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip
        requests = httpx.get(f"{url}/_stub/requests").json()

    assert (ran.returncode, ran.stdout) == (0, DEMO_TEXT)
    assert [request["route"] for request in requests] == [PRIMARY, PRIMARY, SIBLING]
    assert f"switched to {SIBLING}, swap 1 of 2" in ran.stderr
    assert re.findall(r"retrying \S+ in (\d+)", ran.stderr) == ["2"]


@pytest.mark.parametrize(
    ("drill", "names"),
    [
        pytest.param("demo", ["SIDESTEP_PROVIDERS", "SIDESTEP_FALLBACK_CONFIG"], id="a map"),
        pytest.param("routing-rules", ["SIDESTEP_PROVIDERS", "SIDESTEP_ROUTING_RULES"], id="rules"),
    ],
)
def test_the_variables_of_a_drill_are_those_that_its_own_turn_has(
    drill: str, names: list[str]
) -> None:
    with stub("--scenario", drill) as (_, lines):
        script = "".join(lines[:-1]) + "exec env"
        shell = subprocess.run(
            ["sh"], env=environment(), input=script,
            capture_output=True, encoding="utf-8", timeout=60, check=True,
        )  # fmt: skip

    found = {line.partition("=")[0] for line in shell.stdout.splitlines() if "=" in line}
    assert {name for name in found if name.startswith("SIDESTEP_")} == set(names)
    assert shell.stderr == ""


def test_a_drill_s_deadlines_are_among_its_variables() -> None:
    with stub("--scenario", "stalled") as (url, lines):
        script = "".join(lines[:-1]) + 'printf %s "$SIDESTEP_PROVIDERS"'
        shell = subprocess.run(
            ["sh"], env=environment(), input=script,
            capture_output=True, encoding="utf-8", timeout=60, check=True,
        )  # fmt: skip

    providers = json.loads(shell.stdout)
    assert providers["openrouter"]["timeouts"] == {"gap": 15.0}
    assert providers["openrouter"]["baseUrl"].startswith(url)


def test_without_a_drill_the_stub_s_providers_are_led_to_and_nothing_else() -> None:
    server = subprocess.Popen(
        [*SIDESTEP, "stub", "--port", "0"], env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    with server:
        assert server.stdout is not None
        assert server.stderr is not None
        url = server.stdout.readline().removeprefix("listening on ").strip()
        server.stderr.readline()
        line = server.stderr.readline()
        server.terminate()

    assert line == f'export SIDESTEP_PROVIDERS="$(curl -s {url}/_stub/providers)"\n'
    assert server.stderr.closed or server.stderr.read() == ""


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_the_stub_prints_the_keys_that_it_makes_up_and_no_other(
    tmp_path: Path, *, as_json: bool
) -> None:
    scenario = tmp_path / "keys.json"
    keys = {"keys": {"ONE_KEY": {"text": "first"}, "TWO_KEY": {"text": "second"}}}
    scenario.write_text(json.dumps({"answers": {"groq/llama": keys}}))
    server = subprocess.Popen(
        [*SIDESTEP, "stub", "--port", "0", "--scenario", str(scenario), *["--json"] * as_json],
        env=environment(ONE_KEY="planted-0123456789"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    with server:
        assert server.stdout is not None
        assert server.stderr is not None
        listening = server.stdout.readline()
        lines = [] if as_json else [server.stderr.readline() for _ in range(3)]
        url = json.loads(listening)["listening"] if as_json else listening.split()[-1]
        heard = [
            httpx.post(
                f"{url}/groq/v1/chat/completions", json={"model": "llama", "messages": []},
                headers={"authorization": f"Bearer {key}"},
            ).text
            for key in ("planted-0123456789", "stub-TWO_KEY")
        ]  # fmt: skip
        listed = httpx.get(f"{url}/_stub/requests")
        server.terminate()
        rest = server.stdout.read() + server.stderr.read()

    assert ["first" in heard[0], "second" in heard[1]] == [True, True]
    assert [each["api_key_env"] for each in listed.json()] == ["ONE_KEY", "TWO_KEY"]
    assert "planted" not in "".join([listening, *lines, rest, listed.text])
    if as_json:
        assert json.loads(listening)["keys"] == {"TWO_KEY": "stub-TWO_KEY"}
    else:
        assert lines[-1] == "export TWO_KEY=stub-TWO_KEY\n"
