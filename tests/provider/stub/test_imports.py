"""The stub stands apart: the provider does not import it, and it takes no facts from there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sidestep.provider

ROOT = Path(sidestep.provider.__file__).parent
STUB = ROOT / "stub"
SERVER = ROOT / "server"
INSIDE = sorted([*STUB.rglob("*.py"), *SERVER.rglob("*.py")])
OUTSIDE = sorted(set(ROOT.rglob("*.py")) - set(STUB.rglob("*.py")))
NAMES_AND_WIRES = {("catalog", "catalog"), ("catalog", "vendor")}


def _imported(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the names that *path* imports, as paths from the folder of the provider."""
    here = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1]
            module = tuple((node.module or "").split(".")) if node.module else ()
            for alias in node.names:
                yield (*base, *module, alias.name)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", OUTSIDE, ids=_name)
def test_nothing_of_the_provider_imports_the_stub(path: Path) -> None:
    assert [each for each in _imported(path) if each[:1] == ("stub",)] == []


@pytest.mark.parametrize("path", INSIDE, ids=_name)
def test_the_stub_imports_only_shared_types_and_the_names_of_the_catalog(path: Path) -> None:
    """The modules at the root hold types and helpers that all folders share.

    ``server`` has what every server shares, and is judged alike.
    """
    strange = [
        each
        for each in _imported(path)
        if each[0] not in {"stub", "server"}
        and not (ROOT / f"{each[0]}.py").is_file()
        and each[:2] not in NAMES_AND_WIRES
    ]

    assert strange == []
