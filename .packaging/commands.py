"""What setuptools does otherwise for us; ``[tool.setuptools.cmdclass]`` names the classes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist

if TYPE_CHECKING:
    from typing import ClassVar

SOURCES = ".src"


class BuildPy(build_py):
    """Begin with an empty folder, because setuptools packs what an earlier build left there."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class Editable(editable_wheel):
    """Add `.src` to the path with one line, if the links in it are links.

    Type checkers read such a line. Without links, setuptools installs an import hook, which finds
    the real folders; only Python reads that.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        if Path(SOURCES, "sidestep", "session").is_dir():
            self.package_dir = {"": SOURCES}


class Sdist(sdist):
    """Pack the tests, their data and the notes as well.

    `MANIFEST.in` is the usual way to list them. We have none because it has to stand at the top.
    """

    LINES: ClassVar[tuple[str, ...]] = (
        "include CHANGELOG.md .gitignore",
        "graft .ci",
        "graft .packaging",
        "graft fixtures",
        "graft provider",
        "graft session",
        "graft tests",
        "global-exclude *.py[cod]",
        # An old list of files may name what stands behind the links.
        "prune .src/sidestep/fixtures",
        "prune .src/sidestep/provider",
        "prune .src/sidestep/session",
    )

    def make_distribution(self) -> None:
        for line in self.LINES:
            self.filelist.process_template_line(line)
        super().make_distribution()
