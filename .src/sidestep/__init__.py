"""A failing model provider never ends a coding agent's turn.

middleware = sidestep.Sidestep.from_env()
async for attempt in middleware.step("openrouter/anthropic/claude-sonnet-5"):
    async with attempt:
        reply = await my_own_call(attempt.route.provider, attempt.route.model, messages)
"""

from .provider.client import Client
from .provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from .provider.error import ConfigError, ProviderError, SidestepError
from .provider.failure import Failure, FailureKind
from .provider.route import Route
from .session.attempt import Attempt
from .session.config import FallbackConfig
from .session.degraded import DegradedRoutes
from .session.error import (
    ContextOverflow,
    FallbackExhausted,
    FallbackUnsafe,
    StepFailed,
    StreamInterrupted,
)
from .session.event import (
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    Event,
    PartsRetracted,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    TurnEnded,
    Waiting,
)
from .session.middleware import Sidestep
from .session.retry import RetryPolicy
from .session.source import load_config
from .session.step import Step
from .session.turn import Session

__all__ = [
    "Attempt",
    "AttemptFailed",
    "AttemptStarted",
    "CandidateSkipped",
    "Client",
    "ConfigError",
    "ContextOverflow",
    "DegradedRoutes",
    "Event",
    "Failure",
    "FailureKind",
    "FallbackConfig",
    "FallbackExhausted",
    "FallbackUnsafe",
    "PartsRetracted",
    "ProbeEnded",
    "ProbeStarted",
    "ProviderError",
    "ReasoningDelta",
    "Repaired",
    "RetryPolicy",
    "Route",
    "RouteDegraded",
    "Session",
    "Sidestep",
    "SidestepError",
    "Step",
    "StepEnded",
    "StepFailed",
    "StepStarted",
    "StreamInterrupted",
    "Swapped",
    "TextDelta",
    "ToolCallEnded",
    "ToolCallStarted",
    "TurnEnded",
    "Waiting",
    "load_config",
]

# What a traceback or a repr names is what one imports.
for _name in __all__:
    if hasattr(globals()[_name], "__qualname__"):
        globals()[_name].__module__ = __name__
