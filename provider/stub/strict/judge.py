"""Judge requests as the real APIs do: what each of them refuses, in its own words.

Pure functions over a parsed body; nothing is remembered between two requests. The judge shares no
code and no facts with what makes requests, so that it notices when one is made wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ...route import Route
from ...wire_name import Wire
from ..signature.issuer import Issuer
from .anthropic import RULES as ANTHROPIC_RULES
from .anthropic.request import AnthropicRequest
from .complaint import Complaint, Rule, first
from .gemini import RULES as GEMINI_RULES
from .gemini.request import GeminiRequest
from .openai_chat import RULES as CHAT_RULES
from .openai_chat.request import ChatRequest
from .openai_responses import RULES as RESPONSES_RULES
from .openai_responses.request import ResponsesRequest
from .request import StrictRequest

R = TypeVar("R", bound=StrictRequest)
Judge = Callable[[Mapping[str, object], Route, str, Issuer], Complaint | None]


def complaint(
    body: Mapping[str, object], *, route: Route, vendor: str, wire: Wire, issuer: Issuer
) -> Complaint | None:
    """Return why the API behind *route* would refuse *body*; None if it would take it.

    Args:
        vendor: The owner of the API. An unknown vendor is judged only by the rules that all share;
            on Anthropic's wire it is a facade.
        issuer: Who made the proofs that are valid there.
    """
    try:
        return _JUDGES[wire](body, route, vendor, issuer)
    except RecursionError:
        return Complaint(message="The request is nested too deeply.")  # made up


def _judge(request: type[R], rules: Iterable[Rule[R]]) -> Judge:
    """Return a judge that reads a body as *request* and applies *rules* in order."""
    return lambda body, route, vendor, issuer: first(
        rules, request(body=body, route=route, vendor=vendor, issuer=issuer)
    )


_JUDGES: Mapping[Wire, Judge] = {
    "anthropic": _judge(AnthropicRequest, ANTHROPIC_RULES),
    "openai-chat": _judge(ChatRequest, CHAT_RULES),
    "openai-responses": _judge(ResponsesRequest, RESPONSES_RULES),
    "gemini": _judge(GeminiRequest, GEMINI_RULES),
}
