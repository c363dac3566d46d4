"""What Anthropic refuses of cache markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ....json_value import listed, mapping
from .request import Said, bad
from .settings import EXTRA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..complaint import Complaint

MOST = 4
TTLS = ("5m", "1h")
IGNORING = frozenset({"zai", "moonshot", "deepseek", "minimax"})
"""Facades that read no marker."""


class Marked(NamedTuple):
    """A block that may be marked.

    Args:
        where: Its path.
        kind: Its type, as it stands in a path.
    """

    where: str
    kind: str
    block: Mapping[str, Any]

    @property
    def marker(self) -> object:
        return self.block.get("cache_control")


def marked(said: Said) -> Iterator[Marked]:
    """Go through all blocks that carry a marker, in the order in which they are cached."""
    return (each for each in _all(said) if each.marker is not None)


def _all(said: Said) -> Iterator[Marked]:
    for place, tool in enumerate(listed(said.body.get("tools"))):
        yield Marked(f"tools.{place}", "custom", mapping(tool))
    for place, block in enumerate(listed(said.body.get("system"))):
        yield Marked(f"system.{place}", "text", mapping(block))
    for index, place, block in said.blocks():
        where = f"messages.{index}.content.{place}"
        for inner, each in enumerate(listed(block.get("content"))):
            at = f"{where}.{block.get('type')}.content.{inner}"
            yield Marked(at, str(mapping(each).get("type")), mapping(each))
        yield Marked(where, str(block.get("type")), block)
    yield Marked("", "top", said.body)


def marks_only_what_can_be(said: Said) -> Complaint | None:
    if said.vendor in IGNORING:
        return None
    for each in marked(said):
        if each.kind in {"thinking", "redacted_thinking"}:
            return bad(f"{each.where}.{each.kind}.cache_control: {EXTRA}")
        if each.kind == "text" and not each.block.get("text"):
            where = each.where if each.where.startswith("system") else f"{each.where}.text"
            return bad(f"{where}: cache_control cannot be set for empty text blocks")
    return None


def has_markers_in_form(said: Said) -> Complaint | None:
    if said.vendor in IGNORING:
        return None
    is_short = False
    for each in marked(said):
        where = f"{each.where}.cache_control".lstrip(".")
        if mapping(each.marker).get("type") != "ephemeral":
            return bad(f"{where}.type: Input should be 'ephemeral'")
        ttl = mapping(each.marker).get("ttl", "5m")
        if ttl not in TTLS:
            return bad(f"{where}.ephemeral.ttl: Input should be '5m' or '1h'")
        if ttl == "1h" and is_short:
            return bad(
                f"{where}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
        is_short = is_short or (ttl == "5m" and each.kind != "top")
    return None


def has_few_markers(said: Said) -> Complaint | None:
    count = len(list(marked(said)))
    if count <= MOST or said.vendor in IGNORING:
        return None
    return bad(f"A maximum of {MOST} blocks with cache_control may be provided. Found {count}.")


MARKER_RULES = (marks_only_what_can_be, has_markers_in_form, has_few_markers)
