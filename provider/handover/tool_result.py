"""The result of a tool call in the form that a target accepts.

Source: the providers' references named in `target_facts.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from ..conversation import Image, Text
from .shortened import shortened_text, size_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..conversation import Output, ToolCall, ToolState
    from .target import Target

NO_IMAGE = "[An image stood here; this model takes none.]"
REFUSED_IMAGE = "[An image stood here; the API refused it.]"
IMAGE_FOLLOWS = "[The image follows below.]"
IMAGES_OF = "[Images from the result of {name}:]"
_INTERRUPTED = "This call was interrupted; it may have run, in part or in full."
MISSING_RESULT: Mapping[ToolState, str] = {
    "pending": "This call was not run: the step was interrupted before it began.",
    "running": _INTERRUPTED,
    "interrupted": _INTERRUPTED,
    "completed": "The tool ran, and said nothing.",
    "error": "The tool failed, and did not say why.",
}
"""The result of a call that has none, because every API requires one for each call."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool call, for one target.

    Args:
        moved: Pictures that the result cannot hold; they follow in a user message.
        hides_images: Pictures were left out, because the target takes none.
    """

    output: Output
    is_error: bool
    moved: Sequence[Image] = ()
    hides_images: bool = False


def image_digest(data: str) -> str:
    """Return a short name of the image *data*, which is in base64."""
    return f"#{sha256(data.encode()).hexdigest()[:16]}"


def word_for(image: Image, target: Target) -> str | None:
    """Return the text in the place of *image*; None: the target takes it."""
    if not target.takes_images:
        return NO_IMAGE
    if target.refused_images and image_digest(image.data) in target.refused_images:
        return REFUSED_IMAGE
    longest = target.longest_text
    return REFUSED_IMAGE if longest is not None and len(image.data) > longest else None


def result_of(call: ToolCall, target: Target) -> Result:
    """Return the result of *call* for *target*; a call without a result gets a made-up one."""
    has_failed = call.is_error or call.state == "error"
    if call.output is None:
        return Result(MISSING_RESULT[call.state], has_failed or call.state != "completed")
    if isinstance(call.output, str):
        return Result(_text(call.output, target), has_failed)
    images = tuple(part for part in call.output if isinstance(part, Image))
    taken = tuple(image for image in images if word_for(image, target) is None)
    stay = target.images_in_errors if has_failed else target.images_in_results
    parts = _output_parts(call.output, target, stay=stay)
    output: Output = parts
    if not any(isinstance(part, Image) for part in parts):
        output = "\n".join([part.text for part in parts if isinstance(part, Text)])
    hides_images = len(taken) < len(images)
    return Result(output, has_failed, () if stay else taken, hides_images)


def _text(text: str, target: Target) -> str:
    """Return *text*, shortened if the target takes none as long."""
    longest = target.longest_output or target.longest_text
    return text if longest is None else shortened_text(text, longest)


def _output_parts(
    output: Sequence[Text | Image], target: Target, *, stay: bool
) -> list[Text | Image]:
    """Return the parts of *output* without empty texts and signatures.

    Args:
        stay: Pictures stay; otherwise a text takes the place of each.
    """
    parts: list[Text | Image] = []
    for part in output:
        if isinstance(part, Image):
            word = word_for(part, target)
            there = part if stay else Text(IMAGE_FOLLOWS)
            parts.append(there if word is None else Text(word))
        elif has_words(part.text):
            parts.append(shortened(without_signature(part), target, longest=target.longest_output))
    return parts


def shortened(part: Text, target: Target, *, longest: int | None = None) -> Text:
    """Return *part*, shortened if it is longer than the target takes.

    Args:
        longest: Bytes of the longest text in such a place; None: as of any text.
    """
    longest = longest or target.longest_text
    if longest is None or size_of(part.text) <= longest:
        return part
    return Text(shortened_text(part.text, longest))


def has_words(text: str) -> bool:
    """True if *text* is more than white space."""
    return text != "" and not text.isspace()


def without_signature(text: Text) -> Text:
    """Return *text* without what only its own route can read."""
    has_no_arguments = text.signature is None and text.item_id is None and text.phase is None
    return text if has_no_arguments else Text(text.text)
