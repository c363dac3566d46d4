"""The limits of a hint and of numbered variables: ``SIDESTEP_LIMITS``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...provider.env_value import named_path, read_variable
from ...provider.error import ConfigError
from ...provider.secret import redact_shapes
from .config import LIMITS, parse_limits
from .config_warning import ConfigWarning
from .source import LIMITS_VARIABLE


@dataclass(frozen=True, slots=True)
class SetLimits:
    """The limits that a variable sets.

    Args:
        settings: The values by their names in `FallbackConfig`; a key that is not set is left out.
    """

    settings: Mapping[str, Any]
    warnings: tuple[ConfigWarning, ...] = ()


NO_LIMITS = SetLimits({})


def limits_from_env(environ: Mapping[str, str]) -> SetLimits:
    """Return what ``SIDESTEP_LIMITS`` sets: JSON, or ``@path`` of a file with JSON.

    Raises:
        ConfigError: The variable cannot be read, or has a wrong value in it.
    """
    text = environ.get(LIMITS_VARIABLE, "")
    if not text.strip():
        return NO_LIMITS
    path = named_path(text)
    try:
        config = parse_limits(read_variable(text))
    except ConfigError as error:
        where = LIMITS_VARIABLE if path is None else redact_shapes(f"{LIMITS_VARIABLE} ({path})")
        raise ConfigError(f"{where}: {error}") from None
    return SetLimits(
        {name: getattr(config, name) for name in LIMITS if name in config.model_fields_set},
        tuple(
            ConfigWarning(each.code, f"{LIMITS_VARIABLE}: {each.message}", each.fix)
            for each in config.warnings
        ),
    )
