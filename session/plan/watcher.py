"""Watch the environment, and read the configuration again when it changes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ...provider.error import ConfigError
from ...provider.log import logger
from .load import plan_from
from .plan import Plan
from .source import (
    CONFIG_VARIABLES,
    COORDINATOR_VARIABLE,
    HINT_VARIABLE,
    RULES_VARIABLE,
    VARIABLE,
    conflict,
    find_sources,
)

_SETTLED_AFTER = 2.0
"""Seconds after a write in which another write may leave the same time on the file."""

_FIRST_NUMBERED = ("MODEL_BASE_URL", "MODEL_FALLBACK_1_BASE_URL")


class PlanWatcher:
    """Follow the configuration in *environ*.

    A wrong configuration is logged once, as an error, and then counts as none.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.environ = environ
        self._wall_clock = wall_clock
        self._environment: object = None
        self._reads: tuple[str, ...] = ()
        self._file: FileStamp | None = None
        self._seen: object = None
        self.plan: Plan | None = None
        self.is_read = False

    def has_changed(self) -> bool:
        """True if `plan` differs from the plan at the last call."""
        # Runs before every step and nearly always finds no change: one comparison and one `stat`.
        environment = self._fingerprint()
        is_same = self.is_read and environment == self._environment
        if is_same and (self._file is None or self._file.is_unchanged()):
            return False
        self._environment = environment
        return self._read_again()

    def _fingerprint(self) -> object:
        """Return a value that differs once a configuration is changed or another is set."""
        text = self.environ.get(VARIABLE)
        if text is None:
            text = self.environ.get(COORDINATOR_VARIABLE)
        if text and not text.isspace():
            return text
        others = (RULES_VARIABLE, HINT_VARIABLE, *_FIRST_NUMBERED, *self._reads)
        # A numbered entry may appear after any gap; the number of variables reveals it.
        return (text, len(self.environ), *map(self.environ.get, others))

    def _read_again(self) -> bool:
        sources = find_sources(self.environ)
        source = sources[0] if sources else None
        path = source.path if source else None
        # Stamped before reading, so that a write in between is noticed the next time.
        self._file = None if path is None else FileStamp(path, now=self._wall_clock())
        if source is None or not source.text.strip():
            return self._replace(None, None)
        conflicts = conflict(sources) or ""
        try:
            content = source.read()
        except ConfigError as error:
            return self._replace((source.name, str(error)), None, error=f"{source.name}: {error}")
        seen: object = content
        if source.variable not in CONFIG_VARIABLES:
            self._reads = source.reads(content, self.environ)
            self._environment = self._fingerprint()
            seen = content, conflicts, *map(self.environ.get, self._reads)
        if seen == self._seen:
            return False
        try:
            plan = plan_from(source, content, self.environ)
        except ConfigError as error:
            return self._replace(seen, None, error=f"{source.name}: {error}")
        if conflicts:
            logger.error("more than one configuration is set: %s", conflicts)
        return self._replace(seen, plan)

    def _replace(self, seen: object, plan: Plan | None, error: str = "") -> bool:
        self.is_read = True
        if seen == self._seen:
            return False
        self._seen, self.plan = seen, plan
        if error:
            logger.error("the fallback configuration is ignored: %s", error)
        for warning in plan.warnings if plan else ():
            logger.warning("fallback configuration: %s", warning)
        return True


class FileStamp:
    """The state of a file when it was looked at.

    Args:
        now: Epoch seconds.
    """

    __slots__ = ("_path", "_stamp")

    def __init__(self, path: Path, *, now: float) -> None:
        self._path = os.fspath(path)
        stamp = _stamp(self._path)
        is_settled = stamp is not None and now - max(stamp[:2]) / 1e9 >= _SETTLED_AFTER
        self._stamp = stamp if is_settled else None

    def is_unchanged(self) -> bool:
        """True if the file need not be read again."""
        return self._stamp is not None and _stamp(self._path) == self._stamp


def _stamp(path: str) -> tuple[int, ...] | None:
    """Return values that differ once a file is written or replaced; None: it is missing."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino, stat.st_dev
