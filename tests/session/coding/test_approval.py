"""Asking a person first: what is shown, and what becomes of each answer."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from sidestep.session.coding.approval import Approve, Request, approve_all, ask_in_terminal
from sidestep.session.coding.diff import MOST_SHOWN, diff_of
from sidestep.session.coding.tools import coding_tools
from sidestep.session.coding.workspace import Workspace


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Terminal:
    """A person at a terminal of their own."""

    def __init__(self) -> None:
        self._end, inner = os.openpty()
        os.set_blocking(self._end, False)
        self.stdin = os.fdopen(inner, encoding="utf-8", closefd=False)
        self.stderr = os.fdopen(inner, "w", encoding="utf-8")
        self.seen = ""

    async def see(self, text: str) -> None:
        """Wait until *text* is shown, and take note of what was shown before."""
        self.seen = ""
        while text not in self.seen:
            await anyio.wait_readable(self._end)
            self.seen += os.read(self._end, 4096).decode()

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def close(self) -> None:
        self.stdin.close()
        self.stderr.close()
        os.close(self._end)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


@asynccontextmanager
async def asked(
    terminal: Terminal, approve: Approve, request: Request
) -> AsyncIterator[list[bool]]:
    """Ask meanwhile; the answer is there at the end."""
    answers: list[bool] = []

    async def ask() -> None:
        answers.append(await approve(request))

    with pytest.MonkeyPatch.context() as patch, anyio.fail_after(60):
        patch.setattr(sys, "stdin", terminal.stdin)
        patch.setattr(sys, "stderr", terminal.stderr)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            yield answers


LIST = Request("shell", "ls")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("typed", "is_allowed"),
    [
        pytest.param("y\n", True, id="y"),
        pytest.param(" YES \n", True, id="yes"),
        pytest.param("a\n", True, id="all"),
        pytest.param("n\n", False, id="n"),
        pytest.param("\n", False, id="nothing"),
        pytest.param("\x04", False, id="the end of the input"),
    ],
)
async def test_a_person_allows_or_not(terminal: Terminal, typed: str, is_allowed: bool) -> None:
    async with asked(terminal, ask_in_terminal(), LIST) as answers:
        await terminal.see("from now on: ")
        terminal.type(typed)

    assert answers == [is_allowed]
    assert "The model asks for shell: ls" in terminal.seen


@pytest.mark.anyio
async def test_another_answer_is_asked_for_again(terminal: Terminal) -> None:
    async with asked(terminal, ask_in_terminal(), LIST) as answers:
        await terminal.see("from now on: ")
        terminal.type("yellow\n")
        await terminal.see("from now on: ")
        assert answers == []
        terminal.type("y\n")

    assert answers == [True]


@pytest.mark.anyio
async def test_what_was_typed_before_the_question_does_not_answer_it(terminal: Terminal) -> None:
    terminal.type("y\n")

    async with asked(terminal, ask_in_terminal(), LIST) as answers:
        await terminal.see("from now on: ")
        await anyio.wait_all_tasks_blocked()
        assert answers == []
        terminal.type("n\n")

    assert answers == [False]


@pytest.mark.anyio
@pytest.mark.parametrize(("typed", "is_allowed"), [("a\n", True), ("y\n", None)])
async def test_all_is_not_asked_again(
    terminal: Terminal, typed: str, is_allowed: bool | None
) -> None:
    approve = ask_in_terminal()
    async with asked(terminal, approve, LIST):
        await terminal.see("from now on: ")
        terminal.type(typed)

    async with asked(terminal, approve, Request("write", "f", "+a")) as answers:
        if is_allowed is None:
            await terminal.see("from now on: ")
            terminal.type("n\n")

    assert answers == [bool(is_allowed)]


@pytest.mark.anyio
async def test_two_questions_come_one_after_the_other(terminal: Terminal) -> None:
    approve = ask_in_terminal()
    async with asked(terminal, approve, LIST), asked(terminal, approve, LIST) as second:
        await terminal.see("from now on: ")
        assert terminal.seen.count("The model asks") == 1
        terminal.type("y\n")
        await terminal.see("from now on: ")
        terminal.type("y\n")

    assert second == [True]


@pytest.mark.anyio
async def test_a_question_can_be_cancelled(terminal: Terminal) -> None:
    with anyio.CancelScope() as scope:
        async with asked(terminal, ask_in_terminal(), LIST) as answers:
            await terminal.see("from now on: ")
            scope.cancel()

    assert answers == []


@pytest.mark.anyio
async def test_what_would_steer_the_terminal_is_shown(terminal: Terminal) -> None:
    """A carriage return would write a harmless command over the real one."""
    request = Request("shell", "rm -rf .\rls\x1b[8m\nmore", "+\x1b[2Ja\u202eb")

    async with asked(terminal, ask_in_terminal(), request):
        await terminal.see("from now on: ")
        terminal.type("n\n")

    assert "shell: rm -rf .\\rls\\x1b[8m\r\n    more\r\n" in terminal.seen
    assert "+\\x1b[2Ja\\u202eb" in terminal.seen


def closed() -> io.TextIOBase:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.anyio
@pytest.mark.parametrize(
    "stdin",
    [
        pytest.param(None, id="none"),
        pytest.param(closed(), id="closed"),
        pytest.param(io.StringIO("y\n"), id="no file"),
    ],
)
async def test_without_a_terminal_nothing_is_allowed(
    stdin: io.TextIOBase | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)

    assert await ask_in_terminal()(LIST) is False
    assert "nobody can be asked" in capsys.readouterr().err


@pytest.mark.anyio
async def test_a_pipe_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"y\n")
    with os.fdopen(reader) as stdin, os.fdopen(writer, "w"):
        monkeypatch.setattr(sys, "stdin", stdin)

        assert await ask_in_terminal()(LIST) is False


NEW = "--- /dev/null\n+++ b/f\n"
BOTH = "--- a/f\n+++ b/f\n"


@pytest.mark.parametrize(
    ("before", "after", "diff"),
    [
        pytest.param(None, b"a\n", f"{NEW}@@ -0,0 +1 @@\n+a", id="a new file"),
        pytest.param(b"a\nb\n", b"a\nc\n", f"{BOTH}@@ -1,2 +1,2 @@\n a\n-b\n+c", id="a line"),
        pytest.param(
            b"a\n", b"a", f"{BOTH}@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file",
            id="the end of the last line",
        ),
        pytest.param(
            b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", b"1\n2\n3\n4\n5\n6\n7\nx\n8\n9\n",
            f"{BOTH}@@ -5,5 +5,6 @@\n 5\n 6\n 7\n+x\n 8\n 9", id="further down",
        ),
        pytest.param(
            b"\0\1", b"a", "(a binary file of 2 bytes is replaced by 1 bytes)", id="binary"
        ),
    ],
)  # fmt: skip
def test_a_change_is_shown_as_a_diff(before: bytes | None, after: bytes, diff: str) -> None:
    assert diff_of("f", before, after) == diff


@pytest.mark.parametrize("count", [1000, 100_000])
def test_a_long_diff_is_cut_and_says_so(count: int) -> None:
    old = "".join(f"{n}\n" for n in range(count)).encode()
    new = "".join(f"{n} x\n" for n in range(count)).encode()

    lines = diff_of("f", old, new).split("\n")

    assert len(lines) == MOST_SHOWN + 1
    assert lines[-1] == f"… {2 * count + 3 - MOST_SHOWN:,} more lines are not shown"


def test_one_line_of_a_large_file_is_shown_where_it_is() -> None:
    old = "".join(f"{n}\n" for n in range(100_000))

    diff = diff_of("f", old.encode(), old.replace("\n50000\n", "\nx\n").encode())

    assert diff.split("\n")[2:] == [
        "@@ -49998,7 +49998,7 @@", " 49997", " 49998", " 49999", "-50000", "+x", " 50001",
        " 50002", " 50003",
    ]  # fmt: skip


def test_a_long_line_of_a_diff_is_cut() -> None:
    assert diff_of("f", None, b"x" * 10_000).split("\n")[3].endswith("more characters)")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "given", "request_shown"),
    [
        pytest.param("shell", {"command": "touch new"}, Request("shell", "touch new"), id="shell"),
        pytest.param(
            "write", {"path": "new", "content": "a\n"},
            Request("write", "new", f"{NEW}@@ -0,0 +1 @@\n+a".replace("b/f", "b/new")), id="write",
        ),
        pytest.param(
            "edit", {"path": "link", "old": "a", "new": "b"},
            Request("edit", "f", f"{BOTH}@@ -1 +1 @@\n-a\n+b"), id="edit by a link",
        ),
    ],
)  # fmt: skip
async def test_what_is_refused_is_not_done(
    tmp_path: Path, tool: str, given: dict[str, str], request_shown: Request
) -> None:
    (tmp_path / "f").write_text("a\n")
    (tmp_path / "link").symlink_to("f")
    asked: list[Request] = []

    async def refuse(request: Request) -> bool:
        asked.append(request)
        return False

    tools = {each.name: each for each in coding_tools(Workspace(tmp_path), refuse)}

    result = await tools[tool].run(given)

    assert asked == [request_shown]
    assert result.is_error
    assert "the user did not allow this" in str(result.output)
    assert sorted(os.listdir(tmp_path)) == ["f", "link"]
    assert (tmp_path / "f").read_text() == "a\n"


@pytest.mark.anyio
async def test_reading_asks_nobody(tmp_path: Path) -> None:
    async def ask(_: Request) -> bool:
        raise AssertionError

    (tmp_path / "f").write_text("a\n")
    tools = {each.name: each for each in coding_tools(Workspace(tmp_path), ask)}

    assert (await tools["read"].run({"path": "f"})).output == "     1\ta"
    assert (await tools["list"].run({})).output == "f"
    assert (await tools["search"].run({"pattern": "a"})).output == "f:1: a"


@pytest.mark.anyio
async def test_what_changes_nothing_asks_nobody(tmp_path: Path) -> None:
    async def ask(_: Request) -> bool:
        raise AssertionError

    (tmp_path / "f").write_text("a\n")
    tools = {each.name: each for each in coding_tools(Workspace(tmp_path), ask)}

    result = await tools["write"].run({"path": "f", "content": "a\n"})

    assert result.output == "'f' holds just that already"


@pytest.mark.anyio
async def test_everything_can_be_allowed_unasked() -> None:
    assert await approve_all(LIST) is True
