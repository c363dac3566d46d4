"""What an agent's author may print, help and signatures, shows nobody's environment."""

from __future__ import annotations

import inspect
import os
import pydoc
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sidestep

KEY = "sk-test-1234567890abcdef"
FRAMEWORKS = ("agents", "langchain", "langchain_core", "pydantic_ai")
"""What is imported by modules of ours that only those import who have it."""


def offered() -> Iterator[tuple[str, Any]]:
    """Go through what `sidestep` offers, and what is called on it."""
    for name in sidestep.__all__:
        if callable(value := getattr(sidestep, name)):
            yield name, value
            yield from methods(name, value)


def inside() -> Iterator[tuple[str, Any]]:
    """Go through what the modules define, offered or not."""
    root = Path(sidestep.__file__).parent
    for folder in ("session", "provider"):
        for path in (root / folder).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(("sidestep", *parts)).removesuffix(".__init__")
            try:
                module = import_module(name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in FRAMEWORKS:
                    raise
            else:
                yield from defined(module)


def defined(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if callable(value) and getattr(value, "__module__", "") == module.__name__:
            yield f"{module.__name__}.{name}", value
            yield from methods(f"{module.__name__}.{name}", value)


def methods(name: str, owner: object) -> Iterator[tuple[str, Any]]:
    if inspect.isclass(owner):
        for own, value in inspect.getmembers(owner, inspect.isroutine):
            if callable(value):
                yield f"{name}.{own}", value


def holds_the_environment(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and value.items() >= os.environ.items()


@pytest.mark.parametrize("walk", [offered, inside], ids=["what is offered", "what is inside"])
def test_no_parameter_has_the_environment_as_its_default(
    walk: Callable[[], Iterator[tuple[str, Any]]],
) -> None:
    found = {}
    for name, value in walk():
        try:
            found[name] = inspect.signature(value).parameters.values()
        except ValueError:  # made in C, without a signature
            continue

    assert len(found) > len(sidestep.__all__)
    assert not [
        name
        for name, parameters in found.items()
        if any(holds_the_environment(each.default) for each in parameters)
    ]


@pytest.mark.parametrize("name", ["Sidestep", "Client", "Journal", "load_config"])
def test_help_shows_no_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    assert KEY not in pydoc.render_doc(getattr(sidestep, name))


def test_none_reads_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDESTEP_FALLBACK_CONFIG", '{"fallbackModelsByModel": {"a/b": "c/d"}}')

    config = sidestep.load_config()

    assert config is not None
    assert sidestep.Sidestep.from_env().healthy("a/b") == "a/b"
    assert sidestep.Sidestep.from_env().config == config
