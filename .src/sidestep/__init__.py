"""A failing model provider never ends a coding agent's turn.

middleware = sidestep.Sidestep.from_env()
async for attempt in middleware.step("openrouter/anthropic/claude-sonnet-5"):
    async with attempt:
        reply = await my_own_call(attempt.route.provider, attempt.route.model, messages)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from .provider.error import ConfigError, ProviderError, SidestepError
from .provider.failure import Failure, FailureKind
from .provider.recorded_cause import RecordedCause
from .provider.route import Route
from .session.attempt import Attempt
from .session.config import FallbackConfig
from .session.degraded import DegradedRoutes
from .session.error import (
    AttemptSummary,
    BudgetExceeded,
    ContextOverflow,
    FallbackExhausted,
    FallbackUnsafe,
    StepFailed,
    StoreError,
    StreamInterrupted,
)
from .session.event import (
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    Compacted,
    Event,
    PartsRetracted,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    Spent,
    StepEnded,
    StepStarted,
    Swapped,
    ToolRunEnded,
    ToolRunStarted,
    TurnEnded,
    Waiting,
)
from .session.journal import Journal
from .session.middleware import Sidestep
from .session.need import Needs
from .session.past import Past
from .session.retry import RetryPolicy
from .session.source import load_config
from .session.step import Step

if TYPE_CHECKING:
    from .provider.client import Client
    from .provider.part import Image, Message, Reasoning, Text, ToolCall
    from .session.budget import Budget
    from .session.compaction import Summary
    from .session.cost import Cost
    from .session.price import Prices
    from .session.sqlite_store import SqliteStore
    from .session.store import MemoryStore
    from .session.tool import Tool
    from .session.turn import Session

__version__ = "0.1.0"

__all__ = [
    "Attempt",
    "AttemptFailed",
    "AttemptStarted",
    "AttemptSummary",
    "Budget",
    "BudgetExceeded",
    "CandidateSkipped",
    "Client",
    "Compacted",
    "ConfigError",
    "ContextOverflow",
    "Cost",
    "DegradedRoutes",
    "Event",
    "Failure",
    "FailureKind",
    "FallbackConfig",
    "FallbackExhausted",
    "FallbackUnsafe",
    "Image",
    "Journal",
    "MemoryStore",
    "Message",
    "Needs",
    "PartsRetracted",
    "Past",
    "Prices",
    "ProbeEnded",
    "ProbeStarted",
    "ProviderError",
    "Reasoning",
    "ReasoningDelta",
    "RecordedCause",
    "Repaired",
    "RetryPolicy",
    "Route",
    "RouteDegraded",
    "Session",
    "Sidestep",
    "SidestepError",
    "Spent",
    "SqliteStore",
    "Step",
    "StepEnded",
    "StepFailed",
    "StepStarted",
    "StoreError",
    "StreamInterrupted",
    "Summary",
    "Swapped",
    "Text",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolCallEnded",
    "ToolCallStarted",
    "ToolRunEnded",
    "ToolRunStarted",
    "TurnEnded",
    "Waiting",
    "load_config",
]

# Our own loop and client: an agent that has its own does not pay for them.
_LATER = {
    "Client": ".provider.client",
    **dict.fromkeys(("Image", "Message", "Reasoning", "Text", "ToolCall"), ".provider.part"),
    "Budget": ".session.budget",
    "Summary": ".session.compaction",
    "Cost": ".session.cost",
    "Prices": ".session.price",
    "SqliteStore": ".session.sqlite_store",
    "MemoryStore": ".session.store",
    "Tool": ".session.tool",
    "Session": ".session.turn",
}

if not TYPE_CHECKING:  # a checker would take any misspelt name for an `object`

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(_LATER[name], __name__), name)
        return value


def __dir__() -> list[str]:
    return __all__
