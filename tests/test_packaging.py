"""What is installed, and under which names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import sidestep

ROOT = Path(__file__).parents[1]
PLACES = {
    "sidestep": ".src/sidestep",
    "sidestep.session": "session",
    "sidestep.provider": "provider",
}


SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]


def test_the_packages_named_are_the_folders_that_hold_python() -> None:
    """A new folder is built only if `packages` names it; its place follows from its parent's."""
    folders = {
        ".".join((*package.split("."), *Path(folder).relative_to(ROOT / place).parts))
        for package, place in PLACES.items()
        # No link is followed, and in some copies of the repository there is none.
        for folder, _, files in os.walk(ROOT / place)
        if any(name.endswith(".py") for name in files)
    }

    assert set(SETTINGS["packages"]) == {*folders, "sidestep.fixtures"}


@pytest.mark.parametrize("package", PLACES)
def test_a_package_is_built_from_its_real_folder(package: str) -> None:
    """A ZIP archive of the repository has no links, nor has a checkout on Windows."""
    places = SETTINGS["package-dir"]

    assert places.get(package, f"{places['']}/{package}") == PLACES[package]


@pytest.mark.parametrize("package", SETTINGS["package-data"])
def test_every_pattern_of_data_finds_files(package: str) -> None:
    place = ROOT / (PLACES | {"sidestep.fixtures": "fixtures"})[package]

    assert all(list(place.glob(pattern)) for pattern in SETTINGS["package-data"][package])


@pytest.mark.parametrize("place", ["session", "provider"])
def test_no_module_is_imported_by_a_computed_name(place: str) -> None:
    """What freezes an application does not find such a module."""
    computed = re.compile(r"import_module\(|__import__\(")

    assert [
        path for path in (ROOT / place).rglob("*.py") if computed.search(path.read_text("utf-8"))
    ] == []


@pytest.mark.parametrize("name", ["session", "provider", "fixtures"])
def test_no_folder_of_ours_is_importable_by_its_own_name(name: str) -> None:
    """An agent may own a `session` package; `python -m pytest` at the root would hide a leak."""
    assert find_spec(name) is None


def test_every_name_offered_is_there() -> None:
    assert sorted(sidestep.__all__) == list(sidestep.__all__)
    assert all(hasattr(sidestep, name) for name in sidestep.__all__)


def test_what_only_the_command_needs_is_not_imported() -> None:
    code = "import sidestep, sys; print(*{'click', 'rich', 'trio'} & set(sys.modules))"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == ""
