"""A framework that is missing or too old is named with what to install."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from sidestep.session.embed import framework
from sidestep.session.embed.framework import require


@pytest.mark.parametrize(
    ("installed", "says"),
    [
        pytest.param(None, "stew is not installed: pip install 'sidestep[pot]'", id="missing"),
        pytest.param("1.1.9", "stew 1.1.9 is too old, at least 1.2 is needed", id="too old"),
        pytest.param("0.20", "stew 0.20 is too old", id="too old, with a larger second number"),
        pytest.param("1", "stew 1 is too old", id="too old, and short"),
        pytest.param("1.2", "", id="the oldest that will do"),
        pytest.param("1.2.0", "", id="the same, longer"),
        pytest.param("1.10", "", id="more than one digit"),
        pytest.param("1.3rc1", "", id="a release candidate"),
        pytest.param("2", "", id="newer, and short"),
    ],
)
def test_a_framework_is_refused_unless_it_is_new_enough(
    installed: str | None, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if installed is None:
            raise PackageNotFoundError(package)
        return installed

    monkeypatch.setattr(framework, "version", version)
    if not says:
        require("stew", at_least="1.2", extra="pot")
        return
    with pytest.raises(ImportError, match="pip install") as raised:
        require("stew", at_least="1.2", extra="pot")

    assert str(raised.value).startswith(says)
    assert raised.value.name == "stew"
