"""Check that a framework is installed and new enough, before it is imported."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile


def require(package: str, *, at_least: str, extra: str) -> None:
    """Raise if *package* is missing or older than *at_least*.

    Raises:
        ImportError: The message says which version there is, and what to install.
    """
    try:
        found = version(package)
    except PackageNotFoundError:
        raise ImportError(
            f"{package} is not installed: pip install 'sidestep[{extra}]'", name=package
        ) from None
    if _numbers(found) < _numbers(at_least):
        raise ImportError(
            f"{package} {found} is too old, at least {at_least} is needed: "
            f"pip install --upgrade 'sidestep[{extra}]'",
            name=package,
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of *version*: (1, 5) for ``1.5rc1``."""
    parts = ("".join(takewhile(str.isdigit, part)) for part in version.split("."))
    return tuple(int(part) for part in takewhile(bool, parts))
