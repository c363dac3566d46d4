"""What Gemini refuses of the signatures that it gets back."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from ...signature.gemini import content_of
from ...signature.issuer import ProofState
from ..complaint import Complaint
from .order import role
from .request import GeminiRequest, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
PLACEHOLDERS = frozenset({*WORDS, *(base64.b64encode(word.encode()).decode() for word in WORDS)})
"""What passes for the signature of a call that another model made; some send it in base64."""


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
        if request.issuer.verify(signature, request.route, content) is not ProofState.VALID:
            return Complaint(message="Corrupted thought signature.")
    return None


def _signed(request: GeminiRequest) -> Iterator[tuple[str, object, object]]:
    """Go through all signatures, with what each must have been issued for."""
    for index in range(len(request.contents)):
        text = ""
        for place, part in enumerate(request.parts(index)):
            signature = part.get("thoughtSignature")
            if signature not in (None, ""):
                where = f"contents[{index}].parts[{place}].thought_signature"
                yield where, content_of(part, text), signature
            if part.get("thought") is not True:
                text += str(part.get("text", ""))


def has_signatures_on_calls(request: GeminiRequest) -> Complaint | None:
    """From Gemini 3 on each step since the user last spoke has one, on its first call."""
    if not request.needs_call_signatures:
        return None
    for index in range(_turn(request), len(request.contents)):
        calls = [part for part in request.parts(index) if "functionCall" in part]
        if not calls or role(request, index) != "model" or calls[0].get("thoughtSignature"):
            continue
        return Complaint(
            message="Function call is missing a thought_signature in functionCall parts. This is "
            "required for tools to work correctly, and missing thought_signature may lead to "
            "degraded model performance. Additional data, function call "
            f"`default_api:{calls[0]['functionCall']['name']}` , position {index + 1}."
        )
    return None


def _turn(request: GeminiRequest) -> int:
    """Where the current turn begins: with what the user said last, beside results of tools."""
    for index in reversed(range(len(request.contents))):
        is_said = any("functionResponse" not in part for part in request.parts(index))
        if role(request, index) == "user" and is_said:
            return index
    return 0


SIGNATURE_RULES = (
    has_signatures_that_can_be_read,
    has_signatures_on_calls,
    has_signatures_of_its_own,
)
