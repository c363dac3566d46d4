"""Pictures in a ``data:`` URL, as OpenAI's wires have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..conversation import Image

if TYPE_CHECKING:
    from .read_request import Fields

_DATA = re.compile(r"data:([^;,]+)(?:;[^;,]*)*;base64,", re.IGNORECASE)


def image_of(block: Fields, url: str) -> Image | None:
    """Return the picture in *url*; None: it is elsewhere, which is noted of *block*."""
    found = _DATA.match(url)
    if found is not None and found[1].startswith("image/"):
        return Image(found[1], url[found.end() :])
    block.cannot_move("a picture that only its address names")
    return None
