"""Keep a coding agent's turn alive while a model provider fails.

middleware = sidestep.Sidestep.from_env()
async for attempt in middleware.step("openrouter/anthropic/claude-sonnet-5"):
    async with attempt:
        reply = await my_own_call(attempt.route.provider, attempt.route.model, messages)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .provider.delta import ReasoningDelta, TextDelta, ToolCallEnded, ToolCallStarted
from .provider.error import ConfigError, InstallError, ProviderError, SidestepError, Truncated
from .provider.failure import Failure, FailureKind, Scope
from .provider.recorded_cause import RecordedCause
from .provider.route import Route
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
    AttemptCost,
    AttemptFailed,
    AttemptStarted,
    CandidateSkipped,
    Compacted,
    Event,
    KeyChanged,
    PartsRetracted,
    PatienceStarted,
    PatienceWaiting,
    ProbeEnded,
    ProbeStarted,
    Repaired,
    RouteDegraded,
    StepEnded,
    StepStarted,
    Swapped,
    ToolRunEnded,
    ToolRunStarted,
    TurnEnded,
    UnavailableRoute,
    Waiting,
)
from .session.journal.journal import Journal
from .session.plan.load import load_config
from .session.plan.needs import Needs
from .session.plan.retry import RetryPolicy
from .session.step.attempt import Attempt
from .session.step.degraded import DegradedRoutes
from .session.step.middleware import Sidestep
from .session.step.move_policy import MoveHistory
from .session.step.step import Step
from .session.step.sync_attempt import SyncAttempt
from .session.step.sync_step import SyncStep

if TYPE_CHECKING:
    from .provider.catalog.provider import Provider
    from .provider.client.client import Client
    from .provider.conversation import (
        Conversation,
        Image,
        Message,
        Reasoning,
        Settings,
        Text,
        ToolCall,
        ToolSpec,
        Usage,
    )
    from .provider.watch.watched import watched
    from .session.cost.budget import Budget
    from .session.cost.cost import Cost
    from .session.cost.price import Prices
    from .session.plan.config import FallbackConfig
    from .session.serve.server import Serve
    from .session.store.memory import MemoryStore
    from .session.store.sqlite import SqliteStore
    from .session.tool.tool import Tool
    from .session.turn.compaction import Summary
    from .session.turn.session import Session

__version__ = "0.1.0"

__all__ = [
    "Attempt",
    "AttemptCost",
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
    "Conversation",
    "Cost",
    "DegradedRoutes",
    "Event",
    "Failure",
    "FailureKind",
    "FallbackConfig",
    "FallbackExhausted",
    "FallbackUnsafe",
    "Image",
    "InstallError",
    "Journal",
    "KeyChanged",
    "MemoryStore",
    "Message",
    "MoveHistory",
    "Needs",
    "PartsRetracted",
    "PatienceStarted",
    "PatienceWaiting",
    "Prices",
    "ProbeEnded",
    "ProbeStarted",
    "Provider",
    "ProviderError",
    "Reasoning",
    "ReasoningDelta",
    "RecordedCause",
    "Repaired",
    "RetryPolicy",
    "Route",
    "RouteDegraded",
    "Scope",
    "Serve",
    "Session",
    "Settings",
    "Sidestep",
    "SidestepError",
    "SqliteStore",
    "Step",
    "StepEnded",
    "StepFailed",
    "StepStarted",
    "StoreError",
    "StreamInterrupted",
    "Summary",
    "Swapped",
    "SyncAttempt",
    "SyncStep",
    "Text",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolCallEnded",
    "ToolCallStarted",
    "ToolRunEnded",
    "ToolRunStarted",
    "ToolSpec",
    "Truncated",
    "TurnEnded",
    "UnavailableRoute",
    "Usage",
    "Waiting",
    "load_config",
    "watched",
]

# Our own loop and client, and the configuration: an agent without them does not pay for them.
_LATER = {
    "Provider": ".provider.catalog.provider",
    "Client": ".provider.client.client",
    "Conversation": ".provider.conversation",
    "Image": ".provider.conversation",
    "Message": ".provider.conversation",
    "Reasoning": ".provider.conversation",
    "Settings": ".provider.conversation",
    "Text": ".provider.conversation",
    "ToolCall": ".provider.conversation",
    "ToolSpec": ".provider.conversation",
    "Usage": ".provider.conversation",
    "Budget": ".session.cost.budget",
    "Summary": ".session.turn.compaction",
    "Cost": ".session.cost.cost",
    "Prices": ".session.cost.price",
    "FallbackConfig": ".session.plan.config",
    "Serve": ".session.serve.server",
    "SqliteStore": ".session.store.sqlite",
    "MemoryStore": ".session.store.memory",
    "Tool": ".session.tool.tool",
    "Session": ".session.turn.session",
    "watched": ".provider.watch.watched",
}

if not TYPE_CHECKING:  # a checker would take any misspelt name for an `object`

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(_LATER[name], __name__), name)
        return value


def __dir__() -> list[str]:
    return __all__
