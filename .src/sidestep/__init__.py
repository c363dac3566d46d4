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
from .provider.part import Image, Message, Reasoning, Text, ToolCall
from .provider.route import Route
from .session.attempt import Attempt
from .session.budget import Budget
from .session.compaction import Summary
from .session.config import FallbackConfig
from .session.cost import Cost
from .session.degraded import DegradedRoutes
from .session.error import (
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
from .session.price import Prices
from .session.retry import RetryPolicy
from .session.source import load_config
from .session.sqlite_store import SqliteStore
from .session.step import Step
from .session.store import MemoryStore
from .session.tool import Tool
from .session.turn import Session

__all__ = [
    "Attempt",
    "AttemptFailed",
    "AttemptStarted",
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

# What a traceback or a repr names is what one imports.
for _name in __all__:
    if hasattr(globals()[_name], "__qualname__"):
        globals()[_name].__module__ = __name__
