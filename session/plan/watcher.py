"""Watch the environment, and read the configuration again when it changes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...provider.error import ConfigError
from ...provider.fork import after_fork
from ...provider.log import logger
from .load import map_plan, plan_from
from .plan import Plan
from .source import (
    CONFIG_VARIABLES,
    COORDINATOR_VARIABLE,
    HINT_VARIABLE,
    RULES_VARIABLE,
    VARIABLE,
    Source,
    conflict,
    find_sources,
)

if TYPE_CHECKING:
    from .config import FallbackConfig

_SETTLED_AFTER = 2.0
"""Seconds after a write in which another write may leave the same time on the file."""

_FIRST_NUMBERED = ("MODEL_BASE_URL", "MODEL_FALLBACK_1_BASE_URL")


class PlanWatcher:
    """Follow the configuration in *environ*.

    If a configuration is wrong, or its file is empty or cannot be read, that is logged once as an
    error, and the last good configuration stays in force. An empty or unset variable ends it.

    Attributes:
        plan: The last good configuration; None: none is set.
        lock: Held by the thread that calls `has_changed`. A forked child gets a new lock.
        is_read: The environment has been read at least once.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.environ = environ
        self.lock = threading.RLock()
        self.is_read = False
        self._wall_clock = wall_clock
        self._environment: object = None
        self._text: str | None = None
        self._reads: tuple[str, ...] = ()
        self._files: tuple[FileStamp, ...] = ()
        self.plan: Plan | None = None
        self._seen: object = None  # what `plan` was read from
        self._complaint: tuple[object, str] | None = None
        after_fork(self, PlanWatcher._outlive_fork)

    def is_as_read(self) -> bool:
        """True if `VARIABLE` holds the text that was read last, and the file it names is the same.

        It needs no lock. It runs before every step, and nearly always there is no change.
        """
        # In this order, because a thread that reads again empties `_text` before it sets `_files`.
        files, text = self._files, self._text
        if text is None:
            return False
        try:
            is_same = self.environ[VARIABLE] == text  # sooner than `get`
        except KeyError:
            return False
        return is_same and (not files or all(map(FileStamp.is_unchanged, files)))

    def has_changed(self) -> bool:
        """True if `plan` differs from the plan at the last call."""
        environment = self._fingerprint()
        is_same = self.is_read and environment == self._environment
        if is_same and all(map(FileStamp.is_unchanged, self._files)):
            return False
        self._text, self._environment = None, environment
        is_changed = self._read_again()
        self.is_read = True
        if isinstance(environment, str):
            self._text = environment  # last, because a thread without the lock may read it
        return is_changed

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
        # Stamped before reading, so that a write in between is noticed the next time.
        paths = source.files(self.environ) if source else ()
        self._files = tuple(FileStamp(path, now=self._wall_clock()) for path in paths)
        if source is None or not source.text.strip():
            return self._accept(None, None)
        try:
            content = source.read()
        except ConfigError as error:
            return self._keep(source, str(error), error)
        seen: object = content
        if source.variable not in CONFIG_VARIABLES:
            self._reads = source.reads(content, self.environ)
            self._environment = self._fingerprint()
            seen = content, conflict(sources), *source.dependencies(content, self.environ)
        if seen == self._seen:
            return self._accept(seen, self.plan)
        if self._complaint is not None and seen == self._complaint[0]:
            return False
        try:
            plan = plan_from(source, content, self.environ)
        except ConfigError as error:
            return self._keep(source, seen, error)
        if conflicts := conflict(sources):
            logger.error("more than one configuration is set: %s", conflicts)
        return self._accept(seen, plan)

    def _accept(self, seen: object, plan: Plan | None) -> bool:
        """Put *plan*, read from *seen*, in force; True if another one was in force."""
        self._complaint = None
        is_changed = seen != self._seen
        self.plan = plan
        self._seen = seen  # last, because a child that is forked in between reads it again
        if plan is not None and is_changed:
            log_warnings(plan)
        return is_changed

    def _keep(self, source: Source, seen: object, error: ConfigError) -> bool:
        """Log *error*, unless it is logged; the configuration in force stays.

        A file that is being written holds one wrong text after another, and is logged once.
        """
        is_being_written = not all(each.is_settled for each in self._files)
        if self._complaint is not None:
            logged, name = self._complaint
            if seen == logged or (is_being_written and name == source.name):
                return False
        self._complaint = seen, source.name
        if self.plan is None:
            logger.error("the fallback configuration is ignored: %s: %s", source.name, error)
        else:
            logger.error(
                "the new fallback configuration is ignored, and the last good one stays in force: "
                "%s: %s", source.name, error,
            )  # fmt: skip
        return False

    def _outlive_fork(self) -> None:
        """Read again in a forked child, because another thread may have been reading."""
        self.lock = threading.RLock()
        self._text = self._environment = None


def plan_of(config: FallbackConfig | Plan | None, environ: Mapping[str, str]) -> Plan | None:
    """Return the plan of *config*, and log its warnings; None: there is no configuration.

    Raises:
        TypeError: *config* is something else.
        ConfigError: A provider setting in *config* is wrong.
    """
    if config is None or isinstance(config, Plan):
        return config
    from .config import FallbackConfig  # an instance was made, so this is imported by now

    if isinstance(config, FallbackConfig):
        plan = map_plan(config, environ)
        log_warnings(plan)
        return plan
    raise TypeError(
        f"the configuration must be a `FallbackConfig`, got {type(config).__name__}: make one with "
        "`FallbackConfig.model_validate(…)`, or take `Sidestep.from_env()`"
    )


def log_warnings(plan: Plan) -> None:
    """Log the warnings of *plan*."""
    for warning in plan.warnings:
        logger.warning("fallback configuration: %s", warning)


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

    @property
    def is_settled(self) -> bool:
        """True if the file was there, and its last write was not a moment ago."""
        return self._stamp is not None

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
