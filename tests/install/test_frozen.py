"""A frozen agent swaps like any other: PyInstaller packs it and its imports into one file."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from ..command import scenario, stub
from ..test_agent import AGENT, ANTHROPIC, OPENROUTER, Sandbox, config
from .environment import Copies, run

OPENAI = "openai/gpt-5"
GEMINI = "gemini/gemini-3-pro"


@pytest.fixture(scope="module")
def build(copies: Copies) -> Path:
    return copies.folder / "frozen"


@pytest.fixture(scope="module")
def tinycode(copies: Copies, build: Path) -> Path:
    """An agent with its own calls, frozen without an option."""
    return freeze(copies, build, AGENT)


@pytest.fixture(scope="module")
def agent(copies: Copies, build: Path) -> Path:
    """An agent with a `Session` too, and the data of the drills."""
    source = Path(__file__).with_name("agent.py")
    return freeze(copies, build, source, "--collect-data", "sidestep")


def test_a_frozen_agent_with_its_own_calls_swaps(tinycode: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, (str(tinycode),))
    sandbox.configure()

    ran = sandbox.run({OPENROUTER: [{"status": 503}], ANTHROPIC: [{"text": "Done."}]})

    assert (ran.status, ran.stdout) == (0, "Done.\n")
    assert ran.stderr[-1] == f"answered by {ANTHROPIC} after 2 attempts"


def test_a_frozen_session_swaps_across_every_wire(agent: Path, tmp_path: Path) -> None:
    failed = [{"status": 503}]
    answers = {
        OPENROUTER: failed,
        # To two calls of the agent's own; the third is of the session.
        ANTHROPIC: [{"text": "Own."}, {"text": "Own."}, *failed],
        OPENAI: failed,
        GEMINI: [{"text": "At last."}, {"text": "Again."}],
    }
    with stub(scenario(tmp_path, answers)) as url:
        providers = httpx.get(f"{url}/_stub/providers").text
        chain = config(
            fallbackModelsByModel={OPENROUTER: [ANTHROPIC, OPENAI, GEMINI]}, maxFallbackAttempts=3
        )
        environ = {"SIDESTEP_PROVIDERS": providers, "SIDESTEP_FALLBACK_CONFIG": chain}
        printed = run(agent, cwd=tmp_path, environ=environ)

    assert "At last. after 5 attempts" in printed
    assert f"answered by {ANTHROPIC} and {GEMINI}" in printed


def test_a_frozen_command_plays_the_drill(agent: Path, tmp_path: Path) -> None:
    assert "passed" in run(agent, "drill", cwd=tmp_path)


def test_a_frozen_command_without_its_data_says_how_to_add_it(agent: Path, tmp_path: Path) -> None:
    drills = agent.parent / "_internal" / "sidestep" / "fixtures" / "drills"
    away = drills.rename(tmp_path / "drills")

    try:
        printed = run(agent, "drill", cwd=tmp_path, status=1)
    finally:
        away.rename(drills)

    assert "--collect-data sidestep" in printed
    assert "output" not in printed


def freeze(copies: Copies, build: Path, source: Path, *options: str) -> Path:
    """Build an application of one folder, and return its program."""
    places = ("--distpath", build, "--workpath", build / "work", "--specpath", build)
    copies.environment("wheel").run(
        "pyinstaller", "--log-level", "WARN", "--name", source.stem, *options, *places, source
    )
    return build / source.stem / source.stem
