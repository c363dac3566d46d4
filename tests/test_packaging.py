"""What is installed, and under which names."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import sidestep

ROOT = Path(__file__).parents[1]


def test_the_packages_named_are_the_folders_that_hold_python() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {
        ".".join(path.parent.relative_to(ROOT / ".src").parts)
        for folder in ("", "session", "provider")
        for path in (ROOT / ".src" / "sidestep" / folder).rglob("*.py")
    }

    assert set(settings["packages"]) == folders


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
