"""Judge requests as the real APIs do: what each of them refuses, in its own words.

Pure functions over a parsed body; nothing is remembered between two requests. It knows nothing of
how requests are made here, so that it can tell when one is made wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from .anthropic import request as strict_messages
from .anthropic import rules as strict_anthropic
from .complaint import Complaint
from .gemini import request as strict_content
from .gemini import rules as strict_gemini
from .openai_chat import request as strict_completion
from .openai_chat import rules as strict_chat
from .openai_responses import request as strict_response
from .openai_responses import rules as strict_responses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...route import Route
    from ...wire_name import Wire
    from ..signature.issuer import Issuer


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
