"""What `sidestep check` says of a journal that cannot be opened, and that it makes none."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from sidestep import ConfigError, Journal
from sidestep.session.command.check import inspect

from ...other_words import IS_A_DIRECTORY, NAME_TOO_LONG, NOT_A_DIRECTORY

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

ANYTHING = ".+"
PATHS = [
    pytest.param("new", None, id="a new file"),
    pytest.param("old", None, id="a file that is there"),
    pytest.param("  old ", None, id="space around it"),
    pytest.param("link", None, id="a link to a file that is not there yet"),
    pytest.param("~/new", None, id="a file in the home folder"),
    pytest.param("/dev/null", None, id="a device"),
    pytest.param("", None, id="nothing"),
    pytest.param("none/new", "there is no folder '{folder}/none'", id="no such folder"),
    pytest.param("away", "there is no folder '{folder}/none'", id="a link to no such folder"),
    pytest.param("~/none/new", "there is no folder '{folder}/none'", id="no folder in the home"),
    pytest.param("folder", IS_A_DIRECTORY, id="a folder"),
    pytest.param("new/", IS_A_DIRECTORY, id="a folder that is not there"),
    pytest.param("old/new", NOT_A_DIRECTORY, id="a file as a folder"),
    pytest.param("round", os.strerror(errno.ELOOP), id="a link to itself"),
    pytest.param("n" * 300, NAME_TOO_LONG, id="a long name"),
    pytest.param("a\0b", ANYTHING, id="a name that none can be"),
    pytest.param(
        "locked/new", "nothing can be made in the folder '{folder}/locked'", id="a locked folder",
        marks=pytest.mark.skipif(IS_ROOT, reason="nothing is locked for root"),
    ),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what a name may lead to, as the working directory."""
    (tmp_path / "old").write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked").mkdir(mode=0o500)
    for name, target in (("link", "new"), ("away", "none/new"), ("round", "round")):
        (tmp_path / name).symlink_to(target)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("path", "why"), PATHS)
def test_a_journal_that_cannot_be_opened_is_warned_of_and_none_is_made(
    path: str, why: str | None, folder: Path
) -> None:
    before = sorted(each.name for each in folder.iterdir())

    warnings = inspect({"SIDESTEP_JOURNAL": path})["warnings"]

    if why is None:
        assert warnings == []
    else:
        (warning,) = warnings
        assert warning["code"] == "C021"
        told = rf"which cannot be opened \({why.format(folder=folder)}\)$"
        assert re.search(told, warning["message"])
        assert "set it to a file that can be written" in warning["fix"]
    assert sorted(each.name for each in folder.iterdir()) == before
    assert (folder / "old").read_text() == "kept"


@pytest.mark.parametrize(("path", "why"), PATHS)
def test_it_is_warned_of_what_the_journal_itself_refuses(
    path: str, why: str | None, folder: Path
) -> None:
    path = os.path.expanduser(path.strip()) or "new"

    if why is None:
        Journal(path).close()
    else:
        with pytest.raises(ConfigError, match="cannot be opened"):
            Journal(path)
    assert folder.exists()
