"""Judge requests as the real APIs do: what each of them refuses, in its own words.

Pure functions over a parsed body; nothing is remembered between two requests. It knows nothing of
how requests are made here, so that it can tell when one is made wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from . import (
    strict_anthropic,
    strict_chat,
    strict_completion,
    strict_content,
    strict_gemini,
    strict_messages,
    strict_response,
    strict_responses,
)
from .complaint import Complaint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .issuer import Issuer
    from .route import Route
    from .wire import Wire


def complaint(
    body: Mapping[str, object], *, route: Route, vendor: str, wire: Wire, issuer: Issuer
) -> Complaint | None:
    """Say why the API behind *route* would refuse *body*; None where it would take it.

    Args:
        vendor: Whose API it is. One that is not known is judged only by what all have in common;
            on Anthropic's wire it is a facade.
        issuer: Who made the proofs that are good there.
    """
    try:
        return _judge(body, route, vendor, wire, issuer)
    except RecursionError:
        return Complaint(message="The request is nested too deeply.")  # made up


def _judge(
    body: Mapping[str, object], route: Route, vendor: str, wire: Wire, issuer: Issuer
) -> Complaint | None:
    match wire:
        case "anthropic":
            return strict_anthropic.complaint(
                strict_messages.Said(body=body, route=route, vendor=vendor, issuer=issuer)
            )
        case "openai-chat":
            return strict_chat.complaint(
                strict_completion.Said(body=body, route=route, vendor=vendor, issuer=issuer)
            )
        case "openai-responses":
            return strict_responses.complaint(
                strict_response.Said(body=body, route=route, vendor=vendor, issuer=issuer)
            )
        case "gemini":
            return strict_gemini.complaint(
                strict_content.Said(body=body, route=route, vendor=vendor, issuer=issuer)
            )
        case _:
            assert_never(wire)
