"""Rules for the signatures that come back in a request."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from ...signature.gemini import content_of
from ...signature.issuer import ProofState
from ..complaint import Complaint
from .request import GeminiRequest, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
PLACEHOLDERS = frozenset({*WORDS, *(base64.b64encode(word.encode()).decode() for word in WORDS)})
"""Values that pass as the signature of another model's call; some clients send them in base64."""


def has_signatures_that_can_be_read(request: GeminiRequest) -> Complaint | None:
    for where, _, signature in _signed(request):
        if not isinstance(signature, str):
            return unreadable(where, "TYPE_BYTES", signature)
        if signature in PLACEHOLDERS:
            continue
        text = signature.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (ValueError, binascii.Error):
            why = f'Base64 decoding failed for "{signature}"'
            return Complaint(message=f"Invalid value at '{where}' (TYPE_BYTES), {why}")
    return None


def has_signatures_of_its_own(request: GeminiRequest) -> Complaint | None:
    for _, content, signature in _signed(request):
        if signature in PLACEHOLDERS:
            continue
        is_good = request.issuer.is_own(signature, request.route)
        if content is not None:
            found = request.issuer.verify(signature, request.route, content)
            is_good = found is ProofState.VALID
        if not is_good:
            return Complaint(message="Corrupted thought signature.")
    return None


def _signed(request: GeminiRequest) -> Iterator[tuple[str, object, object]]:
    """Yield the path of every signature, the content that it must cover, and the signature.

    The content is None for a part with nothing but a signature: it may cover any.
    """
    for index in range(len(request.contents)):
        text = ""
        for place, part in enumerate(request.parts(index)):
            signature = part.get("thoughtSignature")
            if signature not in (None, ""):
                where = f"contents[{index}].parts[{place}].thought_signature"
                is_alone = part.keys() <= {"thought", "thoughtSignature"}
                yield where, None if is_alone else content_of(part, text), signature
            if part.get("thought") is not True:
                text += str(part.get("text", ""))


def has_signatures_on_calls(request: GeminiRequest) -> Complaint | None:
    """Since Gemini 3 the first call of each step of the current turn needs a signature."""
    if not request.needs_call_signatures:
        return None
    for turn in request.turns[_current(request) :]:
        calls = [part for part in turn.parts if "functionCall" in part]
        if not calls or turn.role != "model" or calls[0].get("thoughtSignature"):
            continue
        return Complaint(
            message="Function call is missing a thought_signature in functionCall parts. This is "
            "required for tools to work correctly, and missing thought_signature may lead to "
            "degraded model performance. Additional data, function call "
            f"`default_api:{calls[0]['functionCall']['name']}` , position {turn.at + 1}."
        )
    return None


def _current(request: GeminiRequest) -> int:
    """Return the index of the last turn of the user that is more than results of tools."""
    for index in reversed(range(len(request.turns))):
        turn = request.turns[index]
        if turn.role == "user" and any("functionResponse" not in part for part in turn.parts):
            return index
    return 0


SIGNATURE_RULES = (
    has_signatures_that_can_be_read,
    has_signatures_on_calls,
    has_signatures_of_its_own,
)
