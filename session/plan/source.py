"""The environment variables that can hold a configuration, and which of them are set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...provider.catalog.catalog import VARIABLE as PROVIDERS_VARIABLE
from ...provider.env_value import named_path, read_variable
from ...provider.error import ConfigError
from ...provider.secret import redact_shapes
from .numbered_variables import numbered_entries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

VARIABLE = "SIDESTEP_FALLBACK_CONFIG"
COORDINATOR_VARIABLE = "REPLO_OPENCODE_FALLBACK_CONFIG"
"""What existing coordinators inject; read when `VARIABLE` is unset."""
CONFIG_VARIABLES = frozenset({VARIABLE, COORDINATOR_VARIABLE})
RULES_VARIABLE = "SIDESTEP_ROUTING_RULES"
HINT_VARIABLE = "SIDESTEP_HINT"
LIMITS_VARIABLE = "SIDESTEP_LIMITS"
"""The limits of a hint and of numbered variables; the other forms hold their own."""
NUMBERED = "MODEL_BASE_URL"
"""The first of the numbered variables."""

_JSON_VARIABLES: Mapping[str, tuple[str, ...]] = {
    RULES_VARIABLE: (PROVIDERS_VARIABLE,),
    HINT_VARIABLE: (PROVIDERS_VARIABLE, LIMITS_VARIABLE),
    NUMBERED: (LIMITS_VARIABLE,),
}
"""The variables with JSON that each source depends on."""


@dataclass(frozen=True, slots=True)
class Source:
    """One configuration in the environment.

    Args:
        variable: The variable that holds it, or the first of several.
        text: The value of the variable: the configuration itself, or ``@path`` of a file.
    """

    variable: str
    text: str

    @property
    def path(self) -> Path | None:
        """The file that ``@path`` names; None: the variable holds the configuration itself."""
        return named_path(self.text)

    @property
    def name(self) -> str:
        """The variable, and the file if it names one; what looks like a key is redacted."""
        is_named = self.path is not None and self.path.name
        return redact_shapes(f"{self.variable} ({self.path})") if is_named else self.variable

    def takes_limits(self) -> bool:
        """True if the limits of this form are in ``SIDESTEP_LIMITS``."""
        return LIMITS_VARIABLE in self._json_variables

    def read(self) -> str | bytes:
        """Return the text of the configuration.

        Raises:
            ConfigError: The file cannot be read.
        """
        return read_variable(self.text)

    def reads(self, content: str | bytes, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the other variables that *content* depends on."""
        if self.variable == NUMBERED:
            entries = numbered_entries(environ)
            variables = (
                each.variable(name) for each in entries.values() for name in each.dependencies
            )
            return (
                *self._json_variables,
                *variables,
                f"MODEL_FALLBACK_{max(entries, default=0) + 1}_BASE_URL",
            )
        if self.variable == HINT_VARIABLE:
            from .variable_expansion import names

            text = content if isinstance(content, str) else content.decode(errors="replace")
            return (*self._json_variables, *names(text))
        return self._json_variables

    def files(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        """Return the files that hold it, or what it depends on; they may be missing."""
        texts = (environ.get(name, "") for name in self._json_variables)
        paths = (self.path, *map(named_path, texts))
        return tuple(path for path in paths if path is not None)

    def dependencies(self, content: str | bytes, environ: Mapping[str, str]) -> tuple[object, ...]:
        """Return the values of the variables that *content* depends on, or of their files."""
        return tuple(
            _read(environ[name])
            if name in self._json_variables and name in environ
            else environ.get(name)
            for name in self.reads(content, environ)
        )

    @property
    def _json_variables(self) -> tuple[str, ...]:
        return _JSON_VARIABLES.get(self.variable, ())


def _read(text: str) -> object:
    """Return the content of *text*, or why it has none."""
    try:
        return read_variable(text)
    except ConfigError as error:
        return str(error)


def find_sources(environ: Mapping[str, str]) -> list[Source]:
    """Return every configuration that is set; the first one is used."""
    sources = []
    for name in (VARIABLE, COORDINATOR_VARIABLE):
        text = environ.get(name)
        if text is not None:
            sources.append(Source(name, text))
            break
    for name in (RULES_VARIABLE, HINT_VARIABLE):
        text = environ.get(name)
        if text is not None and text.strip():
            sources.append(Source(name, text))
    entries = numbered_entries(environ)
    is_alone = not any(source.text.strip() for source in sources)
    # Beside another source, a key or a model without a URL belongs to some other program.
    if entries and (is_alone or any(entry.value("BASE_URL") for entry in entries.values())):
        sources.append(Source(NUMBERED, "the MODEL_* variables"))
    # If the first source is empty, it counts only if no other is set.
    return sources[1:] if len(sources) > 1 and not sources[0].text.strip() else sources


def conflict(sources: Sequence[Source]) -> str | None:
    """Return which of several configurations is used; None: at most one is set."""
    names = [source.name for source in sources if source.text.strip()]
    if len(names) < 2:
        return None
    rest, verb = " and ".join(names[1:]), "is" if len(names) == 2 else "are"
    return f"{names[0]} is used, and {rest} {verb} not: unset all but one"
