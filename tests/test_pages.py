"""Every program and command that a README shows runs as it stands, and prints what the page says.

In a section that begins with `sidestep stub`, the other commands run while that stub does.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

import sidestep
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import CAPABILITIES
from sidestep.provider.catalog.settings import ProviderSettings
from sidestep.provider.stub.answer_form import (
    CAPTURE_KEYS,
    FAULTS,
    MODEL_KEYS,
    REFUSAL_KEYS,
    STATUS_KEYS,
)
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.wire_name import WIRES
from sidestep.session.coding.approval import approve_all
from sidestep.session.coding.tools import coding_tools
from sidestep.session.coding.workspace import Workspace
from sidestep.session.drill.drill import Drill
from sidestep.session.drill.drill_file import DrillFile, Expectation
from sidestep.session.drill.judge import judge
from sidestep.session.drill.play import play

from .pages import (
    PAGES,
    ROOT,
    Block,
    assert_prints,
    blocks_of,
    environment,
    groups,
    imported,
    is_run_elsewhere,
    put_on_path,
    run,
    serving,
    without_installing,
)
from .virtual import run_virtually

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PROGRAMS = [block for block in BLOCKS if block.language == "python"]
COMMANDS = [block for block in BLOCKS if block.language == "sh"]

SDKS = {"agents", "anthropic", "langchain_openai", "openai", "pydantic_ai"}
"""What a program may import that the tests do not install."""

SONNET, GLM = "openrouter/anthropic/claude-sonnet-5", "openrouter/z-ai/glm-5.2"
SIBLINGS = {SONNET: "anthropic/claude-sonnet-5", GLM: "zai/glm-5.2"}
ANSWERS: dict[str, dict[str, object]] = {
    **{route: {"status": 503} for route in SIBLINGS},
    **{route: {"text": "Hello from the sibling."} for route in SIBLINGS.values()},
}
MAP = {"fallbackModelsByModel": SIBLINGS, "maxUpstreamRetryAttempts": 0}
PATHS = {
    "anthropic": "/anthropic",
    "openrouter": "/openrouter/api/v1",
    "zai": "/zai/api/paas/v4",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to run in, as the top of a checkout."""
    put_on_path(tmp_path)
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    return tmp_path


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a stub at which two routes fail, and their siblings answer."""
    folder = tmp_path_factory.mktemp("stub")
    put_on_path(folder)
    (folder / "scenario.json").write_text(json.dumps({"answers": ANSWERS}))
    with serving("sidestep stub --scenario scenario.json", folder) as (url, _):
        yield url


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda block: block.id)
def test_a_program_runs_as_it_stands(program: Block, folder: Path, url: str) -> None:
    missing = [sdk for sdk in sorted(SDKS & imported(program.text)) if find_spec(sdk) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")
    (folder / "program.py").write_text(program.text, encoding="utf-8")
    providers = {name: {"baseUrl": url + path, "apiKeyEnv": None} for name, path in PATHS.items()}
    variables = environment(
        folder,
        SIDESTEP_FALLBACK_CONFIG=json.dumps(MAP),
        SIDESTEP_PROVIDERS=json.dumps(providers),
        **{f"{name.upper()}_BASE_URL": url + path for name, path in PATHS.items()},
    )

    is_test = "\nasync def test_" in program.text
    how = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else []
    printed = run([sys.executable, *how, "program.py"], folder, variables)

    if program.prints is not None:
        assert_prints(program.prints, printed)


@pytest.mark.parametrize("group", list(groups(COMMANDS)), ids=lambda group: group[0].id)
def test_a_command_runs_as_it_stands(group: list[Block], folder: Path) -> None:
    first, *others = group
    played = re.search(r"--scenario (\S+)", first.text)
    if played and not (ROOT / "fixtures" / "drills" / f"{played[1]}.toml").exists():
        pytest.skip(f"there is no drill {played[1]!r}")
    if any("curl " in block.text for block in group) and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    if not first.text.startswith("sidestep stub"):
        run_block(first, first.text, folder)
        return
    with serving(first.text, folder) as (url, pasted):
        # Without retries, because their waits would be real ones.
        pasted = re.sub(r"(maxUpstreamRetryAttempts\W+)\d+", r"\g<1>0", pasted)
        for block in others:
            text = block.text.replace("http://127.0.0.1:8503", url)
            run_block(block, f"{pasted}\n{text}", folder)


def run_block(block: Block, text: str, folder: Path) -> None:
    command = without_installing(text)
    if is_run_elsewhere(command):
        return
    printed = run(["bash", "-euo", "pipefail", "-c", command], folder, environment(folder))
    if block.prints is not None:
        assert_prints(block.prints, printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_into_the_repository(page: Path) -> None:
    for link in re.findall(r"\]\((.+?)\)", page.read_text(encoding="utf-8")):
        path, _, section = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not section or section in sections_of(target), link


def sections_of(page: Path) -> set[str]:
    """Return how links name the headings of *page*."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_the_first_page_has_at_most_160_lines() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 160


def test_every_page_can_be_reached_from_the_first() -> None:
    reached, ahead = set[Path](), [PAGES[0]]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead += named_on(page)

    assert set(PAGES) - reached == set()


def named_on(page: Path) -> list[Path]:
    """Return the pages that *page* links to, and the pages of the folders that it names."""
    content = page.read_text(encoding="utf-8")
    links = [(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+)", content)]
    below = [page.parent / name / "README.md" for name in re.findall(r"`(\w+)/`", content)]
    return [each for each in (*links, *below) if each in PAGES]


def test_the_first_two_commands_are_the_drill_and_the_tests() -> None:
    drill, tests = (without_installing(block.text) for block in COMMANDS[:2])

    assert (drill, tests) == ("python3 -m sidestep drill\n", "pytest -q\n")


def test_the_drill_on_a_page_goes_as_its_file_expects(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(only_block("session/drill", "toml"))
    drill = Drill.find(str(tmp_path / "mine.toml"))

    assert judge(drill, run_virtually(lambda: play(drill))) == []


def test_the_scenarios_on_a_page_can_be_played() -> None:
    texts = texts_of("provider/stub", "json")
    whole, of_keys = [Scenario.parse(json.loads(text)) for text in texts]

    assert [len(answers) for answers in whole.answers.values()] == [9, 1, 1]
    assert [len(answers) for answers in of_keys.keyed.values()] == [2]


def texts_of(folder: str, language: str) -> list[str]:
    where = ROOT / folder, language
    return [each.text for each in BLOCKS if (each.page.parent, each.language) == where]


def only_block(folder: str, language: str) -> str:
    (text,) = texts_of(folder, language)
    return text


def page_of(folder: str) -> str:
    return (ROOT / folder / "README.md").read_text(encoding="utf-8")


def keys_of(model: type[BaseModel]) -> set[str]:
    named = {name: field for name, field in model.model_fields.items() if not field.exclude}
    return {field.alias or name for name, field in named.items()}


KINDS = {str(kind) for kind in sidestep.FailureKind} - {"cancelled", "unknown"}
ERRORS = {
    name
    for name, each in vars(sidestep).items()
    if isinstance(each, type) and issubclass(each, sidestep.SidestepError)
}
CODES = {
    code
    for path in (ROOT / "session").rglob("*.py")
    for code in re.findall(r'"(C\d{3})"', path.read_text(encoding="utf-8"))
}
ANSWER_KEYS = {*MODEL_KEYS, *STATUS_KEYS, *CAPTURE_KEYS, *REFUSAL_KEYS, *FAULTS}


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        pytest.param(".", KINDS, id="kinds of failure"),
        pytest.param("session", ERRORS, id="errors"),
        pytest.param("session/cost", {each.name for each in fields(sidestep.Budget)}, id="budget"),
        pytest.param("session/drill", keys_of(DrillFile), id="drill"),
        pytest.param("session/drill", keys_of(Expectation), id="what a drill expects"),
        pytest.param("session/plan", keys_of(sidestep.FallbackConfig), id="configuration"),
        pytest.param("session/plan", CODES, id="codes of check"),
        pytest.param("session/plan", set(CAPABILITIES), id="capabilities"),
        pytest.param(
            "session/step", {each.name for each in fields(sidestep.RetryPolicy)}, id="retries"
        ),
        pytest.param("provider/catalog", set(catalog()), id="providers"),
        pytest.param("provider/catalog", keys_of(ProviderSettings), id="settings of a provider"),
        pytest.param("provider/stub", ANSWER_KEYS, id="answers of a scenario"),
    ],
)
def test_a_page_names_all_there_is(folder: str, names: set[str]) -> None:
    words = set(re.findall(r"[\w-]+", page_of(folder)))

    assert names - words == set()


PRODUCT = [path for side in ("session", "provider") for path in (ROOT / side).rglob("*.py")]
WIRE = re.compile(r'"openai-responses"|\b(?:wire|dialect) (?:==|!=|in|not in) (?:"|\{)')
"""A wire by its name, or a condition on the wire."""


def test_every_place_that_knows_a_wire_is_listed_for_a_new_wire() -> None:
    _, _, section = page_of("provider").partition("### A new wire\n")
    cells = re.findall(r"^\| (.+?) \|", section.partition("\n## ")[0], re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`(\S+\.py)`", cell)]
    listed = {(ROOT / "provider" / name).resolve() for name in names}
    wires = {name.replace("-", "_") for name in WIRES}
    knowing = {
        path
        for path in PRODUCT
        if WIRE.search(path.read_text(encoding="utf-8"))
        and not wires & set(path.relative_to(ROOT).with_suffix("").parts)
    }

    assert listed == knowing


def test_the_path_of_a_failure_names_what_there_is() -> None:
    _, _, section = page_of("session").partition("\n## The path of a failure\n")
    named = set(re.findall(r"`([\w.]+)`", section))
    there_is = {name for path in PRODUCT for name in defined_in(path)}

    assert len(named) > 20
    assert named - there_is == set()


def defined_in(path: Path) -> Iterator[str]:
    """Yield the functions of *path*, and its methods and attributes as `Class.name` and `name`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in members_of(node))


def members_of(cls: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(cls):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_title_of_a_page_is_its_folder(page: Path) -> None:
    title, _, _ = page.read_text(encoding="utf-8").partition("\n")

    assert title == f"# {page.parent.relative_to(ROOT)}"


@pytest.mark.parametrize("event", get_args(sidestep.Event), ids=lambda event: event.__name__)
def test_an_event_is_listed_with_its_fields(event: type) -> None:
    name = event.__name__
    listed = ", ".join(f"`{field}`" for field in signature(event).parameters)

    assert f"\n| `{name}` | {listed} |" in page_of("session")


def test_the_tools_of_a_workspace_are_listed(tmp_path: Path) -> None:
    tools = coding_tools(Workspace(tmp_path), approve_all)

    assert [
        tool.name for tool in tools if f"\n| `{tool.name}` |" not in page_of("session/command")
    ] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "\n## Files\n" in page.read_text(encoding="utf-8")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_lists_the_files_of_its_folder(page: Path) -> None:
    _, _, files = page.read_text(encoding="utf-8").partition("\n## Files\n")
    rows = re.findall(r"^\| (`[^|]+`) \|", files, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}

    assert listed == {path.stem for path in page.parent.glob("*.py")} - {"__init__"}
