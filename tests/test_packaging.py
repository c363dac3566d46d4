"""What is installed, and under which names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires, version
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import sidestep

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
SETTINGS = tomllib.loads(PROJECT)
BUILD = SETTINGS["tool"]["setuptools"]
PLACES = {
    "sidestep": ".src/sidestep",
    "sidestep.session": "session",
    "sidestep.provider": "provider",
}


def written() -> Iterator[tuple[str, Requirement]]:
    """Go through the dependencies of the file, each with its extra; "" for everybody."""
    project = SETTINGS["project"]
    for extra, lines in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        for line in lines:
            yield extra, Requirement(line)


def installed() -> Iterator[tuple[str, Requirement]]:
    """Go through the dependencies that pip was told when sidestep was installed."""
    for line in requires("sidestep") or ():
        extra = re.search(r"extra == .([\w-]+)", line)
        yield extra[1] if extra else "", Requirement(line)


def outline(extra: str, requirement: Requirement) -> tuple[str, str, str]:
    return extra, requirement.name, str(requirement.specifier)


def named(name: str) -> list[Requirement]:
    return [requirement for _extra, requirement in written() if requirement.name == name]


OTHERS = sorted({requirement.name for _extra, requirement in written()} - {"sidestep"})
NEEDED = sorted(
    requirement.name
    for extra, requirement in written()
    if extra in {"", "prices", "test"} and requirement.name != "sidestep"
)


def test_the_packages_named_are_the_folders_that_hold_python() -> None:
    """A new folder is built only if `packages` names it; its place follows from its parent's."""
    folders = {
        ".".join((*package.split("."), *Path(folder).relative_to(ROOT / place).parts))
        for package, place in PLACES.items()
        # No link is followed, and in some copies of the repository there is none.
        for folder, _, files in os.walk(ROOT / place)
        if any(name.endswith(".py") for name in files)
    }

    assert set(BUILD["packages"]) == {*folders, "sidestep.fixtures"}


@pytest.mark.parametrize("package", PLACES)
def test_a_package_is_built_from_its_real_folder(package: str) -> None:
    """A ZIP archive of the repository has no links, nor has a checkout on Windows."""
    places = BUILD["package-dir"]

    assert places.get(package, f"{places['']}/{package}") == PLACES[package]


@pytest.mark.parametrize("package", BUILD["package-data"])
def test_every_pattern_of_data_finds_files(package: str) -> None:
    place = ROOT / (PLACES | {"sidestep.fixtures": "fixtures"})[package]

    assert all(list(place.glob(pattern)) for pattern in BUILD["package-data"][package])


@pytest.mark.parametrize("place", ["session", "provider"])
def test_no_module_is_imported_by_a_computed_name(place: str) -> None:
    """What freezes an application does not find such a module."""
    computed = re.compile(r"import_module\(|__import__\(")

    assert [
        path
        for path in (ROOT / place).rglob("*.py")
        # That one imports only what is imported already.
        if path != ROOT / "provider" / "fork.py" and computed.search(path.read_text("utf-8"))
    ] == []


@pytest.mark.parametrize("name", ["session", "provider", "fixtures"])
def test_no_folder_of_ours_is_importable_by_its_own_name(name: str) -> None:
    """An agent may own a `session` package; `python -m pytest` at the root would hide a leak."""
    assert find_spec(name) is None


def test_every_name_offered_is_there() -> None:
    assert sorted(sidestep.__all__) == list(sidestep.__all__)
    assert all(hasattr(sidestep, name) for name in sidestep.__all__)


def test_what_only_the_command_needs_is_not_imported() -> None:
    unwanted = {
        "agents", "click", "langchain_core", "openai", "opentelemetry", "prometheus_client",
        "pydantic_ai", "rich", "trio",
    }  # fmt: skip
    code = f"import sidestep, sys; print(*{unwanted} & set(sys.modules))"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == ""


def test_without_a_configuration_a_step_and_its_failure_import_no_model() -> None:
    """The models of pydantic cost 50 ms, and a process may fail when it has hardly any memory."""
    code = (
        "import sidestep, sys\n"
        "failure = sidestep.Failure(kind=sidestep.FailureKind.QUOTA, message='')\n"
        "try:\n"
        "    for attempt in sidestep.Sidestep.from_env({}).step_sync('anthropic/x'):\n"
        "        with attempt: raise sidestep.ProviderError(failure)\n"
        "except sidestep.SidestepError: print('pydantic.main' in sys.modules)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"


def test_what_is_installed_asks_for_what_the_file_says() -> None:
    """If not, install it anew: pip reads the file only then."""
    assert sorted(outline(*each) for each in installed()) == sorted(
        outline(*each) for each in written()
    )


@pytest.mark.parametrize("name", OTHERS)
def test_a_dependency_has_a_lower_bound_and_a_reason_for_each_line(name: str) -> None:
    lines = [
        line for line in PROJECT.splitlines() if re.match(rf'\s+"{re.escape(name)}[\[<>=; "]', line)
    ]

    assert any(">=" in str(requirement.specifier) for requirement in named(name))
    assert len(lines) == len(named(name))
    for line in lines:
        assert re.search(r'",\s+# \S', line), f"no reason after {line.strip()}"


@pytest.mark.parametrize("name", sorted(set(NEEDED)))
def test_the_version_that_is_installed_is_within_the_bounds(name: str) -> None:
    for requirement in named(name):
        if requirement.marker is None or requirement.marker.evaluate():
            assert requirement.specifier.contains(version(name), prereleases=True)


REQUIRED = re.compile(r'^require\("(.+?)", at_least="(.+?)", extra="(.+?)"\)$', re.MULTILINE)


def test_a_framework_is_asked_for_in_the_version_that_its_extra_installs() -> None:
    modules = (ROOT / ".src" / "sidestep").glob("*.py")
    asked = {match for path in modules for match in REQUIRED.findall(path.read_text("utf-8"))}
    extras = {extra for _name, _least, extra in asked}

    assert extras == {"langchain", "openai-agents", "otel", "prometheus", "pydantic-ai"}
    assert {(name, f">={least}", extra) for name, least, extra in asked} == {
        (each.name, str(each.specifier), extra) for extra, each in written() if extra in extras
    }


def test_httpx_1_which_has_another_client_is_refused() -> None:
    (requirement,) = named("httpx")

    assert not requirement.specifier.contains("1.0.dev6", prereleases=True)
    assert requirement.specifier.contains("0.28.0")
