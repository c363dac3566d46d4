"""A warning about a configuration, as `sidestep check` prints it."""

from __future__ import annotations

from dataclasses import dataclass

from ...provider.secret import redact_shapes


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """A part of the configuration that does not do what its author meant.

    What looks like a key is redacted in both texts.

    Args:
        code: A stable code such as ``C003``; the README of this folder lists them.
        message: What is wrong, with the value.
        fix: What to change.
    """

    code: str
    message: str
    fix: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redact_shapes(self.message))
        object.__setattr__(self, "fix", redact_shapes(self.fix))

    def __str__(self) -> str:
        return f"{self.code}: {self.message}: {self.fix}"
