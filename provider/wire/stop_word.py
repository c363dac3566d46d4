"""Stop reasons: an answer was cut, came to its own end, or has a call that cannot be read.

Gateways report a call that was cut as a finished one, and the word of the provider behind them
beside it or not at all. A call that was cut must never run.

Source: openrouter.ai/docs/api/reference/overview (``native_finish_reason``);
github.com/BerriAI/litellm/pull/40864 and /pull/41389 (``provider_specific_fields``, Bedrock);
github.com/langgenius/dify/issues/8550 (``FinishReason.MAX_TOKENS``);
github.com/agentgateway/agentgateway/issues/2182 (``MALFORMED_FUNCTION_CALL`` becomes ``stop``);
github.com/project-arbr/arbr-control-plane/pull/34 (words of Bedrock and Gemini); the answers of
gpt-4-vision-preview (``finish_details``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..json_value import mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CUT = "length"
"""The word for a cut answer, where a gateway reports another reason for its end."""

_CUT = re.compile(
    r"(?:model_|max_|maximum_)?length|(?:token|output|length|time)_limit"
    r"|max_?output|max(?:imum)?_?(?:output|completion|new|total)?_?tokens?(?:_\w+)?"
)
_PROPER = frozenset({"end_turn", "stop", "completed"})
_MALFORMED = frozenset({"malformed_function_call", "unexpected_tool_call", "malformed_tool_use"})
_NATIVE = ("native_finish_reason", "native_stop_reason", "raw_finish_reason", "rawFinishReason")
_LIKE_NATIVE = (*_NATIVE, "finish_reason", "stop_reason", "finishReason", "stopReason")


def plain_word(stop: str) -> str:
    """Return *stop* without what some facades put before it.

    >>> plain_word("function_call_filter: MALFORMED_FUNCTION_CALL")
    'MALFORMED_FUNCTION_CALL'
    """
    return stop.rpartition(":")[2].rpartition(".")[2].strip()


def is_cut(stop: str | None) -> bool:
    """True if *stop* says, in the word of any provider, that the answer was cut."""
    word = plain_word(stop or "").casefold().replace("-", "_").replace(" ", "_")
    return _CUT.fullmatch(word) is not None


def is_proper_end(stop: str | None) -> bool:
    """True if *stop* says that the model came to its own end, with all that it had to say."""
    return plain_word(stop or "").casefold() in _PROPER


def is_malformed_call(stop: str | None) -> bool:
    """True if *stop* says, in the word of any provider, that the model's call cannot be read."""
    return plain_word(stop or "").casefold() in _MALFORMED


def native_words(choice: Mapping[str, Any]) -> Iterator[str]:
    """Yield the stop reasons that *choice* has beside its ``finish_reason``."""
    owners = choice, mapping(choice.get("delta"))
    for name in (*_NATIVE, "stop_reason", "finishReason"):
        yield string(choice.get(name))
    yield string(mapping(choice.get("finish_details")).get("type"))
    yield string(mapping(choice.get("incomplete_details")).get("reason"))
    for owner in owners:
        fields = mapping(owner.get("provider_specific_fields"))
        for name in _LIKE_NATIVE:
            yield string(fields.get(name))
