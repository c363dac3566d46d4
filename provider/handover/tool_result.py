"""The result of a tool call as a target takes it: there is one, and pictures stand where they may.

Source: the providers' references named in `target.py`.
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
"""What closes a call that has no result: every API wants one for each call."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool said, for one target.

    Args:
        moved: Pictures that cannot stand in it, and follow in a message of the user's.
        hides_images: The target takes no pictures, and there were some.
    """

    output: Output
    is_error: bool
    moved: Sequence[Image] = ()
    hides_images: bool = False


def result_of(call: ToolCall, target: Target) -> Result:
    """Return the result of *call* as it may stand at *target*; one is made up where it has none."""
    has_failed = call.is_error or call.state == "error"
    if call.output is None:
        return Result(MISSING_RESULT[call.state], has_failed or call.state != "completed")
    if isinstance(call.output, str):
        return Result(call.output, has_failed)
    images = tuple(part for part in call.output if isinstance(part, Image))
    stay = target.images_in_errors if has_failed else target.images_in_results
    said = _said(call.output, target, stay=stay)
    output: Output = said
    if not any(isinstance(part, Image) for part in said):
        output = "\n".join([part.text for part in said if isinstance(part, Text)])
    if not target.takes_images:
        return Result(output, has_failed, hides_images=bool(images))
    return Result(output, has_failed, moved=() if stay else images)


def _said(output: Sequence[Text | Image], target: Target, *, stay: bool) -> list[Text | Image]:
    """Return texts, and what stands where a picture stood; nothing of it is empty or signed."""
    said: list[Text | Image] = []
    for part in output:
        if isinstance(part, Image):
            there = part if stay else Text(IMAGE_FOLLOWS)
            said.append(there if target.takes_images else Text(NO_IMAGE))
        elif has_words(part.text):
            said.append(without_signature(part))
    return said


def has_words(text: str) -> bool:
    """Say whether there is anything in *text*."""
    return text != "" and not text.isspace()


def without_signature(text: Text) -> Text:
    """Return *text* without what only its own route can read: itself where it has none."""
    has_no_arguments = text.signature is None and text.item_id is None and text.phase is None
    return text if has_no_arguments else Text(text.text)
