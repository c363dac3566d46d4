"""Keys of the map that nearly match a requested route."""

from __future__ import annotations

import pytest

from sidestep import FallbackConfig, Needs, Route, Sidestep
from sidestep.session.plan.misspelt_key import misspelt_key


@pytest.mark.parametrize(
    ("requested", "key", "is_near"),
    [
        pytest.param("zai/glm-4.6", "zai/glm-4-6", True, id="a dot and a hyphen"),
        pytest.param("zai/glm_4_6", "zai/glm-4.6", True, id="underscores"),
        pytest.param("zai/GLM-4.6", "zai/glm-4.6", True, id="case"),
        pytest.param("Z.AI/glm", "z-ai/glm", True, id="in the provider"),
        pytest.param("zai/glm-4.6", "zai/glm-4.6", False, id="the same"),
        pytest.param("zai/glm-4.6", "zai/glm-46", False, id="one that is missing"),
        pytest.param("zai/glm-4.6", "zai/glm/4.6", False, id="a slash"),
        pytest.param("zai/glm-4.6", "zai/glm-4.7", False, id="another model"),
    ],
)
def test_a_key_is_near_that_differs_in_case_or_punctuation_only(
    requested: str, key: str, is_near: bool
) -> None:
    warning = misspelt_key(Route(requested), [Route("openai/gpt-5.6"), Route(key)])

    assert (warning is not None) is is_near
    if warning is not None:
        assert warning.code == "C023"
        assert repr(requested) in warning.message
        assert repr(key) in warning.message


def test_a_route_that_has_an_entry_of_its_own_is_near_to_nothing() -> None:
    keys = [Route("zai/glm-4-6"), Route("zai/glm-4.6")]

    assert misspelt_key(Route("zai/glm-4.6"), keys) is None


@pytest.mark.parametrize("needs", [None, Needs(boundary="eu")], ids=["no needs", "needs"])
def test_a_near_key_is_logged_once_by_the_steps_that_ask_for_the_route(
    needs: Needs | None, caplog: pytest.LogCaptureFixture
) -> None:
    config = FallbackConfig.model_validate(
        {"fallbackModelsByModel": {"zai/glm-4-6": "openai/gpt-5.6"}}
    )
    middleware = Sidestep(config)

    for route in ("zai/glm-4.6", "zai/glm-4.6", "zai/glm-4-6", "openai/gpt-5.6"):
        middleware.step(route, needs=needs)

    (record,) = caplog.records
    assert "C023: 'zai/glm-4.6' has no entry in `fallbackModelsByModel`" in record.getMessage()
