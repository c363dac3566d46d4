"""What every rule of the strict stub looks at, in whichever wire."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...json_value import listed, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...route import Route
    from ..signature.issuer import Issuer


@dataclass(frozen=True, kw_only=True)
class StrictRequest:
    """A request to judge."""

    body: Mapping[str, Any]
    route: Route
    vendor: str
    issuer: Issuer

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """All messages, in the wires that have any; what is none is an empty one."""
        return [mapping(each) for each in listed(self.body.get("messages"))]
