"""Stop reasons: an answer was cut, came to its own end, or has a call that cannot be read.

Some gateways report a cut call as a finished call. The provider's own stop reason stands beside it,
or is missing. A cut call must never run.

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

from ..json_value import string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CUT = "length"
"""The word for a cut answer, where a gateway reports another reason for its end."""

_CUT = re.compile(
    r"(?:model_|max_|maximum_)?length(?:_limit)?|(?:token|output|length|time|error)s?_limit"
    r"|max_?output|max(?:imum)?_?(?:[a-z]{1,12}_?)?_?tokens?(?:_\w+)?|max(?:imum)?_context(?:_\w+)?"
    r"|truncat\w+|incomplete|cut_?off|out_of_tokens|context_(?:length|window|limit|size)(?:_\w+)?"
)
_BROKEN = re.compile(
    r"(?:\w+_)?(?:cancel\w*|abort\w*|interrupt\w*|disconnect\w*|preempt\w*|shutdown|crash\w*"
    r"|time_?out|timed_out|errored|error|failed|failure)"
)
_PROPER = frozenset({"end_turn", "stop", "completed"})
_MALFORMED = frozenset({"malformed_function_call", "unexpected_tool_call", "malformed_tool_use"})
_REASON = re.compile(r"\w*(?:finish|stop)_?reason", re.IGNORECASE)
_OBJECTS = {"finish_details": "type", "incomplete_details": "reason"}
_FIELDS = frozenset({"provider_specific_fields", "provider_metadata"})
_OUTPUT = frozenset({"usage", "message", "logprobs", "error"})
_MOST = 40  # names of fields beside a stop reason that are read
_DEEPEST = 3


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
    """True if *stop* means that the model itself ended its answer."""
    return plain_word(stop or "").casefold() in _PROPER


def is_malformed_call(stop: str | None) -> bool:
    """True if *stop* says, in the word of any provider, that the model's call cannot be read."""
    return plain_word(stop or "").casefold() in _MALFORMED


def is_broken(stop: str | None) -> bool:
    """True if *stop* means that the server gave the answer up, such as ``USER_CANCEL``."""
    word = plain_word(stop or "").casefold().replace("-", "_").replace(" ", "_")
    return _BROKEN.fullmatch(word) is not None


def native_words(owner: Mapping[str, Any], depth: int = _DEEPEST) -> Iterator[str]:
    """Yield the stop reasons in *owner*, a chunk or a choice, beside its ``finish_reason``."""
    for name, value in list(owner.items())[:_MOST]:
        if isinstance(value, str):
            if name != "finish_reason" and _REASON.fullmatch(name):
                yield value
        elif isinstance(value, dict) and name not in _OUTPUT:
            yield from _words_of(name, value)
            if depth:
                yield from native_words(value, depth - 1)


def _words_of(name: str, value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the stop reason inside an object that holds it."""
    if name in _OBJECTS:
        yield string(value.get(_OBJECTS[name]))
    elif name in _FIELDS:  # the provider's own chunk, as LiteLLM passes it on
        yield string(value.get("finish_reason"))
