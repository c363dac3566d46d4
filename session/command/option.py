"""The types of the command's options."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from ...provider.route import Route
from ..cost.budget import Budget

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

as_json = click.option("--json", "is_json", is_flag=True, help="Print JSON instead of text.")

_LIMITS = [field.name.replace("_", "-") for field in fields(Budget)]


_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_DURATION = re.compile(f"(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?", re.ASCII)
_SECONDS = (86_400.0, 3600.0, 60.0, 1.0)


class Seconds(click.FloatRange):
    """A finite number of seconds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return seconds


class Duration(click.ParamType[float]):
    """A duration such as ``45s``, ``90m``, ``1h30m`` or ``2d``; a bare number is seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        text = str(value).replace(" ", "").lower()
        found = _DURATION.fullmatch(text if text[-1:].isalpha() else f"0h{text}s")
        if found is None:
            self.fail(f"{value!r} is no duration: write it as 45s, 90m, 4h or 1h30m", param, ctx)
        numbers = zip(found.groups("0"), _SECONDS, strict=True)
        return sum(float(number) * seconds for number, seconds in numbers)


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


class NonEmptyPath(click.Path):
    """A file or a folder; an empty name, as from an unset variable, is an error."""

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


class Limit(click.ParamType[tuple[str, float]]):
    """One limit of a budget, written ``key=value``."""

    name = "key=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the limit's name in a `Budget`, and its value."""
        key, equals, number = value.partition("=")
        if not equals:
            self.fail(f"{value!r} has no =: write KEY=VALUE, as in attempts=40", param, ctx)
        if key.replace("_", "-") not in _LIMITS:
            close = difflib.get_close_matches(key, _LIMITS, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            choices = f"take one of {', '.join(_LIMITS)}"
            self.fail(f"{key!r} is nothing that a budget limits{hint}: {choices}", param, ctx)
        name = key.replace("-", "_")
        try:
            limit = _number(number)
        except ValueError:
            self.fail(f"{number!r} is no number: write `{key}=40` or the like", param, ctx)
        try:
            Budget(**{name: limit})
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return name, limit


def _number(text: str) -> Any:
    """Return the number that *text* spells, as an integer if it is one, also as 1e6."""
    number = float(text)
    return int(number) if number.is_integer() else number


def budget_option(name: str, *, help: str) -> Callable[[Any], Any]:  # noqa: A002 - as click has it
    """Return the option *name*: written once for each limit, it makes one `Budget`."""
    return click.option(
        name, type=Limit(), multiple=True, callback=_budget, metavar="KEY=VALUE", help=help
    )


def _budget(
    ctx: click.Context, param: click.Parameter, limits: Iterable[tuple[str, float]]
) -> Budget | None:
    found: dict[str, Any] = {}
    for name, limit in limits:
        if name in found:
            message = f"`{name}` is given twice, as {found[name]} and as {limit}: keep one of them"
            raise click.BadParameter(message, ctx, param)
        found[name] = limit
    return Budget(**found) if found else None
