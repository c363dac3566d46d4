"""Use sidestep in openai-agents, as ``RunConfig(model_provider=SidestepModelProvider(...))``.

Needs the extra ``openai-agents``.
"""

from .session.embed.framework import require

require("openai-agents", at_least="0.20", extra="openai-agents")

from .session.embed.model_route import ModelRoute  # noqa: E402 - checked first
from .session.embed.openai_agents_provider import (  # noqa: E402 - checked first
    Retracted,
    SidestepModelProvider,
)

__all__ = ["ModelRoute", "Retracted", "SidestepModelProvider"]
