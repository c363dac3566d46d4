"""Rules for cache markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ....json_value import listed, mapping
from ..anthropic_words import EMPTY_MARKED, EXTRA, MOST_MARKERS, too_many_markers
from .request import AnthropicRequest, bad

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..complaint import Complaint

TTLS = ("5m", "1h")
IGNORING = frozenset({"zai", "moonshot", "deepseek", "minimax"})
"""The facades that ignore markers."""


class MarkedBlock(NamedTuple):
    """A block that may carry a marker.

    Args:
        where: Its path.
        kind: Its type, as paths name it.
    """

    where: str
    kind: str
    block: Mapping[str, Any]

    @property
    def marker(self) -> object:
        return self.block.get("cache_control")


def marked(request: AnthropicRequest) -> Iterator[MarkedBlock]:
    """Return all blocks that carry a marker, in the order in which they are cached."""
    return (each for each in _all(request) if each.marker is not None)


def _all(request: AnthropicRequest) -> Iterator[MarkedBlock]:
    for place, tool in enumerate(listed(request.body.get("tools"))):
        yield MarkedBlock(f"tools.{place}", "custom", mapping(tool))
    for place, block in enumerate(listed(request.body.get("system"))):
        yield MarkedBlock(f"system.{place}", "text", mapping(block))
    for index, place, block in request.blocks():
        where = f"messages.{index}.content.{place}"
        for inner, each in enumerate(listed(block.get("content"))):
            at = f"{where}.{block.get('type')}.content.{inner}"
            yield MarkedBlock(at, str(mapping(each).get("type")), mapping(each))
        yield MarkedBlock(where, str(block.get("type")), block)
    yield MarkedBlock("", "top", request.body)


def marks_only_what_can_be(request: AnthropicRequest) -> Complaint | None:
    if request.vendor in IGNORING:
        return None
    for each in marked(request):
        if each.kind in {"thinking", "redacted_thinking"}:
            return bad(f"{each.where}.{each.kind}.cache_control: {EXTRA}")
        if each.kind == "text" and not each.block.get("text"):
            where = each.where if each.where.startswith("system") else f"{each.where}.text"
            return bad(f"{where}: {EMPTY_MARKED}")
    return None


def has_markers_in_form(request: AnthropicRequest) -> Complaint | None:
    if request.vendor in IGNORING:
        return None
    is_short = False
    for each in marked(request):
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


def has_few_markers(request: AnthropicRequest) -> Complaint | None:
    count = len(list(marked(request)))
    if count <= MOST_MARKERS or request.vendor in IGNORING:
        return None
    return bad(too_many_markers(count))


MARKER_RULES = (marks_only_what_can_be, has_markers_in_form, has_few_markers)
