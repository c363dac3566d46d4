"""It can be installed from whatever people have, and is the same everywhere.

These tests make environments with what pip finds on the network.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .environment import ROOT, Copies, run

PACKED = ("wheel", "sdist", "ZIP archive", "checkout without links")
EDITABLE = ("editable", "editable without links")


@pytest.mark.parametrize("way", [*PACKED, *EDITABLE])
def test_the_drill_plays(copies: Copies, way: str) -> None:
    assert "passed" in copies.environment(way).run("sidestep", "drill")


@pytest.mark.parametrize("way", [*PACKED, *EDITABLE])
def test_only_one_name_can_be_imported(copies: Copies, way: str) -> None:
    code = """
from importlib.util import find_spec
names = ("session", "provider", "fixtures", "commands", "sidestep_packaging", "sidestep")
print([name for name in names if find_spec(name)])
"""

    assert copies.environment(way).run("python", "-c", code).strip() == "['sidestep']"


@pytest.mark.parametrize("way", PACKED[1:])
def test_the_same_files_are_installed_as_from_a_wheel(copies: Copies, way: str) -> None:
    assert contents(copies.environment(way).package) == contents(
        copies.environment("wheel").package
    )


def test_the_sdist_holds_every_file_of_the_repository(copies: Copies) -> None:
    links = {f".src/sidestep/{name}" for name in ("fixtures", "provider", "session")}
    tracked = run("git", "ls-tree", "-rz", "--name-only", copies.tree, cwd=ROOT)

    assert set(tracked.strip("\0").split("\0")) - links <= set(contents(copies.sdist))


def test_the_tests_of_the_sdist_pass(copies: Copies) -> None:
    python = copies.environment("sdist").python

    run(python, "-P", "-m", "pytest", "-q", "tests/test_packaging.py", cwd=copies.sdist)


@pytest.mark.parametrize("way", EDITABLE)
def test_what_is_edited_counts_at_once(copies: Copies, way: str) -> None:
    environment = copies.environment(way)
    sources = copies.with_links if way == "editable" else copies.without_links
    (sources / "session" / "freshly_made.py").write_text("from ..provider.fresh import ANSWER\n")
    (sources / "provider" / "fresh.py").write_text("ANSWER = 42\n")

    code = "from sidestep.session.freshly_made import ANSWER; print(ANSWER)"

    assert environment.run("python", "-c", code).strip() == "42"


def contents(folder: Path) -> dict[str, bytes]:
    """Return each file below *folder* but bytecode."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
