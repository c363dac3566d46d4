"""The file that a command reads, or stdin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

import click

from ...provider.env_value import read_file
from ...provider.error import ConfigError


def read_input(file: str) -> bytes:
    """Return the content of *file*; ``-`` is stdin.

    Raises:
        ConfigError: It cannot be read.
        click.UsageError: Stdin is closed.
    """
    if file == "-":
        return open_stdin("name a file, or lead the answer into it").buffer.read()
    path = Path(file)
    try:
        # A pipe that the shell names, as in <(curl …), has an end.
        return path.read_bytes() if path.is_fifo() else read_file(path)
    except ConfigError as error:
        raise ConfigError(f"{file!r}: {error}") from None
    except OSError as error:
        raise ConfigError(
            f"{file!r}: it cannot be read ({error.strerror}): name a file that can"
        ) from None


def open_stdin(instead: str) -> TextIO:
    """Return stdin.

    Args:
        instead: What to do if it is closed, for the message.

    Raises:
        click.UsageError: It is closed.
    """
    if sys.stdin is None:
        raise click.UsageError(f"stdin is closed: {instead}")
    return sys.stdin
