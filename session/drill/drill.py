"""A rehearsed outage, shipped or in a file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from ...provider.env_value import decoded
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
            file = _parse(_data(source))
            warnings = () if file.config is None else _warnings(file.config)
            played = {"answers": file.answers, "counts": file.counts}
            return cls(name, file, Scenario.parse(played), warnings)
        except ConfigError as error:
            raise ConfigError(f"{str(source)!r}: {error}") from None


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


def _data(source: Traversable | Path) -> object:
    """Return what *source* holds: JSON if its name ends in ``.json``, else TOML."""
    try:
        content = decoded(source.read_bytes())
    except OSError as error:
        raise ConfigError(f"it cannot be read ({error.strerror}): name a file that can") from None
    try:
        if source.name.endswith(".json"):
            return json.loads(content)
        return tomllib.loads(content)
    except ValueError as error:
        if source.name.endswith(".json"):
            raise ConfigError(f"not JSON ({error}): write one JSON object") from None
        how = "write TOML, or name the file *.json if it holds JSON"
        raise ConfigError(f"not TOML ({error}): {how}") from None


def _parse(data: object) -> DrillFile:
    try:
        file = DrillFile.model_validate(data)
    except ValidationError as error:
        raise config_error(error, where="", model=DrillFile) from None
    if file.config is not None:
        try:
            Route(file.route)
        except ValueError as error:
            raise ConfigError(f"route: {error}") from None
    return file


def _warnings(config: dict[str, Any]) -> tuple[ConfigWarning, ...]:
    return parse_config(json.dumps(config)).warnings


def _shipped() -> dict[str, Traversable]:
    return package_data("drills", ".toml")
