"""Variables that look like ours and are not, because somebody misspelt them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from ...provider.log import logger
from .config_warning import ConfigWarning

PREFIX = "SIDESTEP_"

READ = (
    "SIDESTEP_FALLBACK_CONFIG",
    "SIDESTEP_HINT",
    "SIDESTEP_JOURNAL",
    "SIDESTEP_LIMITS",
    "SIDESTEP_PROVIDERS",
    "SIDESTEP_ROUTING_RULES",
)
"""Every variable of ours that is read."""

GIVEN = frozenset({"SIDESTEP_DRILL_MODEL", "SIDESTEP_DRILL_PROMPT"})
"""What ``sidestep drill --serve`` gives the command that it starts, which may embed sidestep."""

RESERVED = frozenset({"SIDESTEP_FLEET"})
"""Names that will be read one day: no mistake, and nothing to advise."""

_KNOWN = {*READ, *GIVEN, *RESERVED}


def unknown_variables(environ: Mapping[str, str]) -> Iterator[ConfigWarning]:
    """Warn of each variable that begins with `PREFIX` and is none of ours, with the nearest one."""
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in _KNOWN:
            (nearest,) = difflib.get_close_matches(name, READ, n=1, cutoff=0)
            message = f"{name!r} is no variable that sidestep reads"
            yield ConfigWarning("C022", message, f"name it {nearest}, or rename it if it is yours")


def log_unknown_variables(environ: Mapping[str, str]) -> None:
    """Log what `unknown_variables` finds."""
    for warning in unknown_variables(environ):
        logger.warning("%s", warning)
