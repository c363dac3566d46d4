"""What type checkers say of a user's program if sidestep is installed."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from .environment import Copies, run

AGENT = Path(__file__).with_name("agent.py")
STRICT = {"pyrightconfig.json": '{"typeCheckingMode": "strict"}', "pyrefly.toml": ""}
CHECKERS = {
    "mypy": ("-m", "mypy", "--strict", "--python-executable"),
    "pyright": ("-m", "pyright", "--pythonpath"),
    "ty": ("-m", "ty", "check", "--python"),
    "pyrefly": ("-m", "pyrefly", "check", "--python-interpreter-path"),
}
MISTAKES = """\
import sidestep
from sidestep import Sesion
print(sidestep.Sesion)
print(sidestep.Route(1))
print(Sesion)
"""


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("way", ["wheel", "editable"])
def test_a_users_program_has_no_type_error(
    copies: Copies, tmp_path: Path, way: str, checker: str
) -> None:
    shutil.copy(AGENT, tmp_path)

    check(checker, copies, way, tmp_path, status=0)


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("way", ["wheel", "editable"])
def test_each_mistake_of_a_user_is_reported(
    copies: Copies, tmp_path: Path, way: str, checker: str
) -> None:
    (tmp_path / "agent.py").write_text(MISTAKES)

    reported = check(checker, copies, way, tmp_path, status=1)

    assert {"2", "3", "4"} <= set(re.findall(r"agent\.py:(\d+)", reported))


def check(checker: str, copies: Copies, way: str, folder: Path, *, status: int) -> str:
    """Check the agent in *folder*, which is a project of its own."""
    for name, content in STRICT.items():
        (folder / name).write_text(content)
    python = copies.environment(way).python
    return run(
        sys.executable, *CHECKERS[checker], python, "agent.py",
        cwd=folder, environ={"MYPY_CACHE_DIR": str(copies.folder / "mypy")}, status=status,
    )  # fmt: skip
