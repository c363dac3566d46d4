"""Text of others in a form that every exporter can write."""

from __future__ import annotations

from ...provider.secret import redact_shapes

_LONGEST_NAME = 200
"""Characters of a name; no provider has a longer name for a model."""


def whole_text(text: str) -> str:
    """Return *text* with a question mark for each half of a surrogate pair.

    No exporter can write such a half, so that it would lose everything that goes with it: a batch
    of spans, or every metric of a registry. An error's message has one if a server cuts an emoji.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def short_name(text: str) -> str:
    """Return *text* as the name of something: whole, of 200 characters at most, without a key."""
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME - 1]}…"
    return redact_shapes(whole_text(text))
