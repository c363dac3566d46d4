"""Reading, writing and editing files, and finding them, as a model does it."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from sidestep.provider.conversation import Image
from sidestep.session.coding.approval import Request, approve_all
from sidestep.session.coding.files import MOST_BYTES, FileTools
from sidestep.session.coding.search import MOST_HITS, MOST_LISTED, SearchTools
from sidestep.session.coding.tools import coding_tools
from sidestep.session.coding.workspace import Workspace

from ...other_words import NAME_TOO_LONG, NOT_A_DIRECTORY

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("outside")
    (root / "leak").symlink_to(tmp_path / "secret")
    return root


@pytest.fixture
def files(root: Path) -> FileTools:
    return FileTools(Workspace(root), approve_all)


@pytest.fixture
def find(root: Path) -> SearchTools:
    return SearchTools(Workspace(root))


@pytest.mark.parametrize(
    ("content", "given", "shown"),
    [
        pytest.param(b"a\nb\n", {}, "     1\ta\n     2\tb", id="two lines"),
        pytest.param(b"a\nb", {}, "     1\ta\n     2\tb", id="no end of line at the end"),
        pytest.param(b"a\r\nb\r\n", {}, "     1\ta\n     2\tb", id="CRLF"),
        pytest.param(b"a\x0cb\n", {}, "     1\ta\x0cb", id="a form feed ends no line"),
        pytest.param(b"", {}, "[the file is empty]", id="empty"),
        pytest.param(b"a\nb\nc\n", {"offset": 3}, "     3\tc", id="from a line on"),
        pytest.param(
            b"a\nb\nc\n", {"limit": 2},
            "     1\ta\n     2\tb\n[more lines follow: read on with offset=3]", id="some lines",
        ),
        pytest.param(b"a\n", {"limit": 1}, "     1\ta", id="exactly as many lines"),
        pytest.param(b"\xe4\n", {}, "     1\t�", id="Latin-1"),
        pytest.param(
            b"x" * 9000 + b"\nb\n", {},
            "     1\t" + "x" * 2000 + "… [the rest of this line is left out]\n     2\tb",
            id="a long line",
        ),
    ],
)  # fmt: skip
async def test_a_file_is_read_with_line_numbers(
    root: Path, files: FileTools, content: bytes, given: dict[str, int], shown: str
) -> None:
    (root / "f").write_bytes(content)

    assert await files.read("f", **given) == shown


async def test_a_long_file_is_read_in_pieces_that_join(root: Path, files: FileTools) -> None:
    (root / "f").write_text("\n".join(str(n) * 100 for n in range(1000)))
    offset, numbers = 1, []

    while offset:
        *lines, last = str(await files.read("f", offset=offset)).split("\n")
        offset = int(last.partition("offset=")[2].rstrip("]") or 0)
        shown = lines if offset else [*lines, last]
        numbers += [int(line.partition("\t")[0]) for line in shown]

    assert numbers == list(range(1, 1001))


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        pytest.param(PNG, "image/png", id="png"),
        pytest.param(b"\xff\xd8\xff\xe0\0", "image/jpeg", id="jpg"),
        pytest.param(b"GIF89a\0", "image/gif", id="gif"),
        pytest.param(b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", id="webp"),
    ],
)
async def test_a_picture_is_looked_at_whatever_it_is_called(
    root: Path, files: FileTools, content: bytes, media_type: str
) -> None:
    (root / "f.txt").write_bytes(content)

    seen = await files.read("f.txt")

    assert seen == [Image(media_type, base64.b64encode(content).decode())]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param("binary", "binary", id="binary"),
        pytest.param("fake.png", "binary", id="a picture in name only"),
        pytest.param("big.png", "more than 5 MB", id="a picture too large"),
        pytest.param("nothing", "not there", id="not there"),
        pytest.param(".", "is a folder", id="the root"),
        pytest.param("pipe", "no regular file", id="a pipe"),
        pytest.param("leak", "leads out", id="a link out"),
        pytest.param("../secret", "leads out", id="up"),
        pytest.param("short", "has 1 lines", id="past the end"),
    ],
)
async def test_what_cannot_be_read_is_told(
    root: Path, files: FileTools, path: str, why: str
) -> None:
    (root / "binary").write_bytes(b"a\0b")
    (root / "fake.png").write_bytes(b"\0\1\2")
    (root / "big.png").write_bytes(PNG + bytes(MOST_BYTES))
    (root / "short").write_text("a\n")
    os.mkfifo(root / "pipe")

    with anyio.fail_after(60), pytest.raises(ValueError, match=why):
        await files.read(path, offset=2)


@pytest.mark.parametrize("given", [{"offset": 0}, {"limit": 0}, {"offset": -1}])
async def test_lines_are_counted_from_one(
    root: Path, files: FileTools, given: dict[str, int]
) -> None:
    (root / "f").write_text("a")

    with pytest.raises(ValueError, match="count from 1"):
        await files.read("f", **given)


async def test_a_file_is_written_with_its_folders(root: Path, files: FileTools) -> None:
    assert await files.write("a/b/c.txt", "one\ntwo\n") == "wrote 'a/b/c.txt', lines: 2"
    assert (root / "a" / "b" / "c.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("path", "content", "why"),
    [
        pytest.param("leak", "x", "leads out", id="a link out"),
        pytest.param("../new", "x", "leads out", id="up"),
        pytest.param("folder", "x", "is a folder", id="a folder"),
        pytest.param("file/new", "x", NOT_A_DIRECTORY, id="below a file"),
        pytest.param("n" * 300, "x", NAME_TOO_LONG, id="a name too long"),
        pytest.param("f", "\ud800", "lone surrogate", id="half a character"),
    ],
)
async def test_what_cannot_be_written_is_told(
    root: Path, files: FileTools, path: str, content: str, why: str
) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("")

    with pytest.raises(ValueError, match=why):
        await files.write(path, content)

    assert sorted(each.name for each in root.parent.iterdir()) == ["root", "secret"]
    assert (root.parent / "secret").read_text() == "outside"


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        pytest.param("a b c", ("b", "x"), "a x c", id="once"),
        pytest.param("a b c", ("b ", ""), "a c", id="taken out"),
        pytest.param("a a", ("a", "b", True), "b b", id="everywhere"),
        pytest.param("a.b", (".", r"\1"), r"a\1b", id="no pattern"),
        pytest.param("a\r\nb\r\n", ("a\nb", "c\nd"), "c\r\nd\r\n", id="CRLF stays"),
        pytest.param("\ufeffa", ("a", "b"), "\ufeffb", id="a byte order mark stays"),
        pytest.param("a  \nb", ("a  \n", "a\n"), "a\nb", id="blanks at the end"),
    ],
)
async def test_a_text_is_replaced(
    root: Path, files: FileTools, before: str, given: Any, after: str
) -> None:
    (root / "f").write_bytes(before.encode())

    await files.edit("f", *given)

    assert (root / "f").read_bytes() == after.encode()


@pytest.mark.parametrize(
    ("path", "old", "new", "why"),
    [
        pytest.param("f", "z", "x", "does not occur in 'f'", id="not found"),
        pytest.param("f", "a", "x", "occurs 3 times in 'f'", id="not unique"),
        pytest.param("f", "b", "b", "nothing would change", id="the same"),
        pytest.param("f", "", "x", "`old` is empty", id="empty"),
        pytest.param("nothing", "a", "x", "is not there: make it with write", id="no file"),
        pytest.param("latin", "a", "x", "is not UTF-8", id="Latin-1"),
        pytest.param(".", "a", "x", "is a folder", id="a folder"),
        pytest.param("leak", "out", "in", "leads out", id="a link out"),
    ],
)
async def test_what_cannot_be_edited_is_told(
    root: Path, files: FileTools, path: str, old: str, new: str, why: str
) -> None:
    (root / "f").write_text("a b a a")
    (root / "latin").write_bytes(b"a\xe4")

    with pytest.raises(ValueError, match=why):
        await files.edit(path, old, new)

    assert (root / "f").read_text() == "a b a a"
    assert (root.parent / "secret").read_text() == "outside"


def change(path: Path) -> None:
    path.write_text("somebody else's")


def link_out(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parents[1] / "secret")


@pytest.mark.parametrize(
    ("meddle", "why"),
    [
        pytest.param(change, "changed meanwhile", id="changed"),
        pytest.param(Path.unlink, "changed meanwhile", id="deleted"),
        pytest.param(link_out, "no regular file", id="made a link out"),
    ],
)
@pytest.mark.parametrize("tool", ["write", "edit"])
async def test_only_the_change_that_was_allowed_is_made(
    root: Path, tool: str, meddle: Callable[[Path], None], why: str
) -> None:
    (root / "f").write_text("a")

    async def meddle_then_allow(_: Request) -> bool:
        meddle(root / "f")
        return True

    files = FileTools(Workspace(root), meddle_then_allow)
    done: Awaitable[str] = (
        files.write("f", "b") if tool == "write" else files.edit("f", "a", "b")
    )  # fmt: skip

    with pytest.raises(ValueError, match=why):
        await done

    assert (root.parent / "secret").read_text() == "outside"


async def test_a_folder_is_listed_without_what_tools_keep(root: Path, find: SearchTools) -> None:
    for path in ("src/a/deep/x", "src/b.py", ".git/config", "node_modules/m/x", ".hidden"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    (root / "new\nline").write_text("")
    os.mkfifo(root / "pipe")

    assert (await find.list_files()).split("\n") == [
        ".git/ [not opened]", ".hidden", "leak [link]", r"new\nline",
        "node_modules/ [not opened]", "pipe [no regular file]", "src/", "  a/", "  b.py",
    ]  # fmt: skip
    assert await find.list_files("node_modules", depth=1) == "m/"
    assert await find.list_files("src/a/deep/../..", depth=3) == "a/\n  deep/\n    x\nb.py"


async def test_a_long_list_ends(root: Path, find: SearchTools) -> None:
    for number in range(MOST_LISTED + 1):
        (root / f"{number}").write_text("")

    lines = (await find.list_files()).split("\n")

    assert len(lines) == MOST_LISTED + 1
    assert lines[-1].startswith("[more follows")


@pytest.mark.parametrize(
    ("path", "depth", "why"),
    [
        pytest.param("..", 1, "leads out", id="up"),
        pytest.param("nothing", 1, "not there", id="not there"),
        pytest.param("leak", 1, "leads out", id="a link out"),
        pytest.param(".", 0, "`depth`", id="no depth"),
        pytest.param(".", 11, "`depth`", id="too deep"),
    ],
)
async def test_what_cannot_be_listed_is_told(
    find: SearchTools, path: str, depth: int, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        await find.list_files(path, depth)


@pytest.mark.parametrize(
    ("given", "hits"),
    [
        pytest.param({"pattern": "beta"}, ["src/b.py:2: beta = 1", "top.txt:1: beta"], id="all"),
        pytest.param({"pattern": "^be"}, ["src/b.py:2: beta = 1", "top.txt:1: beta"], id="start"),
        pytest.param({"pattern": "a$"}, ["src/b.py:1: alpha", "top.txt:1: beta"], id="end"),
        pytest.param({"pattern": "beta", "path": "src"}, ["src/b.py:2: beta = 1"], id="a folder"),
        pytest.param({"pattern": "beta", "path": "top.txt"}, ["top.txt:1: beta"], id="a file"),
        pytest.param({"pattern": "beta", "glob": "*.py"}, ["src/b.py:2: beta = 1"], id="by name"),
        pytest.param(
            {"pattern": "beta", "glob": "{src,lib}/**/*.{py,ts}"}, ["src/b.py:2: beta = 1"],
            id="by path",
        ),
        pytest.param(
            {"pattern": "beta", "glob": "**/src/**/b.py"}, ["src/b.py:2: beta = 1"],
            id="by path, with folders in two places",
        ),
        pytest.param(
            {"pattern": "beta", "glob": "**/**/{x,src/**/{b,c}}.py"}, ["src/b.py:2: beta = 1"],
            id="by path, with folders in braces",
        ),
        pytest.param(
            {"pattern": "beta", "glob": "**/src/*/**/b.py"}, ["[no line matches]"],
            id="by path, with a folder too many",
        ),
        pytest.param(
            {"pattern": "beta", "glob": f"{{{'x' * 930},{'*' * 45}b.[p-p]?}}"},
            ["src/b.py:2: beta = 1"], id="a glob that is long",
        ),
        pytest.param({"pattern": "outside"}, ["[no line matches]"], id="links are not followed"),
        pytest.param({"pattern": "ignored"}, ["[no line matches]"], id="what tools keep"),
        pytest.param({"pattern": "ignored", "path": ".git"}, [".git/c:1: ignored"], id="asked for"),
        pytest.param({"pattern": "bin"}, ["[no line matches]"], id="binary files"),
        pytest.param({"pattern": "\udcff"}, ["[no line matches]"], id="half a character"),
    ],
)  # fmt: skip
async def test_lines_are_found(
    root: Path, find: SearchTools, given: dict[str, str], hits: list[str]
) -> None:
    (root / "src").mkdir()
    (root / ".git").mkdir()
    (root / "top.txt").write_text("beta")
    (root / "src" / "b.py").write_bytes(b"alpha\r\nbeta = 1\r\n")
    (root / "image").write_bytes(b"bin\0")
    (root / ".git" / "c").write_text("ignored\n")
    os.mkfifo(root / "pipe")

    with anyio.fail_after(60):
        assert sorted((await find.search(**given)).split("\n")) == hits


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"pattern": "("}, "no regular expression: missing \\)", id="unclosed"),
        pytest.param({"pattern": "a{99999999999}"}, "no regular expression", id="too large"),
        pytest.param({"pattern": "(" * 5000}, "no regular expression", id="too deep"),
        pytest.param({"pattern": "a", "path": ".."}, "leads out", id="up"),
        pytest.param({"pattern": "a", "path": "leak"}, "leads out", id="a link out"),
        pytest.param({"pattern": "a", "path": "nothing"}, "not there", id="not there"),
        pytest.param({"pattern": "a", "glob": "{a,b}" * 20}, "stands for more", id="a glob bomb"),
        pytest.param({"pattern": "a", "glob": "**/a/" * 8}, "stands for more", id="many folders"),
        pytest.param({"pattern": "a", "glob": "[" * 20_000}, "got 20,000", id="a long glob"),
        pytest.param({"pattern": "a", "glob": "{" * 1001}, "most 1,000 characters", id="too long"),
        pytest.param({"pattern": "a", "glob": "[" * 51}, "most 50 of", id="many brackets"),
        pytest.param({"pattern": "a", "glob": "*a" * 51}, "got 51", id="many stars"),
        pytest.param({"pattern": "a", "glob": "{*,?}" * 26}, "got 52", id="stars in braces"),
    ],
)
async def test_what_cannot_be_searched_is_told(
    find: SearchTools, given: dict[str, str], why: str
) -> None:
    with anyio.fail_after(60), pytest.raises(ValueError, match=why):
        await find.search(**given)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*)*x"])
async def test_a_pattern_that_runs_away_is_stopped(root: Path, pattern: str) -> None:
    """`re` lets no other thread run while it matches; here the loop goes on."""
    (root / "f").write_text("a" * 60 + "b")
    find = SearchTools(Workspace(root), deadline=0.05)

    with anyio.fail_after(60):
        told = await find.search(pattern)

    assert told.startswith("[stopped after 0.05 s, before the end: simplify the pattern")


async def test_many_hits_end(root: Path, find: SearchTools) -> None:
    (root / "f").write_text("a\n" * 100_000)
    (root / "g").write_text("a\n" * 100_000)

    with anyio.fail_after(60):
        lines = (await find.search("a")).split("\n")

    assert len(lines) == MOST_HITS + 1
    assert lines[-1].startswith(f"[stopped after {MOST_HITS} lines")


async def test_a_frozen_application_is_not_started_again_to_search(
    root: Path, find: SearchTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What freezes an application makes it `sys.executable`."""
    (root / "a.txt").write_text("a")
    started = root / "started"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", program(root, f"touch {started}"))

    with pytest.raises(ValueError, match="frozen application"):
        await find.search("a")

    assert not started.exists()


def program(folder: Path, command: str) -> str:
    """Write a program that runs *command* of the shell, and return its path."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return str(path)


async def test_a_long_line_is_searched_at_its_start_only(root: Path, find: SearchTools) -> None:
    (root / "f").write_text("b" + "x" * 1000 + "near" + "x" * 2000 + "far")

    near, far = await find.search("near"), await find.search("far")

    assert near.startswith("f:1: …xxx")
    assert "near" in near
    assert len(near.split("\n")[0]) < 250
    assert far == "[no line matches]\n[lines searched only up to character 2000: 1]"


async def test_files_that_are_not_searched_are_counted(root: Path, find: SearchTools) -> None:
    (root / "big").write_text("a" * 2_000_001)

    told = await find.search("a")

    assert told == "[no line matches]\n[too large or unreadable, and not searched: 1]"


async def test_a_tool_tells_the_model_what_went_wrong(root: Path) -> None:
    tools = {tool.name: tool for tool in coding_tools(Workspace(root), approve_all)}

    results = [
        await tools["read"].run({"path": "../secret"}),
        await tools["edit"].run({"path": "nothing", "old": "a", "new": "b"}),
        await tools["write"].run({"path": "f", "content": "x"}),
        await tools["list"].run({}),
    ]

    assert [result.is_error for result in results] == [True, True, False, False]
    assert "leads out of the workspace" in str(results[0].output)
    assert results[3].output == "f\nleak [link]"
    assert [tool.name for tool in tools.values() if tool.is_parallel] == ["read", "list", "search"]
