"""Expand variables in a text as a shell does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...provider.error import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = re.compile(
    rf"\$(?P<plain>{_NAME})|\$\{{(?P<braced>{_NAME})(?P<then>\}}|:-)|(?P<wrong>\$\{{)|(?P<end>\}})"
)


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Return *text* with ``$NAME``, ``${NAME}`` and ``${NAME:-default}`` replaced by values.

    A default replaces a variable that is unset or empty, and may hold variables itself. Values are
    not expanded again. Every other dollar sign stays.

    Raises:
        ConfigError: A brace is not closed, or no variable follows it; no value is quoted.
    """
    done: list[str] = []
    open_: list[tuple[str, list[str], int]] = []  # its variable, the text before it, its place
    at = 0
    for token in _TOKEN.finditer(text):
        done.append(text[at : token.start()])
        at = token.end()
        name = token["plain"] or token["braced"]
        if token["wrong"]:
            raise _not_closed(token.start())
        if token["then"] == ":-":
            open_.append((name, done, token.start()))
            done = []
        elif name is not None:
            done.append(environ.get(name, ""))
        elif open_:
            default = "".join(done)
            name, done, _ = open_.pop()
            done.append(environ.get(name, "") or default)
        else:
            done.append("}")
    if open_:
        raise _not_closed(open_[-1][2])
    return "".join([*done, text[at:]])


def names(text: str) -> tuple[str, ...]:
    """Return the variables that *text* names."""
    tokens = _TOKEN.finditer(text)
    return tuple(dict.fromkeys(filter(None, (each["plain"] or each["braced"] for each in tokens))))


def unset(text: str, environ: Mapping[str, str]) -> list[str]:
    """Return the variables in *text* that are unset or empty, and have no default."""
    tokens = _TOKEN.finditer(text)
    bare = (token["plain"] or token["braced"] for token in tokens if token["then"] != ":-")
    return [name for name in dict.fromkeys(bare) if name and not environ.get(name)]


def _not_closed(at: int) -> ConfigError:
    return ConfigError(
        f"`${{` at character {at + 1} is not closed, or no variable's name follows it: "
        "write ${NAME} or ${NAME:-default}"
    )
