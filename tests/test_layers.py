"""The layout: which folder may import which, and how large a file and a function may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_LINES = 350
MOST_BODY_LINES = 40
MAY_IMPORT_THE_STUB = ("provider.stub", "session.drill", "session.command", "session.embed")

Import = tuple[str, str]
"""The module that imports, and the module that is imported, both with their folders' names."""


def modules() -> dict[str, Path]:
    """Return every module of the product by its dotted name."""
    found = {}
    for side in ("session", "provider"):
        for path in (ROOT / side).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def folder_of(module: str) -> str:
    """Return the layer of *module*, which is the folder below ``session`` or ``provider``."""
    parts = module.split(".")
    is_in_folder = len(parts) > 2 or MODULES[module].name == "__init__.py"
    return ".".join(parts[:2]) if is_in_folder else parts[0]


def imports(*, with_types: bool) -> Iterator[Import]:
    """Go through the relative imports of the product, those for types only if asked to."""
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = set() if with_types else set(_only_for_types(tree))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level and node not in skipped:
                for target in _targets(node, package):
                    yield name, target


def _only_for_types(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            for inner in node.body:
                yield from ast.walk(inner)


def _targets(node: ast.ImportFrom, package: str) -> Iterator[str]:
    base = package.split(".")
    base = base[: len(base) - (node.level - 1)]
    module = ".".join([*base, *(node.module or "").split(".")]).rstrip(".")
    for alias in node.names:
        target = f"{module}.{alias.name}"
        if (target if target in MODULES else module) in MODULES:
            yield target if target in MODULES else module


def folders(*, with_types: bool) -> dict[str, set[str]]:
    """Return which folders each folder imports."""
    graph: dict[str, set[str]] = {folder_of(name): set() for name in MODULES}
    for module, target in imports(with_types=with_types):
        if folder_of(module) != folder_of(target):
            graph[folder_of(module)].add(folder_of(target))
    return graph


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        more = graph[ahead.pop()] - seen
        seen |= more
        ahead += more
    return seen


@pytest.mark.parametrize("with_types", [False, True], ids=["at run time", "with types"])
def test_no_folders_import_each_other_in_a_circle(with_types: bool) -> None:
    graph = folders(with_types=with_types)

    assert len(graph) > 15
    assert [folder for folder in graph if folder in reachable(graph, folder)] == []


def test_provider_never_imports_session() -> None:
    crossing = [each for each in imports(with_types=True) if each[0].startswith("provider")]

    assert crossing
    assert [each for each in crossing if each[1].startswith("session")] == []


def test_only_drills_and_the_command_import_the_stub() -> None:
    importers = {a for a, b in imports(with_types=True) if folder_of(b) == "provider.stub"}

    assert importers
    assert [each for each in importers if not each.startswith(MAY_IMPORT_THE_STUB)] == []


def test_decisions_know_no_clock_and_no_network() -> None:
    allowed = {"provider.failure", "provider.route", "session.plan.limits", "session.skip_reason"}
    pure = {"session.step.decision", "session.step.step_state"}
    targets = {b for a, b in imports(with_types=True) if a in pure}

    assert targets <= allowed | pure


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_file_and_its_functions_stay_short(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    long = [
        f"{node.name}: {_body_lines(node)} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _body_lines(node) > MOST_BODY_LINES
    ]

    assert len(text.splitlines()) <= MOST_LINES
    assert long == []


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of the body, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
