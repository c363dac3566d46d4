"""The warning of a link of a chain that is outside the boundary of the chain's steps."""

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
        who: What must stay there.
        like: What declares *boundary*; empty: it is set for all steps.
        name: What *entry* is called.
        cure: What to do if the boundary of *entry* is unknown.
        link: What a part of the chain is called.
    """
    if boundary is None or entry.boundary == boundary:
        return None
    actual = "is unknown" if entry.boundary is None else f"is {entry.boundary!r}"
    there = f"{boundary!r}, as {like}" if like else repr(boundary)
    message = f"{who} must stay in {there}, but the boundary of {name} {actual}"
    fix = cure if entry.boundary is None else "name another route there"
    return ConfigWarning("C054", f"{message}, so it is never used", f"{fix}, or remove the {link}")


def provider_cure(entry: ChainEntry) -> str:
    """Return what to do if the boundary of *entry*, which only its provider has, is unknown."""
    return f"write the `boundary` of {entry.route.provider!r} in SIDESTEP_PROVIDERS"
