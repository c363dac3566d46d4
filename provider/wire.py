"""What the two sides of every wire have in common: how we read it, and what a decoder offers."""

from __future__ import annotations

import json
import os
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from pydantic_core import PydanticSerializationError, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .delta import Delta
    from .handover import Handover
    from .part import Part, Usage
    from .target import Target

Wire: TypeAlias = Literal["anthropic", "openai-chat", "openai-responses", "gemini"]

WIRES: tuple[Wire, ...] = get_args(Wire)

_FEW = 4


class Decoder(Protocol):
    """Reads the events of one attempt, and keeps what it has read."""

    model: str | None
    """The model that the provider says it used."""
    request_id: str | None
    """The provider's id of the answer, where the stream names one."""
    usage: Usage
    is_done: bool
    """Nothing more can come."""
    unshown: int
    """How many events brought output that no delta shows: arguments of calls, signatures."""
    ends: int
    """How many reasons for the end came; some providers send several, and output between them."""

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None while it has not."""

    @property
    def parts(self) -> list[Part]:
        """What came so far. Before the end, reasoning is marked unfinished where it is, and has
        no signature then; calls that are not closed are left out."""

    def decode(self, data: bytes, event: bytes = b"") -> Sequence[Delta]:
        """Read one event.

        Raises:
            ProviderError: It is an error, or cannot be read.
        """

    def end(self, *, is_clean: bool = True) -> Sequence[Delta]:
        """Judge the stream where the body ended; give the deltas that its end completes.

        Args:
            is_clean: False where the connection broke.

        Raises:
            ProviderError: No terminal marker came, or one that means failure.
        """


class Adapter(Protocol):
    """What spells a request in one wire: a module."""

    def path(self, target: Target) -> str:
        """Return what is appended to the provider's base URL."""

    def encode(self, handover: Handover) -> dict[str, Any]:
        """Build the body of the request."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Name the headers that this wire needs; without *key* none that proves who we are."""


def read_json(data: bytes | str) -> Any:
    """Parse JSON that a provider sent; half a surrogate pair in it becomes a question mark.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return from_json(data)
    except (TypeError, ValueError):
        # The strict parser refuses a lone \\ud83d, which some servers send when they cut an emoji
        # between two tokens; of one that is spelled out in a variable it says that it is no text.
        # Only what fails pays for the second look.
        try:
            text = json.dumps(json.loads(data), ensure_ascii=False)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        return from_json(text.encode("utf-8", "replace"))


def is_json(data: bytes) -> bool:
    """Say whether *data* is JSON; an event that was cut is not."""
    try:
        read_json(data)
    except ValueError:
        return False
    return True


def write_json(value: object) -> bytes:
    """Spell *value* for a request; half a surrogate pair in it becomes a question mark."""
    try:
        return to_json(value)
    except (PydanticSerializationError, UnicodeEncodeError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def write_body(body: Mapping[str, object]) -> bytes:
    """Spell *body* as `write_json` does, but a message at a time, so that no copy of all is made.

    The buffer grows in place, and gives away its bytes without copying them. What has a few
    messages only is spelled in one go, which takes less.
    """
    if all(len(value) <= _FEW for value in body.values() if isinstance(value, list)):
        return write_json(body)
    whole = BytesIO()
    before = b"{"
    for name, value in body.items():
        whole.write(before + write_json(name) + b":")
        if isinstance(value, list) and value:
            for index, each in enumerate(value):
                whole.write(b"," if index else b"[")
                whole.write(write_json(each))
            whole.write(b"]")
        else:
            whole.write(write_json(value))
        before = b","
    whole.write(b"}" if body else b"{}")
    return whole.getvalue()


def read_arguments(text: str) -> dict[str, Any] | None:
    """Parse a call's arguments; None where they are not a JSON object. Nothing means none."""
    if not text or text.isspace():
        return {}
    try:
        value = read_json(text)
    except ValueError:
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return *value* where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """Return *value* where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def integer(value: object) -> int | None:
    """Return *value* where it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def new_call_id() -> str:
    """Make an id for a call that came without one; every wire accepts its form."""
    return f"call_{os.urandom(12).hex()}"
