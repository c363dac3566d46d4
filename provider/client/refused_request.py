"""What a refusal points at in the request that was refused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ..cure import Change
from ..handover.tool_result import image_digest
from ..json_value import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..cure import Cure

_IMAGE_FIELDS = frozenset({"data", "url", "image_url"})
_DATA_URL = re.compile(r"data:[\w/+.-]{1,80};base64,")


def resolved(cure: Cure, content: bytes) -> Cure:
    """Return *cure* with the images it means, named by their content; any other cure as it is.

    A refusal names the place in its own request. The stored conversation has other places, and
    they change when it is shortened.

    Args:
        content: The body that was refused.
    """
    if cure.change is not Change.LEAVE_OUT_IMAGES or cure.detail.startswith("#"):
        return cure
    body = read_json(content)
    places = [_place(body, path) for path in cure.detail.split()]
    images = [image for place in places for image in _images(place)] or list(_images(body))
    return replace(cure, detail=" ".join(dict.fromkeys(map(image_digest, images))))


def _place(body: object, path: str) -> object:
    """Return the value in *body* that *path* leads to; names that are not there are passed over.

    Anthropic's paths also name the type of a block, as in ``content.2.image.source``.
    """
    value = body
    for step in filter(None, re.split(r"[.\[\]]+", path)):
        if isinstance(value, dict):
            inner = value.get(step)
            value = inner if isinstance(inner, dict | list) else value
        elif isinstance(value, list) and step.isdecimal():
            if int(step) >= len(value):
                return None
            value = value[int(step)]
    return value


def _images(value: object, name: str = "") -> Iterator[str]:
    """Return the images in *value* in base64, in order."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _images(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _images(each)
    elif isinstance(value, str) and name in _IMAGE_FIELDS:
        has_prefix = _DATA_URL.match(value)
        if has_prefix or name == "data":
            yield value[has_prefix.end() :] if has_prefix else value
