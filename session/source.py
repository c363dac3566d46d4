"""Where the configuration is read from, and when it is read again."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..provider.catalog import catalog, providers_from_env
from ..provider.error import ConfigError
from ..provider.variable import named_path, read_variable
from .config import parse_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ..provider.catalog import Provider
    from .config import FallbackConfig

VARIABLE = "SIDESTEP_FALLBACK_CONFIG"
COORDINATOR_VARIABLE = "REPLO_OPENCODE_FALLBACK_CONFIG"
"""What existing coordinators inject; read when `VARIABLE` is unset."""

_SETTLED_AFTER = 2.0
"""Seconds after a write within which another one may leave the same time on a file."""

_logger = logging.getLogger("sidestep")


def load_config(environ: Mapping[str, str] = os.environ) -> FallbackConfig | None:
    """Return the configuration in the environment, or None where there is none.

    Raises:
        ConfigError: It is wrong, or its file cannot be read.
    """
    source = find_source(environ)
    if source is None or not source.text.strip():
        return None
    try:
        return parse_config(source.read())
    except ConfigError as error:
        raise ConfigError(f"{source.name}: {error}") from None


def known_providers(
    config: FallbackConfig | None, environ: Mapping[str, str] = os.environ
) -> dict[str, Provider]:
    """Return the providers of the catalog, as *config* and the environment change them.

    Raises:
        ConfigError: What they say of a provider cannot be.
    """
    configured = config.providers if config else {}
    return catalog({**configured, **providers_from_env(environ)})


@dataclass(frozen=True, slots=True)
class Source:
    """The variable that holds the configuration."""

    variable: str
    text: str

    @property
    def path(self) -> Path | None:
        """The file that ``@path`` names; None where the variable holds the JSON itself."""
        return named_path(self.text)

    @property
    def name(self) -> str:
        """The variable, and the file if it names one."""
        return f"{self.variable} ({self.path})" if self.path else self.variable

    def read(self) -> str | bytes:
        """Return the JSON.

        Raises:
            ConfigError: The file cannot be read.
        """
        return read_variable(self.text)


def find_source(environ: Mapping[str, str]) -> Source | None:
    """Return the variable that is set; None where neither is."""
    text = environ.get(VARIABLE)
    if text is not None:
        return Source(VARIABLE, text)
    text = environ.get(COORDINATOR_VARIABLE)
    return None if text is None else Source(COORDINATOR_VARIABLE, text)


class ConfigReader:
    """Read the configuration in the environment again whenever it has changed.

    A configuration that is wrong is logged once, as an error, and is then no configuration.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._environ = environ
        self._wall_clock = wall_clock
        self._text: str | None = None
        self._file: _File | None = None
        self._seen: object = None
        self.config: FallbackConfig | None = None
        self.is_read = False

    def has_changed(self) -> bool:
        """Say whether `config` differs from what it was at the last call."""
        # Asked before every step, and nearly always in vain: a comparison, at most one `stat`.
        text = self._environ.get(VARIABLE)
        if text is None:
            text = self._environ.get(COORDINATOR_VARIABLE)
        is_same = self.is_read and text == self._text
        if is_same and (self._file is None or self._file.is_as_it_was()):
            return False
        self._text = text
        return self._read_again()

    def _read_again(self) -> bool:
        source = find_source(self._environ)
        path = source.path if source else None
        # Looked at before it is read, so that a write in between is seen the next time.
        self._file = None if path is None else _File(path, now=self._wall_clock())
        if source is None or not source.text.strip():
            return self._take(None, None)
        try:
            content = source.read()
        except ConfigError as error:
            return self._take((source.name, str(error)), None, error=f"{source.name}: {error}")
        if content == self._seen:
            return False
        try:
            return self._take(content, parse_config(content))
        except ConfigError as error:
            return self._take(content, None, error=f"{source.name}: {error}")

    def _take(self, seen: object, config: FallbackConfig | None, error: str = "") -> bool:
        self.is_read = True
        if seen == self._seen:
            return False
        self._seen, self.config = seen, config
        if error:
            _logger.error("the fallback configuration is ignored: %s", error)
        for warning in config.warnings if config else ():
            _logger.warning("fallback configuration: %s", warning)
        return True


class _File:
    """A file as it was when it was looked at.

    Args:
        now: Epoch seconds.
    """

    __slots__ = ("_path", "_stamp")

    def __init__(self, path: Path, *, now: float) -> None:
        self._path = os.fspath(path)
        stamp = _stamp(self._path)
        is_settled = stamp is not None and now - max(stamp[:2]) / 1e9 >= _SETTLED_AFTER
        self._stamp = stamp if is_settled else None

    def is_as_it_was(self) -> bool:
        """Say whether it need not be read again."""
        return self._stamp is not None and _stamp(self._path) == self._stamp


def _stamp(path: str) -> tuple[int, ...] | None:
    """Return what differs once a file has been written or replaced; None where it is missing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev
