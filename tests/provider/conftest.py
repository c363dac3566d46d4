"""What several tests of the provider side ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import httpx2
import pytest

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> ModuleType:
    """Return each of the two packages that a client can send with."""
    module: ModuleType = request.param
    return module
