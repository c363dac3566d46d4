"""Where the configuration is read from, and when it is read again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ...provider.error import ConfigError
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
"""Seconds after a write within which another one may leave the same time on a file."""

_FIRST_NUMBERED = ("MODEL_BASE_URL", "MODEL_FALLBACK_1_BASE_URL")

_logger = logging.getLogger("sidestep")


class PlanWatcher:
    """Read what the environment says again whenever it has changed.

    What is wrong is logged once, as an error, and then says nothing.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.environ = environ
        self._wall_clock = wall_clock
        self._text: object = None
        self._reads: tuple[str, ...] = ()
        self._file: FileStamp | None = None
        self._seen: object = None
        self.plan: Plan | None = None
        self.is_read = False

    def has_changed(self) -> bool:
        """Say whether `plan` differs from what it was at the last call."""
        # Asked before every step, and nearly always in vain: a comparison, at most one `stat`.
        text = self._said()
        is_same = self.is_read and text == self._text
        if is_same and (self._file is None or self._file.is_as_it_was()):
            return False
        self._text = text
        return self._read_again()

    def _said(self) -> object:
        """Return what would show that the description has changed, or another was set."""
        text = self.environ.get(VARIABLE)
        if text is None:
            text = self.environ.get(COORDINATOR_VARIABLE)
        if text and not text.isspace():
            return text
        others = (RULES_VARIABLE, HINT_VARIABLE, *_FIRST_NUMBERED, *self._reads)
        # A numbered entry may come behind any gap: that more is set than before tells of it.
        return (text, len(self.environ), *map(self.environ.get, others))

    def _read_again(self) -> bool:
        sources = find_sources(self.environ)
        source = sources[0] if sources else None
        path = source.path if source else None
        # Looked at before it is read, so that a write in between is seen the next time.
        self._file = None if path is None else FileStamp(path, now=self._wall_clock())
        if source is None or not source.text.strip():
            return self._take(None, None)
        told = conflict(sources) or ""
        try:
            content = source.read()
        except ConfigError as error:
            return self._take((source.name, str(error)), None, error=f"{source.name}: {error}")
        seen: object = content
        if source.variable not in CONFIG_VARIABLES:
            self._reads = source.reads(content, self.environ)
            self._text = self._said()
            seen = content, told, *map(self.environ.get, self._reads)
        if seen == self._seen:
            return False
        try:
            plan = plan_from(source, content, self.environ)
        except ConfigError as error:
            return self._take(seen, None, error=f"{source.name}: {error}")
        if told:
            _logger.error("more than one configuration is set: %s", told)
        return self._take(seen, plan)

    def _take(self, seen: object, plan: Plan | None, error: str = "") -> bool:
        self.is_read = True
        if seen == self._seen:
            return False
        self._seen, self.plan = seen, plan
        if error:
            _logger.error("the fallback configuration is ignored: %s", error)
        for warning in plan.warnings if plan else ():
            _logger.warning("fallback configuration: %s", warning)
        return True


class FileStamp:
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
