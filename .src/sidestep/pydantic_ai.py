"""Use sidestep in an agent of pydantic-ai, as ``Agent(SidestepModel(...))``.

Needs the extra ``pydantic-ai``.
"""

from .session.embed.framework import require

require("pydantic-ai-slim", at_least="2.60", extra="pydantic-ai")

from .session.embed.model_route import ModelRoute  # noqa: E402
from .session.embed.pydantic_ai_model import SidestepModel  # noqa: E402 - checked first

__all__ = ["ModelRoute", "SidestepModel"]
