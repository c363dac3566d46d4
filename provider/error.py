"""The root of all errors that sidestep raises, and the error of one attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .failure import Failure, FailureKind, Stage
from .recorded_cause import recorded_cause
from .secret import redact_shapes

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class SidestepError(Exception):
    """The root of every error that sidestep raises on purpose.

    Each can be pickled and copied. A pickle or a copy holds a `RecordedCause` in place of the
    exception that caused the error.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        state = vars(self) | {"__cause__": recorded_cause(self.__cause__)}
        return _made_of, (type(self), self.args), state

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        for name, value in (state or {}).items():
            setattr(self, name, value)

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(
            cls,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda error: str(recorded_cause(error)),
                return_schema=core_schema.str_schema(),
                when_used="json",
            ),
        )


def _made_of(cls: type[SidestepError], args: tuple[object, ...]) -> SidestepError:
    """Return an error of *cls* without its attributes, which a pickle sets later."""
    return cls.__new__(cls, *args)


class ConfigError(SidestepError):
    """A setting is wrong; the message says which, its value, and what to write instead.

    What looks like a key is not repeated.
    """

    def __init__(self, message: str) -> None:
        super().__init__(redact_shapes(message))


class InstallError(SidestepError):
    """A file that sidestep brings is not where it is installed; the message says which."""


class ProviderError(SidestepError):
    """One attempt failed at a provider.

    Args:
        failure: Why it failed.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Truncated(ProviderError):
    """An answer broke off. An agent that judges answers itself can raise this.

    Args:
        message: What was missing, such as ``"no finish_reason"``.
    """

    def __init__(self, message: str) -> None:
        super().__init__(Failure(kind=FailureKind.TRUNCATED, message=message, stage=Stage.END))
