"""The warnings of `check` about links of a chain: what a step would lack after a move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .config_warning import ConfigWarning
from .model_owner import owner_warning

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from ...provider.catalog.provider import Provider
    from .chain_entry import ChainEntry

_TOOLS = "tool_calling"


def link_warnings(
    chains: Iterable[tuple[ChainEntry, ...]],
    providers: Mapping[str, Provider],
    *,
    warned_of: Container[object] = (),
) -> Iterator[ConfigWarning]:
    """Warn of links to routes that are less capable than the first route of their chain.

    Args:
        chains: With the requested route first.
        providers: The providers of this process.
        warned_of: Routes that already have a warning about their names.
    """
    found: dict[ConfigWarning, None] = {}
    for head, *links in chains:
        for entry in (head, *links):
            provider = providers.get(entry.route.provider)
            if provider is None or entry.route in warned_of:
                continue
            if warning := owner_warning(entry.route, provider):
                found[warning] = None
        for entry in links:
            found.update(dict.fromkeys(_of_link(head, entry)))
    yield from found


def _of_link(head: ChainEntry, entry: ChainEntry) -> Iterator[ConfigWarning]:
    name, window = str(entry.route), entry.context_window
    if head.context_window and window and 2 * window < head.context_window:
        message = (
            f"{name!r} holds {window} tokens, less than half of the {head.context_window} of "
            f"{str(head.route)!r}, so that a longer conversation never moves there"
        )
        yield ConfigWarning("C024", message, "name a route that holds more, or correct the window")
    can_head = head.capabilities is None or _TOOLS in head.capabilities
    if can_head and entry.capabilities is not None and _TOOLS not in entry.capabilities:
        message = f"{name!r} has no {_TOOLS}, so that no step with tools moves there"
        yield ConfigWarning("C025", message, f"add {_TOOLS} to its `capabilities`, or remove it")
