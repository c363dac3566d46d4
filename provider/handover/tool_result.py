"""The result of a tool call in the form that a target accepts.

Source: the providers' references named in `target_facts.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..conversation import Image, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..conversation import Output, ToolCall, ToolState
    from .target import Target

NO_IMAGE = "[An image stood here; this model takes none.]"
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


def result_of(call: ToolCall, target: Target) -> Result:
    """Return the result of *call* for *target*; a call without a result gets a made-up one."""
    has_failed = call.is_error or call.state == "error"
    if call.output is None:
        return Result(MISSING_RESULT[call.state], has_failed or call.state != "completed")
    if isinstance(call.output, str):
        return Result(call.output, has_failed)
    images = tuple(part for part in call.output if isinstance(part, Image))
    stay = target.images_in_errors if has_failed else target.images_in_results
    parts = _output_parts(call.output, target, stay=stay)
    output: Output = parts
    if not any(isinstance(part, Image) for part in parts):
        output = "\n".join([part.text for part in parts if isinstance(part, Text)])
    if not target.takes_images:
        return Result(output, has_failed, hides_images=bool(images))
    return Result(output, has_failed, moved=() if stay else images)


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
            there = part if stay else Text(IMAGE_FOLLOWS)
            parts.append(there if target.takes_images else Text(NO_IMAGE))
        elif has_words(part.text):
            parts.append(without_signature(part))
    return parts


def has_words(text: str) -> bool:
    """True if *text* is more than white space."""
    return text != "" and not text.isspace()


def without_signature(text: Text) -> Text:
    """Return *text* without what only its own route can read."""
    has_no_arguments = text.signature is None and text.item_id is None and text.phase is None
    return text if has_no_arguments else Text(text.text)
