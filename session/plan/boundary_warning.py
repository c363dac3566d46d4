"""The warning of a link of a chain that leads outside the boundary of the chain's steps."""

from __future__ import annotations

from .chain_entry import ChainEntry
from .config_warning import ConfigWarning


def outside_warning(
    entry: ChainEntry,
    boundary: str | None,
    *,
    who: str,
    like: str = "",
    name: str,
    cure: str,
    link: str,
) -> ConfigWarning | None:
    """Warn that no step goes to *entry*, because it is outside *boundary*; None: it is not.

    Args:
        boundary: Where the steps must stay; None: anywhere.
        who: The step or chain that must stay there.
        like: The place that declares *boundary*; empty: it is set for all steps.
        name: The name of *entry* in the message.
        cure: What to do if the boundary of *entry* is unknown.
        link: The word for a part of the chain in the message.
    """
    if boundary is None or entry.boundary == boundary:
        return None
    actual = "is unknown" if entry.boundary is None else f"is {entry.boundary!r}"
    there = f"{boundary!r}, as {like}" if like else repr(boundary)
    message = f"{who} must stay in {there}, but the boundary of {name} {actual}"
    fix = cure if entry.boundary is None else "name another route there"
    return ConfigWarning("C054", f"{message}, so it is never used", f"{fix}, or remove the {link}")


def provider_cure(entry: ChainEntry) -> str:
    """Return what to do if the boundary of *entry* is unknown. Only its provider sets it."""
    return f"write the `boundary` of {entry.route.provider!r} in SIDESTEP_PROVIDERS"
