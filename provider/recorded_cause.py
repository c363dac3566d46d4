"""The record that stands for an exception in a pickle, a copy or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from .secret import redact_shapes

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_LONGEST = 2_000
"""Characters of an exception's text that are kept; some SDKs put a whole answer into it."""


class RecordedCause(Exception):
    """The record of an exception that a pickle or a copy left behind.

    Args:
        name: The exception's class with its module, such as ``openai.RateLimitError``.
        text: What the exception said; whatever looks like a key is redacted.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.name = name
        self.text = text

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def recorded_cause(error: BaseException | None) -> RecordedCause | None:
    """Return the record of *error*, which can always be pickled; None stays None."""
    if error is None or isinstance(error, RecordedCause):
        return error
    cls = type(error)
    name = (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )
    return RecordedCause(name, redact_shapes(_text(error)[:_LONGEST]))


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot be printed must not hide another
        return "(its text cannot be read)"


class _AsText:
    """Tells pydantic to keep an exception as it is in Python, and as text in JSON."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(
                _from_text, core_schema.str_schema()
            ),
            python_schema=core_schema.is_instance_schema(BaseException),
            serialization=core_schema.plain_serializer_function_ser_schema(
                _to_text, return_schema=core_schema.str_schema(), when_used="json"
            ),
        )


def _to_text(error: BaseException) -> str:
    return str(recorded_cause(error))


def _from_text(text: str) -> RecordedCause:
    name, _, rest = text.partition(": ")
    return RecordedCause(name, rest)


Cause = Annotated[BaseException, _AsText]
"""An exception as a field of a value that pydantic may validate and serialise."""
