"""A rehearsed outage, shipped or in a file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from ...provider.error import ConfigError
from ...provider.package_data import package_data
from ...provider.route import Route
from ...provider.settings import config_error
from ...provider.stub.scenario import Scenario
from ..plan.config import parse_config
from .drill_file import DrillFile

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from ..plan.config_warning import ConfigWarning

DEFAULT = "primary-503"


@dataclass(frozen=True, slots=True)
class Drill:
    """An outage to play.

    Raises:
        ConfigError: From `find`: there is no such drill, or its file is malformed.
    """

    name: str
    file: DrillFile
    scenario: Scenario
    warnings: tuple[ConfigWarning, ...] = ()

    @classmethod
    def find(cls, name: str) -> Self:
        """Return the shipped drill of that name, or the one in the file of that name."""
        shipped = _shipped()
        if name in shipped:
            return cls._read(name, shipped[name])
        path = Path(name)
        if not path.is_file():
            raise ConfigError(
                f"there is no drill {name!r}, nor a file of that name: "
                f"take one of {', '.join(shipped)}"
            )
        return cls._read(path.stem, path)

    @classmethod
    def _read(cls, name: str, source: Traversable | Path) -> Self:
        try:
            content = source.read_text(encoding="utf-8")
            is_json = source.name.endswith(".json")
            data = json.loads(content) if is_json else tomllib.loads(content)
        except OSError as error:
            raise ConfigError(f"{source}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise ConfigError(f"{source}: neither TOML nor, as *.json, JSON: {error}") from None
        try:
            file = DrillFile.model_validate(data)
            if file.config is not None:
                Route(file.route)
        except ValidationError as error:
            raise config_error(error, where=name, model=DrillFile) from None
        except ValueError as error:
            raise ConfigError(f"{name}.route: {error}") from None
        try:
            warnings = () if file.config is None else _warnings(file.config)
            played = {"answers": file.answers, "counts": file.counts}
            return cls(name, file, Scenario.parse(played), warnings)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None


def find_scenario(name: str) -> tuple[Scenario, Drill | None]:
    """Return the scenario of the drill, or of the file, of that name.

    And the drill; None: the file holds only a scenario.

    Raises:
        ConfigError: There is neither, or the file is malformed.
    """
    shipped = _shipped()
    if name not in shipped and not Path(name).exists():
        raise ConfigError(
            f"there is no file {name!r}, nor a drill of that name: take one of {', '.join(shipped)}"
        )
    try:
        drill = Drill.find(name)
    except ConfigError:
        return Scenario.load(name), None
    return drill.scenario, drill


def list_drills() -> list[Drill]:
    """Return the shipped drills, the default one first."""
    names = sorted(_shipped(), key=lambda name: (name != DEFAULT, name))
    return [Drill.find(name) for name in names]


def _warnings(config: dict[str, Any]) -> tuple[ConfigWarning, ...]:
    return parse_config(json.dumps(config)).warnings


def _shipped() -> dict[str, Traversable]:
    return package_data("drills", ".toml")
