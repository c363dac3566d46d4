"""Whether reasoning proves to its own route what it was issued for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..conversation import Reasoning
    from .target import Target


def why_unproved(reasoning: Reasoning, target: Target) -> str | None:
    """Say why *target* does not take back the *reasoning* that it issued; None: it does."""
    if not reasoning.complete:
        return "it is not finished"
    # Anthropic's alone: the other APIs have no place for it.
    redacted = reasoning.redacted if target.wire == "anthropic" else None
    match target.proof:
        case "signature" if not (reasoning.signature or redacted):
            return "it has no signature"
        case "unsigned" if not (reasoning.text or reasoning.signature or redacted):
            return "it is empty"
        case "encrypted" if not (reasoning.encrypted and reasoning.item_id):
            return "it has no encrypted form"
        case "details" if not reasoning.details:
            return "it has no details"
        case "text" if not reasoning.text:
            return "it is empty"
        case "none":
            return "this API takes none back"
        case _:
            return None
