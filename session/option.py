"""What the options of the command take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ..provider.route import Route

if TYPE_CHECKING:
    import os


class Seconds(click.FloatRange):
    """A finite number of seconds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return seconds


class RouteName(click.ParamType[Route]):
    """A route, written ``provider/model``."""

    name = "provider/model"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Route:
        """Return the route."""
        try:
            return Route(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Place(click.Path):
    """A file or a folder; a name that is empty, as of an unset variable, is not this folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path."""
        if not str(value) and isinstance(param, click.Option):
            option = param.opts[0]
            self.fail(f"'' is empty: write `{option} {param.metavar}`, or leave it out", param, ctx)
        return super().convert(value, param, ctx)
