"""The lists of models at bare paths: the routes and chains that the configuration names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ...provider.server.model_list import WINDOW, listed_model, listed_models
from .served_path import wire_of

if TYPE_CHECKING:
    from ...provider.route import Route
    from ...provider.wire_name import Wire
    from ..step.middleware import Sidestep

_PATH = re.compile(r"/v1(?:beta|alpha)?/models(?:/(?P<name>[^:]+))?")
_OWNER = "sidestep"


def listed_at(
    path: str, headers: Mapping[str, str], middleware: Sidestep
) -> dict[str, object] | None:
    """Return the models that can be asked for by name, or one of them; None: not at *path*."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    wire = wire_of(path, headers, None)
    if found["name"] is not None:
        return _model(unquote(found["name"]), wire, middleware)
    return listed_models([_model(name, wire, middleware) for name in _names(middleware)], wire)


def _model(name: str, wire: Wire, middleware: Sidestep) -> dict[str, object]:
    window = None
    with suppress(ValueError):  # it is no route
        window = middleware.active.window_of(middleware.requested(name))
    return listed_model(name, wire, owner=_OWNER, window=window or WINDOW)


def _names(middleware: Sidestep) -> Iterator[str]:
    """Yield the names of the chains, or the routes of the map, each once."""
    plan = middleware.plan
    if plan is None:
        return
    if plan.chains:
        yield from plan.chains
        return
    seen: dict[Route, None] = {}
    for route, siblings in plan.config.fallback_models_by_model.items():
        seen |= dict.fromkeys((route, *siblings))
    yield from seen
