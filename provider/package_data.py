"""The files of data that the package brings, beside its code."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from .error import InstallError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PACKAGE = __name__.partition(".")[0]
_PLACES = (
    files(_PACKAGE) / "fixtures",
    # In an editable install of a checkout without symbolic links, only our modules are found.
    files(f"{_PACKAGE}.provider") / ".." / "fixtures",
)


def package_data(folder: str, suffix: str) -> dict[str, Traversable]:
    """Return the files in *folder* of ``fixtures``, in order, by their names without *suffix*.

    Raises:
        InstallError: There is none.
    """
    for place in _PLACES:
        if (place / folder).is_dir():
            entries = sorted((place / folder).iterdir(), key=lambda entry: entry.name)
            found = [entry for entry in entries if entry.name.endswith(suffix)]
            if found:
                return {entry.name.removesuffix(suffix): entry for entry in found}
    raise InstallError(
        f"{_PACKAGE}/fixtures/{folder} has no *{suffix} in {str(files(_PACKAGE))!r}, so a part of "
        f"the installation is missing: install {_PACKAGE} again. A frozen application is built "
        f"with these data by PyInstaller's `--collect-data {_PACKAGE}`"
    )
