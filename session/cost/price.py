"""What tokens cost on a route."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType

from ...provider.conversation import Usage
from ...provider.error import ConfigError
from ...provider.route import Route

Price = Callable[[Route, Usage], float | None]
"""Returns US dollars; None: it knows no price. ``input`` includes tokens read from a cache.

A result that is not a finite number of 0 or more counts as no price.
"""

_FACADES = ("-anthropic", "-chat")
"""Suffixes of provider names for a further API of the same vendor."""


@cache
def installed_prices() -> Price | None:
    """Return `Prices` if their package is installed; None: it is not.

    It is imported by the first call, because that takes a fifth of a second.
    """
    try:
        return Prices()
    except ConfigError:
        return None


class Prices:
    """A `Price` that looks prices up in the installed release of `genai-prices`.

    A provider that the package does not know has no price, even if its model has one elsewhere.

    Raises:
        ConfigError: The package is not installed.
    """

    def __init__(self) -> None:
        try:
            import genai_prices
        except ImportError as error:
            raise ConfigError(
                "prices come from the package `genai-prices`, which is not installed: "
                "`pip install 'sidestep[prices]'`, or pass `price=`, a function of your own"
            ) from error
        self._package: ModuleType = genai_prices

    def __call__(self, route: Route, usage: Usage) -> float | None:
        """Return what *usage* costs on *route*, in US dollars; None: not known."""
        vendor = route.provider
        for facade in _FACADES:
            vendor = vendor.removesuffix(facade)
        counts = self._package.Usage(
            input_tokens=usage.input or 0,
            output_tokens=usage.output or 0,
            cache_read_tokens=usage.cache_read or 0,
            cache_write_tokens=usage.cache_write or 0,
        )
        try:
            result = self._package.calc_price(counts, route.model, provider_id=vendor)
        except (LookupError, ValueError):  # not known; or impossible counts
            return None
        return float(result.total_price)
