"""What all settings have in common, whatever they set."""

from __future__ import annotations

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

SETTINGS = ConfigDict(
    strict=True,
    frozen=True,
    extra="forbid",
    alias_generator=to_camel,
    populate_by_name=True,
    hide_input_in_errors=True,
    defer_build=True,  # most programs import us without ever configuring a provider
)
"""For settings in camelCase or snake_case; what none of them is, is refused."""
