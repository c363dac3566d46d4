"""Nothing of a command or a search is left, whatever ends it, and each process is reaped once."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest

from sidestep.session.coding.search import SearchTools
from sidestep.session.coding.workspace import Workspace

from ...command import environment, scenario, stub
from .test_shell import Watch

ROUTE = "anthropic/claude-sonnet-5"
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no list of processes elsewhere")
SPEAK = "echo on >&3; sleep 1000"
SHELL = """
import sys, anyio
from pathlib import Path
from sidestep.session.coding.approval import approve_all
from sidestep.session.coding.shell import ShellTool
anyio.run(ShellTool(Path.cwd(), approve_all).shell, sys.argv[1])
"""
SEARCH = """
import anyio
from pathlib import Path
from sidestep.session.coding.search import SearchTools
from sidestep.session.coding.workspace import Workspace
start = anyio.open_process
async def told(*arguments, **options):
    process = await start(*arguments, **options)
    print(process.pid, flush=True)
    return process
anyio.open_process = told
Path("a.txt").write_text("a" * 60 + "b")
anyio.run(SearchTools(Workspace(Path.cwd()), deadline=1000).search, "(a+)+$")
"""
REAPED = """
import os, sys, anyio
from pathlib import Path
from sidestep.session.coding.approval import approve_all
from sidestep.session.coding.search import SearchTools
from sidestep.session.coding.shell import ShellTool
from sidestep.session.coding.workspace import Workspace
shell = ShellTool(Path.cwd(), approve_all).shell
search = SearchTools(Workspace(Path.cwd()), deadline=0.2).search
Path("a.txt").write_text("a" * 60 + "b")
os.mkfifo("up")
async def cancelled(work, *arguments):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work, *arguments)
        with open(os.open("up", os.O_RDONLY | os.O_NONBLOCK)) as up:
            await anyio.wait_readable(up)
            tasks.cancel_scope.cancel()
async def main():
    await eval(sys.argv[2], globals())
    try:
        print("left", os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("nothing is left")
anyio.run(main, backend=sys.argv[1])
"""


async def killed(watch: Watch, process: subprocess.Popen[bytes], number: int) -> int:
    """Send a signal to *process* once its command runs; return its status when both ended."""
    try:
        with anyio.fail_after(60):
            await watch.started()
            process.send_signal(number)
            assert await watch.said() == b""
        return process.wait(60)
    finally:
        process.kill()


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("echo on >&3; sleep 1000", id="a process"),
        pytest.param("echo on >&3; (sleep 1000 | sleep 1000) & sleep 1000", id="a tree"),
        pytest.param(
            "echo on >&3; trap '' TERM HUP INT; while :; do sleep 1000; done", id="stubborn"
        ),
        pytest.param("echo on >&3; nohup sleep 1000 >&2 2>/dev/null & wait", id="nohup"),
        pytest.param(
            f"timeout 1000 sh -c '{SPEAK}'; true", id="a group of its own", marks=ON_LINUX
        ),
        pytest.param(f"set -m; ({SPEAK}) & disown; sleep 1000", id="a job", marks=ON_LINUX),
    ],
)
def test_nothing_of_a_command_goes_on_when_our_process_is_killed(
    tmp_path: Path, command: str
) -> None:
    watch = Watch(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", SHELL, f"exec 3>alive; {command}"], cwd=tmp_path
    ) as process:
        status = anyio.run(killed, watch, process, signal.SIGKILL)
    watch.close()

    assert status == -signal.SIGKILL


@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(signal.SIGINT, 130, id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, id="asked to end"),
        pytest.param(signal.SIGHUP, 129, id="its terminal has gone"),
        pytest.param(signal.SIGQUIT, -signal.SIGQUIT, id="ended by an unhandled signal"),
        pytest.param(signal.SIGKILL, -signal.SIGKILL, id="killed"),
    ],
)
def test_nothing_of_a_command_goes_on_when_sidestep_run_ends(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    watch = Watch(tmp_path)
    call = {"name": "shell", "input": {"command": f"exec 3>alive; sleep 1000 & {SPEAK}"}}
    with stub(scenario(tmp_path, {ROUTE: {"tool_calls": [call]}})) as url:
        argv = ["run", "hi", "--model", ROUTE, "--workspace", str(tmp_path), "--yes"]
        with subprocess.Popen(
            [sys.executable, "-m", "sidestep", *argv],
            env=environment(SIDESTEP_PROVIDERS=httpx.get(f"{url}/_stub/providers").text),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert anyio.run(killed, watch, process, number) == status
    watch.close()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process it did not start")
def test_no_search_goes_on_when_our_process_is_killed(tmp_path: Path) -> None:
    async def wait_for_end(pidfd: int) -> None:
        with anyio.fail_after(60):
            await anyio.wait_readable(pidfd)

    with subprocess.Popen(
        [sys.executable, "-c", SEARCH], cwd=tmp_path, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        pidfd = os.pidfd_open(int(process.stdout.readline()))
        process.kill()
        anyio.run(wait_for_end, pidfd)
        os.close(pidfd)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    "work",
    [
        pytest.param("shell('true')", id="a command"),
        pytest.param("shell('kill -9 $$')", id="a command that was killed"),
        pytest.param("shell('sleep 1000', 0.01)", id="a command that took too long"),
        pytest.param("cancelled(shell, 'echo on >up; sleep 1000')", id="a cancelled command"),
        pytest.param("search('a+')", id="a search"),
        pytest.param("search('(a+)+$')", id="a search that took too long"),
    ],
)
def test_every_process_is_reaped(tmp_path: Path, backend: str, work: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", REAPED, backend, work],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (ran.stdout, ran.stderr) == ("nothing is left\n", "")


def test_asyncio_reports_no_unknown_child(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It does when something else has reaped the process; of one search in twenty, without care."""
    (tmp_path / "a.txt").write_text("a")
    search = SearchTools(Workspace(tmp_path)).search

    async def searches() -> None:
        for _ in range(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(search, "a")
                tasks.start_soon(search, "b")

    with caplog.at_level(logging.WARNING):
        anyio.run(searches)

    assert caplog.messages == []
