"""Environments of their own, and copies of this repository to install into them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS", "VIRTUAL_ENV", "SIDESTEP_JOURNAL")


def run(
    *command: str | Path, cwd: Path, environ: Mapping[str, str] | None = None, status: int = 0
) -> str:
    """Run *command*, and return what it printed; it must exit with *status*."""
    variables = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=variables | dict(environ or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert ran.returncode == status, f"{command} exited with {ran.returncode}:\n{ran.stdout}"
    return ran.stdout


def pip(*arguments: str | Path, cwd: Path) -> str:
    """Run pip without what the tests need: it builds in an environment of its own."""
    return run(sys.executable, "-m", "pip", "-q", *arguments, cwd=cwd)


@dataclass(frozen=True)
class Environment:
    """A virtual environment, in which only what *packages* name is installed."""

    folder: Path
    packages: tuple[str | Path, ...]

    def __post_init__(self) -> None:
        venv.EnvBuilder(symlinks=True).create(self.folder)
        pip("--python", self.python, "install", "--no-compile", *self.packages, cwd=self.folder)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def package(self) -> Path:
        """Where Python finds the package."""
        code = "import sidestep; print(sidestep.__file__)"
        return Path(self.run("python", "-c", code).strip()).parent

    def run(self, name: str, *arguments: str | Path, status: int = 0) -> str:
        """Run a command of the environment, away from every checkout."""
        return run(self.folder / "bin" / name, *arguments, cwd=self.folder, status=status)


@dataclass(frozen=True)
class Copies:
    """The repository as others get it, with what is not committed yet, in *folder*."""

    folder: Path
    _made: dict[str, Environment] = field(default_factory=dict)

    def environment(self, way: str) -> Environment:
        """Return the environment in which sidestep is installed that way; made once."""
        if way not in self._made:
            folder = self.folder / "environments" / way.replace(" ", "-")
            self._made[way] = Environment(folder, self._packages(way))
        return self._made[way]

    def _packages(self, way: str) -> tuple[str | Path, ...]:
        match way:
            case "wheel":
                return (self.wheel, "pyinstaller")
            case "sdist":
                return (f"{self.sdist}[test]",)
            case "ZIP archive":
                return (self.archive,)
            case "checkout without links":
                return (self.without_links,)
            case "editable":
                return ("-e", self.with_links)
            case "editable without links":
                return ("-e", self.without_links)
        raise AssertionError(way)

    @cached_property
    def wheel(self) -> Path:
        wheels = self.folder / "wheels"
        pip("wheel", "--no-deps", "--wheel-dir", wheels, self.with_links, cwd=self.folder)
        return next(wheels.glob("*.whl"))

    @cached_property
    def sdist(self) -> Path:
        """The source distribution, unpacked."""
        command = (sys.executable, "-m", "build", "--sdist", "--outdir", self.folder)
        run(*command, self.with_links, cwd=self.folder)
        packed = next(self.folder.glob("*.tar.gz"))
        shutil.unpack_archive(packed, self.folder / "sdist", filter="data")
        return next((self.folder / "sdist").iterdir())

    @cached_property
    def archive(self) -> Path:
        """What a forge offers as "Download ZIP"; pip makes files of its links."""
        path = self.folder / "archive.zip"
        self._git(
            "archive", "--format=zip", "--prefix=sidestep-main/", f"--output={path}", self.tree
        )
        return path

    @cached_property
    def with_links(self) -> Path:
        return self._checkout("with_links", symlinks=True)

    @cached_property
    def without_links(self) -> Path:
        """A checkout in which links are files, with what an earlier build has left."""
        place = self._checkout("without_links", symlinks=False)
        left = place / "build" / "lib" / "sidestep" / "session" / "of_an_earlier_build.py"
        left.parent.mkdir(parents=True)
        left.touch()
        return place

    @cached_property
    def tree(self) -> str:
        """The git tree of all that is here and not ignored."""
        if not (ROOT / ".git").exists():
            pytest.skip("this is no checkout")
        self._git("read-tree", "HEAD")
        self._git("add", "--all")
        return self._git("write-tree").strip()

    def _checkout(self, name: str, *, symlinks: bool) -> Path:
        place = self.folder / name
        self._git("read-tree", self.tree)
        setting = f"core.symlinks={str(symlinks).lower()}"
        self._git("-c", setting, "checkout-index", "--all", f"--prefix={place}/")
        return place

    def _git(self, *arguments: str) -> str:
        index = {"GIT_INDEX_FILE": str(self.folder / "index")}
        return run("git", *arguments, cwd=ROOT, environ=index)
