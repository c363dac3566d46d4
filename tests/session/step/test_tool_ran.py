"""A step in whose attempt a tool ran makes no further attempt, in any form of configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestep import Failure, FailureKind, ProviderError, Route, Sidestep

from ...virtual import VirtualClock

pytestmark = pytest.mark.asyncio

A = Route("openrouter/x")
KEYS = {"OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
LIMITS = {"movePolicy": "rebuild", "onPartial": "retract", "patienceSeconds": 3600}
RULES = """
[[rules]]
task_class = "coding"
[[rules.candidates]]
provider = "openrouter"
model = "x"
[[rules.candidates]]
provider = "anthropic"
model = "x"
[limits]
movePolicy = "rebuild"
patienceSeconds = 3600
"""
FORMS = [
    pytest.param(
        "openrouter/x",
        {
            "SIDESTEP_FALLBACK_CONFIG": json.dumps(
                {"fallbackModelsByModel": {A: "anthropic/x"}, "patienceSeconds": 3600}
            )
        },
        id="a map",
    ),
    pytest.param(
        "openrouter/x",
        {"SIDESTEP_HINT": "openrouter:x,anthropic:x", "SIDESTEP_LIMITS": json.dumps(LIMITS)},
        id="a hint",
    ),
    pytest.param("coding", {"SIDESTEP_ROUTING_RULES": RULES}, id="rules"),
    pytest.param(
        "balanced",
        {
            "MODEL_BASE_URL": "http://127.0.0.1:9/v1",
            "MODEL_API_KEY": "k",
            "MODEL_BALANCED": "x",
            "MODEL_FALLBACK_1_BASE_URL": "http://127.0.0.1:9/v2",
            "MODEL_FALLBACK_1_API_KEY": "k",
            "MODEL_FALLBACK_1_BALANCED": "x",
            "SIDESTEP_LIMITS": json.dumps(LIMITS),
        },
        id="numbered variables",
    ),
]
STATUS_OF = {FailureKind.RATE_LIMIT: 429, FailureKind.QUOTA: 402, FailureKind.OVERLOADED: 529}


@pytest.mark.parametrize("kind", FailureKind)
@pytest.mark.parametrize(("asked", "environ"), FORMS)
async def test_a_tool_that_ran_in_a_failed_attempt_runs_once(
    asked: str, environ: dict[str, str], kind: FailureKind
) -> None:
    """With a hint almost every failure moves a step, also one that is final elsewhere."""
    ran: list[str] = []
    failure = Failure(kind=kind, message="no", status=STATUS_OF.get(kind, 503))

    async def call(attempt: Any) -> str:
        ran.append("send_mail")
        attempt.tool_started("send_mail")
        raise ProviderError(failure)

    middleware = Sidestep.from_env(KEYS | environ, clock=VirtualClock())
    with pytest.raises(Exception, match=r"had run|no"):
        await middleware.step(asked).run(call)

    assert ran == ["send_mail"]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        pytest.param(FailureKind.OVERLOADED, "FallbackUnsafe", id="an outage"),
        pytest.param(FailureKind.CONTENT_FILTER, "FallbackUnsafe", id="a filter"),
        pytest.param(FailureKind.REFUSAL, "FallbackUnsafe", id="a refusal"),
        pytest.param(FailureKind.CONTEXT_OVERFLOW, "ContextOverflow", id="too long"),
        pytest.param(FailureKind.CANCELLED, "ProviderError", id="a cancellation"),
    ],
)
async def test_after_a_tool_ran_the_error_of_a_hint_says_what_helps(
    kind: FailureKind, error: str
) -> None:
    async def call(attempt: Any) -> str:
        attempt.tool_started("send_mail")
        raise ProviderError(Failure(kind=kind, message="no", status=400))

    environ = KEYS | {"SIDESTEP_HINT": "openrouter:x,anthropic:x"}
    middleware = Sidestep.from_env(environ, clock=VirtualClock())
    with pytest.raises(Exception, match="no") as caught:
        await middleware.step(A).run(call)

    assert type(caught.value).__name__ == error
