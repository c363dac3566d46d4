"""A key of the map that was meant for a route, and does not match it."""

from __future__ import annotations

from collections.abc import Iterable

from ...provider.route import Route
from .config_warning import ConfigWarning

_SAME = str.maketrans("._", "--")


def misspelt_key(requested: Route, keys: Iterable[Route]) -> ConfigWarning | None:
    """Warn of a key that differs from *requested* only in case or in ``.``, ``-``, ``_``.

    None: there is none, or *requested* is itself a key.
    """
    listed = list(keys)
    if requested in listed:
        return None
    key = next((key for key in listed if _folded(key) == _folded(requested)), None)
    if key is None:
        return None
    message = f"{str(requested)!r} has no entry in `fallbackModelsByModel`, but {str(key)!r} has"
    return ConfigWarning("C023", message, "spell both alike, as the provider does")


def _folded(route: Route) -> str:
    return route.translate(_SAME).casefold()
