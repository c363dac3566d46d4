"""What the rules of all wires read of a request."""

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
    """A request to judge, in any wire."""

    body: Mapping[str, Any]
    route: Route
    vendor: str
    issuer: Issuer

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """All messages, if the wire has any; one that is not an object counts as empty."""
        return [mapping(each) for each in listed(self.body.get("messages"))]
