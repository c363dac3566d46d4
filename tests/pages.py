"""What the READMEs show, how it is run, and how what it prints is compared with the page."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("session", "provider", "tests", "fixtures")
PAGES = [
    ROOT / "README.md",
    *(page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("README.md"))),
]
KEYS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "HOUSE_KEY", "OPENROUTER_API_KEY", "ZAI_API_KEY")

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Args:
        section: How many headings stand before it.
        prints: What the page says that it prints, in a `text` block right after it; None: nothing
            is said.
    """

    page: Path
    line: int
    section: int
    language: str
    text: str
    prints: str | None = None

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of *page* in order."""
    content = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(content))
    for fence, following in zip_longest(found, found[1:]):
        before = content[: fence.start()]
        prints = None
        if following and following[1] == "text":
            is_next = not content[fence.end() : following.start()].strip()
            prints = following[2] if is_next else None
        section = len(re.findall(r"^#+ ", _FENCE.sub("", before), re.MULTILINE))
        yield Block(page, before.count("\n") + 1, section, fence[1], fence[2], prints)


def groups(commands: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield each block alone, and those that follow a stub in its section together with it."""
    group: list[Block] = []
    for block in commands:
        is_under_stub = (
            group
            and group[0].text.startswith("sidestep stub")
            and (block.page, block.section) == (group[0].page, group[0].section)
        )
        if not is_under_stub and group:
            yield group
        group = [*group, block] if is_under_stub else [block]
    if group:
        yield group


def without_installing(command: str) -> str:
    """Return *command* without the installation before it; the extras it names must be there."""
    install, found, rest = command.rpartition(" && ")
    if not (found and install.startswith("python3 -m pip install ")):
        return command
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for names in re.findall(r"\[(.+?)\]", install):
        assert set(names.split(",")) <= project["optional-dependencies"].keys()
    return rest


def is_run_elsewhere(command: str) -> bool:
    """True for the tests themselves, the benchmarks, and what installs other people's agents."""
    is_of_tests = re.search(r"^pytest\b", command, re.MULTILINE)
    return bool(is_of_tests) or command.startswith(("python3 tests/bench/run.py", "npm install "))


def assert_prints(expected: str, printed: str) -> None:
    """Compare *printed* with what a page says; `…` there stands for anything, also for lines."""
    pattern = ""
    for line in _steady(expected):
        words = ".*?".join(map(re.escape, line.split("…")))
        pattern += r"(?:.*\n)*?" if line == "…" else rf"{words}\n"
    lines = "".join(f"{line}\n" for line in _steady(printed))
    assert re.fullmatch(pattern, lines), f"the page says\n{expected}\nbut it printed\n{printed}"


def _steady(text: str) -> list[str]:
    """Return the lines of *text* without what differs from run to run.

    That is seconds and how they are drawn, silence among them, how wide a column is, and whether
    the name of a route stands on the line above, as it does if a machine was busy.
    """
    text = re.sub(r"\d+(?:\.\d+)? s\b", "# s", text)
    text = re.sub(r"^(\w\S*/\S+)\n(?=.*│)", r"\1", text, flags=re.MULTILINE)
    drawn = [
        re.sub(r"[ ─]", "", line) if "│" in line else line.rstrip() for line in text.splitlines()
    ]
    return [re.sub(r"(\W)\1+", r"\1", line) for line in drawn if line]


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """Return what a command runs with: keys for a stub, *variables*, and nothing else of ours."""
    return {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "NO_PROXY": "*",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUNBUFFERED": "1",
        **dict.fromkeys(KEYS, "a-key-for-the-stub"),
        **variables,
    }


def put_on_path(folder: Path) -> None:
    """Make `sidestep` and `python3` commands of this Python, in a folder of their own."""
    (folder / "bin").mkdir()
    for name, module in (("sidestep", "-m sidestep"), ("python3", "")):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        script.chmod(0o755)


def run(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    """Return what *command* prints to stdout and stderr, in order."""
    ran = subprocess.run(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


@contextmanager
def serving(command: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Run `sidestep stub …` on a free port; give its address, and the lines to paste."""
    server = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {command.strip()} --port 0"],
        cwd=folder, env=environment(folder), encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    exports = 2 if "--scenario demo" in command else 1
    with server:
        try:
            assert server.stdout is not None
            url, pasted = "", list[str]()
            while not url or len(pasted) < exports:
                line = server.stdout.readline()
                assert line, "the stub has ended"
                url = url or line.removeprefix("listening on ").strip()
                pasted += re.findall(r"export \w+=.*", line)
            yield url, "\n".join(pasted)
        finally:
            server.kill()


def imported(program: str) -> set[str]:
    """Return the packages that *program* imports."""
    nodes = list(ast.walk(ast.parse(program)))
    named = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in named}
