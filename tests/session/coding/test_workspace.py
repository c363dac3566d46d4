"""What a path may name: everything in the workspace, nothing outside it."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from sidestep import ConfigError
from sidestep.session.coding.workspace import Workspace, visible

from ...other_words import NO_ROOM


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace beside a secret, with links of every kind."""
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "a.txt").write_text("inside")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("outside")
    (tmp_path / "root-beside").write_text("outside")
    links: dict[str, str | Path] = {
        "link": "inner/a.txt", "folder": "inner", "absolute": root / "inner" / "a.txt",
        "new": "inner/new.txt", "leak": tmp_path / "out" / "secret", "leak-relative":
        "../out/secret", "leak-folder": tmp_path / "out", "leak-new": tmp_path / "out" / "new",
        "leak-twice": "leak-folder/secret", "leak-up": "inner/../..", "loop": "loop",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize(
    ("path", "named"),
    [
        pytest.param("inner/a.txt", "inner/a.txt", id="a file"),
        pytest.param("./inner//a.txt", "inner/a.txt", id="dots and slashes"),
        pytest.param("inner/../inner/a.txt", "inner/a.txt", id="up and down again"),
        pytest.param("../root/inner/a.txt", "inner/a.txt", id="out and in again"),
        pytest.param("link", "inner/a.txt", id="a link"),
        pytest.param("folder/a.txt", "inner/a.txt", id="a linked folder"),
        pytest.param("absolute", "inner/a.txt", id="an absolute link"),
        pytest.param("new", "inner/new.txt", id="a dangling link"),
        pytest.param("no/such/file", "no/such/file", id="nothing there"),
        pytest.param("~/x", "~/x", id="a tilde means nothing"),
        pytest.param("..x", "..x", id="two dots in a name"),
        pytest.param(".", ".", id="the root"),
        pytest.param("", ".", id="empty"),
        pytest.param("..", None, id="up"),
        pytest.param("../out/secret", None, id="up and over"),
        pytest.param("inner/../../out/secret", None, id="down, up and over"),
        pytest.param("../root-beside", None, id="a name that starts like the root's"),
        pytest.param("/etc/passwd", None, id="absolute"),
        pytest.param("//etc/passwd", None, id="absolute twice"),
        pytest.param("leak", None, id="a link out"),
        pytest.param("leak-relative", None, id="a relative link out"),
        pytest.param("leak-folder/secret", None, id="a linked parent"),
        pytest.param("leak-folder/new/deep", None, id="a new file below a linked parent"),
        pytest.param("leak-new", None, id="a dangling link out"),
        pytest.param("leak-twice", None, id="a link to a link out"),
        pytest.param("leak-up/out/secret", None, id="a link with dots"),
        pytest.param("folder/../../out/secret", None, id="dots after a link"),
        pytest.param("inner/a.txt\0.png", None, id="a NUL"),
        pytest.param("\ud800", None, id="half a character"),
        pytest.param("a/" * 100_000, None, id="endless"),
    ],
)
def test_a_path_is_resolved_inside_or_refused(root: Path, path: str, named: str | None) -> None:
    workspace = Workspace(root)

    if named is None:
        with pytest.raises(ValueError, match=r"leads out|NUL|cannot be resolved|too long"):
            workspace.resolve(path)
    else:
        assert workspace.name(workspace.resolve(path)) == named


def test_an_absolute_path_inside_is_taken(root: Path) -> None:
    workspace = Workspace(root)

    assert workspace.name(workspace.resolve(str(root / "link"))) == "inner/a.txt"


def test_the_root_may_be_reached_by_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    workspace = Workspace(tmp_path / "alias")

    assert workspace.name(workspace.resolve(str(tmp_path / "alias" / "link"))) == "inner/a.txt"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("nothing", id="not there"),
        pytest.param("root/inner/a.txt", id="a file"),
        pytest.param("root/loop", id="a loop"),
        pytest.param("root\0", id="a NUL"),
    ],
)
def test_a_root_must_be_a_folder(root: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="workspace"):
        Workspace(root.parent / name)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(fifo, id="a pipe"),
        pytest.param(listener, id="a socket"),
        pytest.param(Path.mkdir, id="a folder"),
    ],
)
def test_only_a_regular_file_is_opened_or_replaced(
    root: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody writes to would be waited for without end."""
    monkeypatch.chdir(root)
    make(Path("odd"))
    workspace = Workspace(root)

    with pytest.raises(ValueError, match=r"no regular file|is a folder"):
        workspace.open_file(workspace.resolve("odd"))
    with pytest.raises(ValueError, match=r"no regular file|is a folder"):
        workspace.replace_file(workspace.resolve("odd"), b"x")


@pytest.mark.parametrize("path", ["inner/a.txt", "inner/deep/new.txt"])
@pytest.mark.parametrize("swapped", ["the file", "its folder"])
def test_a_link_put_there_after_the_check_is_not_followed(
    root: Path, path: str, swapped: str
) -> None:
    workspace = Workspace(root)
    out = root.parent / "out"
    (out / "a.txt").write_text("outside")
    real = workspace.resolve(path)

    if swapped == "its folder":
        (root / "inner").rename(root / "moved")
        (root / "inner").symlink_to(out)
    else:
        real.parent.mkdir(exist_ok=True)
        real.unlink(missing_ok=True)
        real.symlink_to(out / "a.txt")

    with pytest.raises(ValueError, match=r"cannot be used|is not there"):
        workspace.open_file(real)
    with pytest.raises(ValueError, match="cannot be used"):
        workspace.replace_file(real, b"overwritten")
    assert (out / "a.txt").read_text() == "outside"
    assert sorted(each.name for each in out.iterdir()) == ["a.txt", "secret"]


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640])
def test_a_replaced_file_keeps_its_mode(root: Path, mode: int) -> None:
    workspace = Workspace(root)
    (root / "inner" / "a.txt").chmod(mode)

    workspace.replace_file(workspace.resolve("link"), b"new")

    assert (root / "inner" / "a.txt").read_bytes() == b"new"
    assert (root / "inner" / "a.txt").stat().st_mode & 0o777 == mode
    assert (root / "link").is_symlink()


def test_a_new_file_gets_its_folders_and_the_mode_of_the_umask(root: Path) -> None:
    workspace = Workspace(root)
    before = os.umask(0o027)
    try:
        workspace.replace_file(workspace.resolve("x/y/z.txt"), b"new")
    finally:
        os.umask(before)

    assert (root / "x" / "y" / "z.txt").stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_put_in_place_leaves_nothing_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, NO_ROOM)

    workspace = Workspace(root)
    monkeypatch.setattr(os, "replace", full)

    with pytest.raises(ValueError, match=NO_ROOM):
        workspace.replace_file(workspace.resolve("inner/a.txt"), b"new")

    assert [each.name for each in (root / "inner").iterdir()] == ["a.txt"]
    assert (root / "inner" / "a.txt").read_text() == "inside"


def test_replacing_a_hard_link_leaves_the_file_outside_as_it_was(root: Path) -> None:
    secret = root.parent / "out" / "secret"
    (root / "hard").hardlink_to(secret)
    workspace = Workspace(root)

    workspace.replace_file(workspace.resolve("hard"), b"new")

    assert secret.read_text() == "outside"


def test_a_folder_is_scanned_without_following_links(root: Path) -> None:
    workspace = Workspace(root)
    fifo(root / "pipe")

    kinds = {entry.path.name: entry.kind for entry in workspace.scan(root)}

    assert (kinds["inner"], kinds["folder"], kinds["leak"]) == ("folder", "link", "link")
    assert kinds["pipe"] == "other"
    assert [entry.kind for entry in workspace.scan(root / "inner")] == ["file"]


@pytest.mark.parametrize("path", ["inner/a.txt", "nothing"])
def test_only_a_folder_is_scanned(root: Path, path: str) -> None:
    workspace = Workspace(root)

    with pytest.raises(ValueError, match=r"cannot be used|is not there"):
        workspace.scan(workspace.resolve(path))


def test_no_file_stays_open(root: Path) -> None:
    workspace = Workspace(root)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    for path in ("inner/a.txt", "inner", "nothing/at/all", "inner/a.txt/b", "loop"):
        for use in (workspace.open_file, workspace.scan):
            try:
                opened = use(workspace.resolve(path))
            except ValueError:
                continue
            if not isinstance(opened, list):
                opened.close()

    # Fewer, if what other tests left behind is collected meanwhile.
    assert (len(os.listdir("/proc/self/fd")) if before else 0) <= before


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a ü 漢.txt", "a ü 漢.txt", id="printable"),
        pytest.param("a\nb", r"a\nb", id="a line break"),
        pytest.param("\x1b[2K\r", r"\x1b[2K\r", id="steering a terminal"),
        pytest.param("\u202egnp.exe", r"\u202egnp.exe", id="right to left"),
        pytest.param("\udcff", r"\udcff", id="a byte that is no text"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown
