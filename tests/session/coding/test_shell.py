"""Running commands: what they print, what they see, and that nothing of them is left."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from sidestep.session.coding.approval import Request, approve_all
from sidestep.session.coding.shell import MOST_BYTES, ShellTool, visible_environ
from sidestep.session.coding.workspace import Workspace

from ...virtual import pass_time, passing_backend

pytestmark = pytest.mark.anyio

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no list of processes elsewhere")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return passing_backend(str(request.param))


@pytest.fixture
def tool(tmp_path: Path) -> ShellTool:
    return ShellTool(tmp_path, approve_all)


class Watch:
    """A pipe that a command holds open as long as anything of it lives."""

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "alive")
        self._end = os.open(folder / "alive", os.O_RDONLY | os.O_NONBLOCK)

    async def said(self) -> bytes:
        """Wait until a command says something, or, empty, until all of it has ended."""
        while True:
            try:
                return os.read(self._end, 100)
            except BlockingIOError:
                await anyio.wait_readable(self._end)

    async def started(self) -> None:
        # Until somebody writes, the pipe looks as if everybody had gone.
        while not await self.said():
            await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    watch = Watch(tmp_path)
    yield watch
    watch.close()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        pytest.param("echo hi", "hi\n[exit code 0]", id="output"),
        pytest.param("printf hi", "hi\n[exit code 0]", id="no end of line"),
        pytest.param("true", "[exit code 0]", id="no output"),
        pytest.param("echo a; echo b >&2; echo c", "a\nb\nc\n[exit code 0]", id="both in order"),
        pytest.param("echo hi; exit 3", "hi\n[exit code 3]", id="exit code"),
        pytest.param("kill -9 $$", "[exit code -9]", id="a signal"),
        pytest.param("cat; echo end", "end\n[exit code 0]", id="no input"),
        pytest.param("test -t 0 || test -t 1 || (: < /dev/tty) 2>/dev/null || echo none",
                     "none\n[exit code 0]", id="no terminal"),
        pytest.param("printf '\\377'", "�\n[exit code 0]", id="no text"),
        pytest.param("echo hi | cat -", "hi\n[exit code 0]", id="a pipe"),
        pytest.param("exec >&- 2>&-; exit 4", "[exit code 4]", id="output closed early"),
    ],
)  # fmt: skip
async def test_a_command_tells_its_output_and_its_exit_code(
    tool: ShellTool, command: str, told: str
) -> None:
    with anyio.fail_after(60):
        assert await tool.shell(command) == told


async def test_a_command_starts_in_the_workspace(tool: ShellTool, tmp_path: Path) -> None:
    assert await tool.shell("pwd -P") == f"{Workspace(tmp_path).root}\n[exit code 0]"


async def stopped(tool: ShellTool, watch: Watch, command: str) -> str:
    """Return what the tool reports of *command*, which runs until its time is up.

    A long output comes first. Because no pipe holds all of it, the tool has begun to read, and to
    measure the time, when the command writes to `alive`.
    """
    told: list[str] = []
    begin = f"echo first; yes | head -c {10 * MOST_BYTES}; exec 3>alive; echo on >&3"

    async def run() -> None:
        told.append(await tool.shell(f"{begin}; {command}", timeout=500))

    with anyio.fail_after(560):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await watch.started()
            pass_time(500)
    return told[0]


async def test_an_endless_output_is_bounded_and_stopped(tool: ShellTool, watch: Watch) -> None:
    told = await stopped(tool, watch, "yes")

    assert told.startswith("first\ny\n")
    assert told.endswith("y\n[stopped after 500 s]")
    assert "bytes left out" in told
    assert len(told) < MOST_BYTES + 200


async def test_of_a_long_output_the_start_and_the_end_are_kept(tool: ShellTool) -> None:
    with anyio.fail_after(60):
        told = await tool.shell("seq 1 20000")

    assert told.startswith("1\n2\n")
    assert told.endswith("\n20000\n[exit code 0]")
    assert f"[{108_894 - MOST_BYTES:,} bytes left out]" in told


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("exec 3>alive; sleep 1000 & exit 0", id="left in the background"),
        pytest.param("exec 3>alive; (trap '' TERM HUP INT; sleep 1000) & exit", id="stubborn"),
        pytest.param("exec 3>alive; nohup sleep 1000 >/dev/null 2>&1 & sleep 0", id="nohup"),
        pytest.param("exec 3>alive; yes & exit 0", id="writing in the background"),
        pytest.param(
            "mkfifo up; exec 3>alive; timeout 1000 sh -c 'echo >up; sleep 1000' & read -r _ <up",
            id="a group of its own",
            marks=ON_LINUX,
        ),
        pytest.param(
            "mkfifo up; exec 3>alive; set -m; (echo >up; sleep 1000) & read -r _ <up",
            id="a job",
            marks=ON_LINUX,
        ),
    ],
)
async def test_nothing_of_a_command_goes_on(tool: ShellTool, watch: Watch, command: str) -> None:
    with anyio.fail_after(60):
        await tool.shell(command)

        assert await watch.said() == b""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("sleep 1000", id="a process"),
        pytest.param("(sleep 1000 | sleep 1000) & sleep 1000", id="a tree"),
    ],
)
async def test_nothing_of_a_command_goes_on_that_is_too_slow(
    tool: ShellTool, watch: Watch, command: str
) -> None:
    await stopped(tool, watch, command)

    with anyio.fail_after(60):
        assert await watch.said() == b""


async def test_a_cancelled_command_is_stopped_with_all_it_started(
    tool: ShellTool, watch: Watch
) -> None:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tool.shell, "exec 3>alive; echo on >&3; sleep 1000 & sleep 1000")
            await watch.started()
            tasks.cancel_scope.cancel()

        assert await watch.said() == b""


async def test_a_daemon_that_got_away_is_not_waited_for(tool: ShellTool, watch: Watch) -> None:
    """It leaves its group, and holds the output open."""
    daemon = "echo >up; read -t 60 x <>go"
    with anyio.fail_after(60):
        told = await tool.shell(
            f"mkfifo up go; exec 3>alive; setsid bash -c '{daemon}' & read x <up; echo a"
        )
        assert told == "a\n[exit code 0]"

        await tool.shell("echo >go")
        assert await watch.said() == b""


@pytest.mark.parametrize(
    ("command", "seconds", "why"),
    [
        pytest.param("echo", 0, "`timeout` must be above 0", id="no time"),
        pytest.param("echo", -1, "`timeout` must be above 0", id="negative"),
        pytest.param("echo", 601, "at most 600 seconds", id="too long"),
        pytest.param("echo", float("nan"), "`timeout` must be", id="no number"),
        pytest.param("echo \0", 1, "NUL", id="a NUL"),
    ],
)
async def test_what_cannot_be_run_is_told_unasked(
    tmp_path: Path, command: str, seconds: float, why: str
) -> None:
    async def ask(_: Request) -> bool:
        raise AssertionError

    with pytest.raises(ValueError, match=why):
        await ShellTool(tmp_path, ask).shell(command, timeout=seconds)


async def test_a_folder_that_has_gone_leaves_no_file_open(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    tool = ShellTool(tmp_path / "gone", approve_all)
    (tmp_path / "gone").rmdir()

    with pytest.raises(FileNotFoundError):
        await tool.shell("echo")


@pytest.mark.parametrize(
    ("name", "is_seen"),
    [
        pytest.param("PATH", True, id="path"),
        pytest.param("SSH_AUTH_SOCK", True, id="a socket"),
        pytest.param("OPENROUTER_API_KEY", False, id="an API key"),
        pytest.param("PGPASSWORD", False, id="the end of a word"),
        pytest.param("SIDESTEP_PROVIDERS", False, id="ours"),
        pytest.param("sidestep_providers", False, id="ours in small letters"),
        pytest.param("MINE", False, id="hidden by name"),
    ],
)
def test_a_command_sees_no_keys(name: str, is_seen: bool) -> None:
    assert (name in visible_environ({name: "x"}, hidden={"MINE"})) is is_seen


async def test_a_command_is_run_without_them(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "A_TOKEN": "secret", "PLAIN": "seen"}
    tool = ShellTool(tmp_path, approve_all, environ=environ)

    assert await tool.shell('echo "$A_TOKEN$PLAIN"') == "seen\n[exit code 0]"
