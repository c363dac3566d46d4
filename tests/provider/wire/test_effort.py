from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.conversation import Effort
from sidestep.provider.wire.effort import nearest_effort, openai_efforts

ORDER: tuple[Effort, ...] = get_args(Effort)
USUAL = ("low", "medium", "high")

MODELS = [
    pytest.param("o3", USUAL, id="o-series"),
    pytest.param("gpt-5", ("minimal", *USUAL), id="gpt-5"),
    pytest.param("gpt-5-mini-2025-08-07", ("minimal", *USUAL), id="gpt-5, small and dated"),
    pytest.param("gpt-5-codex", USUAL, id="codex"),
    pytest.param("gpt-5-pro", ("high",), id="pro"),
    pytest.param("gpt-5-chat-latest", (), id="chat"),
    pytest.param("gpt-5.1", ("none", *USUAL), id="gpt-5.1"),
    pytest.param("gpt-5.1-chat-latest", (), id="chat of gpt-5.1"),
    pytest.param("gpt-5.1-codex-mini", USUAL, id="codex of gpt-5.1"),
    pytest.param("gpt-5.1-codex-max", (*USUAL, "xhigh"), id="the larger codex of gpt-5.1"),
    pytest.param("gpt-5.2", ("none", *USUAL, "xhigh"), id="gpt-5.2"),
    pytest.param("gpt-5.2-pro", ("medium", "high", "xhigh"), id="pro of gpt-5.2"),
    pytest.param("gpt-5.3-codex", (*USUAL, "xhigh"), id="codex of gpt-5.3"),
    pytest.param("gpt-6-astra", (*USUAL, "xhigh", "max"), id="gpt-6-astra"),
    pytest.param("ft:o4-mini-2025-04-16:acme::id", USUAL, id="fine-tuned"),
    pytest.param("gpt-5.6-terra", ("none", *USUAL, "xhigh", "max"), id="gpt-5.6"),
    pytest.param("gpt-5.20", ("none", *USUAL, "xhigh", "max"), id="not gpt-5.2"),
    pytest.param("openai/GPT-6", ("none", *USUAL, "xhigh", "max"), id="newer"),
    pytest.param("openai/gpt-oss-120b", USUAL, id="gpt-oss"),
]


@pytest.mark.parametrize(("model", "taken"), MODELS)
def test_what_a_model_of_openai_takes(model: str, taken: tuple[Effort, ...]) -> None:
    assert tuple(openai_efforts(model)) == taken


NEAREST = [
    pytest.param("medium", USUAL, "medium", id="the same"),
    pytest.param("max", USUAL, "high", id="below"),
    pytest.param("minimal", USUAL, "low", id="above, if nothing is below"),
    pytest.param("minimal", ("none", *USUAL), "low", id="never none"),
    pytest.param("none", ("minimal", *USUAL), "minimal", id="none, of one that always thinks"),
    pytest.param("low", ("none",), None, id="nothing but none"),
    pytest.param("low", (), None, id="nothing"),
]


@pytest.mark.parametrize(("asked", "taken", "nearest"), NEAREST)
def test_the_nearest_effort(
    asked: Effort, taken: tuple[Effort, ...], nearest: Effort | None
) -> None:
    assert nearest_effort(asked, taken) == nearest


@given(st.sampled_from(ORDER), st.sets(st.sampled_from(ORDER)))
def test_what_is_given_is_taken(asked: Effort, some: set[Effort]) -> None:
    taken = [effort for effort in ORDER if effort in some]

    nearest = nearest_effort(asked, taken)

    assert nearest is None or nearest in taken
    assert nearest != "none" or asked == "none"
