"""The parameters of a client's Chat Completions request, beside its messages and tools."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ..effort import effort_of_budget, effort_of_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...conversation import Effort
    from ..read_request import Fields

_READ = frozenset(
    {
        *("model", "messages", "tools", "stream", "max_tokens", "max_completion_tokens"),
        *("temperature", "top_p", "tool_choice", "parallel_tool_calls", "prompt_cache_key"),
        *("reasoning_effort", "reasoning", "thinking", "stream_options"),
    }
)
_ONLY_THERE: Mapping[str, str] = MappingProxyType(
    {
        "functions": "functions in the old form",
        "function_call": "a choice of functions in the old form",
        "stop": "words at which the answer must stop",
        "logprobs": "probabilities of tokens",
        "top_logprobs": "probabilities of tokens",
        "web_search_options": "a search by the provider",
        "plugins": "plugins of the provider",
        "audio": "sound as the answer",
    }
)
"""Parameters that change what the answer may be, and that no conversation holds."""
_PLAIN = (None, "text")


def note_other_parameters(fields: Fields) -> None:
    """Note every parameter that a conversation does not hold."""
    report = fields.report
    for name in fields.names():
        if name in _ONLY_THERE and fields.get(name):
            report.cannot_move(_ONLY_THERE[name], name)
    if fields.object("response_format").get("type") not in _PLAIN:
        report.cannot_move("a schema for the answer", "response_format")
    if (fields.number("n") or 1) > 1:
        report.cannot_move("several answers at once", "n")
    if any(kind != "text" for kind in fields.get("modalities") or ()):
        report.cannot_move("something else than text as the answer", "modalities")
    handled = _READ | _ONLY_THERE.keys() | {"response_format", "n", "modalities"}
    fields.leave_out(*(name for name in fields.names() if name not in handled))


def read_effort(fields: Fields) -> Effort | None:
    """Return how much the model should think, in whatever dialect; None: nothing says it."""
    reasoning, thinking = fields.object("reasoning"), fields.object("thinking")
    if reasoning.flag("enabled") is False or thinking.get("type") == "disabled":
        return "none"
    word = fields.string("reasoning_effort") or reasoning.string("effort")
    if word is not None:
        effort = effort_of_word(word)
        if effort is None:
            fields.report.leave_out(f"the effort {word!r}")
        return effort
    budget = reasoning.limit("max_tokens") or thinking.limit("budget_tokens")
    if budget is not None:
        return effort_of_budget(budget)
    is_on = reasoning.flag("enabled") or thinking.get("type") == "enabled"
    return "medium" if is_on else None
