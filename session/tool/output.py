"""What a tool returned as a model is shown it: plain, bounded, and fit for JSON."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

from ...provider.conversation import Image, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.conversation import Output

_LARGEST_IMAGE = 5 * 1024 * 1024
"""Characters of base64. Source: Anthropic's error ``image exceeds 5 MB maximum: ... > 5242880``."""
_JSON = (dict, list, tuple, set, frozenset, bool, int, float, BaseModel)


def output_of(value: object) -> Output:
    """Return *value*, which a tool returned, as its output.

    None becomes an empty text, bytes are read as UTF-8, and data is spelled as JSON. A list of
    texts becomes one text with a line for each; with pictures it stays a list. Anything else goes
    through `str`.
    """
    match value:
        case None:
            return ""
        case str():
            return clean(value)
        case bytes() | bytearray() | memoryview():
            return clean(bytes(value).decode("utf-8", "replace"))
        case Text() | Image():
            return _listed([value])
    if type(value) in (list, tuple):
        parts: Sequence[Any] = value  # type: ignore[assignment]
        if parts and all(isinstance(each, str | Text | Image) for each in parts):
            return _listed(parts)
    is_data = is_dataclass(value) and not isinstance(value, type)
    return clean(_spelled(value) if is_data or isinstance(value, _JSON) else str(value))


def bounded(output: Output, longest: int) -> Output:
    """Return *output* with at most *longest* characters: the middle of its texts is left out."""
    if isinstance(output, str):
        return _cut([output], longest)[0]
    texts = _cut([part.text if isinstance(part, Text) else "" for part in output], longest)
    return [
        part if isinstance(part, Image) else Text(text)
        for part, text in zip(output, texts, strict=True)
        if text or isinstance(part, Image)
    ]


def clean(text: str) -> str:
    """Return *text* as plain `str`; U+FFFD replaces NUL and half a surrogate pair.

    Some databases cannot keep NUL, and half a surrogate pair cannot be sent.
    """
    text = str.__str__(text).replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:  # two halves that belong together become one character
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _listed(parts: Sequence[str | Text | Image]) -> Output:
    made = [_image(part) if isinstance(part, Image) else _text(part) for part in parts]
    texts = [part.text for part in made if isinstance(part, Text)]
    if len(texts) == len(made):
        return "\n".join(texts)
    return [part for part in made if isinstance(part, Image) or part.text]


def _text(part: str | Text) -> Text:
    return Text(clean(part.text if isinstance(part, Text) else part))


def _image(image: Image) -> Text | Image:
    """Return *image*, or a note if no provider takes it."""
    data: object = image.data
    if not (isinstance(data, str) and data.isascii() and str(image.media_type).isascii()):
        return Text("[An image was left out: it is not in base64.]")
    if len(data) > _LARGEST_IMAGE:
        size, most = (length / 1024**2 for length in (len(data), _LARGEST_IMAGE))
        return Text(f"[An image was left out: {size:.1f} MB in base64, at most {most:.0f} can be.]")
    return image


def _spelled(value: object) -> str:
    try:
        return to_json(value, fallback=str, inf_nan_mode="strings").decode()
    except ValueError:
        pass  # the slower way can spell half a surrogate pair, and bytes that are no text
    try:
        plain = to_jsonable_python(value, fallback=str, inf_nan_mode="strings", bytes_mode="base64")
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return str(value)


def _cut(texts: Sequence[str], longest: int) -> list[str]:
    """Return *texts* with one gap, so that they have at most *longest* characters together."""
    total = sum(map(len, texts))
    if total <= longest:
        return list(texts)
    room = longest - len(_note(total))
    head, tail, note = (room + 1) // 2, room // 2, _note(total - room)
    if room < 2:
        head, tail, note = longest, 0, ""
    made: list[str] = []
    start = 0
    for text in texts:
        gap = note if start <= head < start + len(text) else ""
        made.append(text[: max(0, head - start)] + gap + text[max(0, total - tail - start) :])
        start += len(text)
    return made


def _note(count: int) -> str:
    return f"\n[... {count} characters were left out here ...]\n"
