"""The variables that can say where a step may go, and which of them are set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.env_value import named_path, read_variable
from ...provider.secret import masked
from .numbered_variables import FIELDS, written_entries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

VARIABLE = "SIDESTEP_FALLBACK_CONFIG"
COORDINATOR_VARIABLE = "REPLO_OPENCODE_FALLBACK_CONFIG"
"""What existing coordinators inject; read when `VARIABLE` is unset."""
CONFIG_VARIABLES = frozenset({VARIABLE, COORDINATOR_VARIABLE})
RULES_VARIABLE = "SIDESTEP_ROUTING_RULES"
HINT_VARIABLE = "SIDESTEP_HINT"
NUMBERED = "MODEL_BASE_URL"
"""The first of the numbered variables."""


@dataclass(frozen=True, slots=True)
class Source:
    """One description of where a step may go.

    Args:
        variable: The variable that holds it, or the first of several.
        text: What stands there: the description itself, or ``@path`` of a file.
    """

    variable: str
    text: str

    @property
    def path(self) -> Path | None:
        """The file that ``@path`` names; None where the variable holds the text itself."""
        return named_path(self.text)

    @property
    def name(self) -> str:
        """The variable, and the file if it names one; what looks like a key is masked."""
        return masked(f"{self.variable} ({self.path})") if self.path else self.variable

    def read(self) -> str | bytes:
        """Return what it says.

        Raises:
            ConfigError: The file cannot be read.
        """
        return read_variable(self.text)

    def reads(self, content: str | bytes, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the other variables that what it says depends on.

        Where ``SIDESTEP_PROVIDERS`` names a file, what is written there later is not followed.
        """
        if self.variable == NUMBERED:
            entries = written_entries(environ)
            spelled = (each.variable(name) for each in entries.values() for name in FIELDS)
            return (*spelled, f"MODEL_FALLBACK_{max(entries, default=0) + 1}_BASE_URL")
        if self.variable == HINT_VARIABLE:
            from .variable_expansion import names

            text = content if isinstance(content, str) else content.decode(errors="replace")
            return (PROVIDERS_VARIABLE, *names(text))
        return (PROVIDERS_VARIABLE,) if self.variable == RULES_VARIABLE else ()


def find_sources(environ: Mapping[str, str]) -> list[Source]:
    """Return what is set, the one that is used first."""
    found = []
    for name in (VARIABLE, COORDINATOR_VARIABLE):
        text = environ.get(name)
        if text is not None:
            found.append(Source(name, text))
            break
    for name in (RULES_VARIABLE, HINT_VARIABLE):
        text = environ.get(name)
        if text is not None and text.strip():
            found.append(Source(name, text))
    entries = written_entries(environ)
    if entries:
        found.append(Source(NUMBERED, "the MODEL_* variables"))
    # One that is empty stands for the other of its two variables, and for no other way.
    return found[1:] if len(found) > 1 and not found[0].text.strip() else found


def conflict(sources: Sequence[Source]) -> str | None:
    """Say which of several descriptions wins; None where there is one at most."""
    told = [source.name for source in sources if source.text.strip()]
    if len(told) < 2:
        return None
    rest, verb = " and ".join(told[1:]), "is" if len(told) == 2 else "are"
    return f"{told[0]} is used, and {rest} {verb} not: unset all but one"
