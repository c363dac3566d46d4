"""`sidestep run --session` after a kill: no half an answer, no result lost, no tool run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from sidestep import Message, SqliteStore, Text, ToolCall

from ...command import environment, scenario, stub
from .test_main import MAP, PRIMARY, SIBLING

STRIDES = {True: 5, False: 17}
"""How many statements and events lie between two kills, in a whole run and in a quick one."""


def call(name: str) -> dict[str, Any]:
    return {"name": "shell", "input": {"command": f"echo {name} >> log"}}


ANSWERS: dict[str, Any] = {
    SIBLING: [
        {"reasoning": "Hm.", "text": "Look.", "tool_calls": [call("one"), call("two")]},
        {"text": "Half an answer", "tool_calls": [call("never")], "after": 3, "error": 529},
        {"text": "Done.", "tool_calls": [call("three")]},
        {"text": "All done."},
    ],
    PRIMARY: [{"text": "On.", "tool_calls": [call("four")]}, {"text": "All done."}],
}
CONFIG = {**MAP, "fallbackModelsByModel": {SIBLING: PRIMARY, PRIMARY: SIBLING}}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of one process")
def test_a_killed_command_goes_on_with_all_that_was_kept(tmp_path: Path, *, whole: bool) -> None:
    stride = STRIDES[whole]
    with stub(scenario(tmp_path, ANSWERS), strict=True) as url:
        runs = tmp_path / "runs"
        runs.mkdir()
        subprocess.run(
            [sys.executable, Path(__file__).with_name("killed_process.py"), runs, url, str(stride)],
            env=environment(SIDESTEP_FALLBACK_CONFIG=CONFIG), timeout=300, check=True,
        )  # fmt: skip

    points = sorted(runs.iterdir())
    assert len(points) > 60 // stride
    assert {point.name: wrong for point in points if (wrong := _wrong(point))} == {}


def _wrong(point: Path) -> list[str]:
    """Say what is not as it should be after one kill, and the turn that went on."""
    messages = anyio.run(_load, point / "session.db")
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCall)]
    log = point / "log"
    ran = Counter(log.read_text().split() if log.exists() else [])
    called = Counter(_name(call) for call in calls)
    completed = Counter(_name(call) for call in calls if call.state == "completed")
    texts = [part.text for m in messages for part in m.parts if isinstance(part, Text)]
    refused = [r for r in json.loads((point / "requests").read_text()) if r["answered"] == "400"]
    status, errors = (point / "status").read_text(), (point / "errors").read_text()
    checks = {
        f"exit status {status}: {errors}": status == "0",
        f"traceback: {errors}": "Traceback" not in errors,
        f"open calls: {calls}": all(c.state in ("completed", "interrupted") for c in calls),
        f"ran {ran}, called {called}": ran <= called,
        f"ran {ran}, completed {completed}": completed <= ran,
        f"half an answer: {texts}": not any("Half" in text for text in texts),
        f"no last word: {texts}": texts[-1] == "All done.",
        f"refused: {refused}": not refused,
        "nobody answered": all(m.route for m in messages if m.role == "assistant"),
    }
    return [what for what, is_right in checks.items() if not is_right]


async def _load(path: Path) -> list[Message]:
    async with SqliteStore(path) as store:
        return [*(await store.load()).values()]


def _name(call: ToolCall) -> str:
    return str(call.input["command"]).split()[1]
