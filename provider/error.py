"""The root of what sidestep raises, and what goes wrong on one route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .secret import masked

if TYPE_CHECKING:
    from .failure import Failure


class SidestepError(Exception):
    """The root of every error that sidestep raises on purpose."""


class ConfigError(SidestepError):
    """A setting is wrong; the message says which, its value, and what to write instead.

    What looks like a key is not repeated.
    """

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class ProviderError(SidestepError):
    """One attempt failed at a provider.

    Args:
        failure: Why, classified.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure
