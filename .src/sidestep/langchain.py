"""Use sidestep in an agent of LangChain, as ``middleware=[SidestepMiddleware(...)]``.

Needs the extra ``langchain``.
"""

from .session.embed.framework import require

require("langchain", at_least="1.3", extra="langchain")

from .session.embed.langchain_middleware import SidestepMiddleware  # noqa: E402 - checked first
from .session.embed.model_route import ModelRoute  # noqa: E402

__all__ = ["ModelRoute", "SidestepMiddleware"]
