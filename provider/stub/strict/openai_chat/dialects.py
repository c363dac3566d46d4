"""How the dialects of Chat Completions differ in what they refuse, and in their messages.

Source: developers.openai.com/api/docs, console.groq.com/docs, inference-docs.cerebras.ai,
docs.mistral.ai, api-docs.deepseek.com, platform.moonshot.ai/docs and openrouter.ai/docs, read on
2026-11-29; the types of the packages openai 3.57, groq 1.7, cerebras-cloud-sdk 1.91 and
mistralai 3.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..anthropic_words import EXTRA
from ..complaint import Complaint
from ..openai_words import unknown_parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COMMON = frozenset(
    {
        *("model", "messages", "stream", "temperature", "top_p", "max_tokens", "stop", "n"),
        *("tools", "tool_choice", "response_format"),
    }
)
MESSAGE = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
PART = frozenset({"type", "text", "image_url", "input_audio", "file", "refusal"})
ROLES = ("system", "user", "assistant", "tool")

_OPENAI = COMMON | {
    *("audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs"),
    *("max_completion_tokens", "metadata", "modalities", "moderation", "parallel_tool_calls"),
    *("prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_retention"),
    *("prompt_cache_options", "reasoning_effort", "safety_identifier", "seed", "service_tier"),
    *("store", "stream_options", "top_logprobs", "user", "verbosity", "web_search_options"),
}
_GROQ = COMMON | {
    *("citation_options", "compound_custom", "disable_tool_validation", "documents"),
    *("exclude_domains", "frequency_penalty", "function_call", "functions", "include_domains"),
    *("include_reasoning", "logit_bias", "logprobs", "max_completion_tokens", "metadata"),
    *("parallel_tool_calls", "presence_penalty", "reasoning_effort", "reasoning_format"),
    *("search_settings", "seed", "service_tier", "store", "stream_options", "top_logprobs"),
    "user",
}
_CEREBRAS = COMMON | {
    *("clear_thinking", "disable_reasoning", "frequency_penalty", "logit_bias", "logprobs"),
    *("max_completion_tokens", "min_completion_tokens", "min_tokens", "prediction"),
    *("presence_penalty", "prompt_cache_key", "reasoning_effort", "reasoning_format", "seed"),
    *("service_tier", "stream_options", "top_logprobs", "user"),
}
_MISTRAL = COMMON | {
    *("frequency_penalty", "guardrails", "metadata", "parallel_tool_calls", "prediction"),
    *("presence_penalty", "prompt_mode", "random_seed", "reasoning_effort", "safe_prompt"),
    "prompt_cache_key",
}
_MOONSHOT = COMMON | {
    *("frequency_penalty", "max_completion_tokens", "partial", "presence_penalty"),
    *("prompt_cache_key", "reasoning_effort", "safety_identifier", "stream_options", "thinking"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one vendor takes.

    An unknown vendor is judged only by what all have in common.

    Args:
        known: Its parameters. None: it ignores those that it does not know.
        messages: The keys of an assistant's message beyond `MESSAGE`.
        roles: The known roles.
        is_plain: Only the user's content may be a list of parts.
        refuses_empty_text: It refuses an assistant's message with empty text and no calls.
        longest_id: The most characters of a call's id. None: no limit.
        checks_functions: It refuses names and schemas of functions that OpenAI refuses too.
        unknown: Returns the refusal of an unknown key at a path with dots, as ``messages.1.x``.
    """

    known: frozenset[str] | None = None
    messages: frozenset[str] = frozenset()
    roles: tuple[str, ...] = ROLES
    is_plain: bool = False
    refuses_empty_text: bool = False
    longest_id: int | None = None
    checks_functions: bool = True
    unknown: Callable[[str], Complaint] = lambda path: _openai_unknown(path)


def openai_path(path: str) -> str:
    """Return *path* as OpenAI spells it: ``messages[1].content[0].text``."""
    steps = (f"[{step}]" if step.isdigit() else f".{step}" for step in path.split("."))
    return "".join(steps).removeprefix(".")


def _openai_unknown(path: str) -> Complaint:
    if "." not in path:
        return Complaint(message=f"Unrecognized request argument supplied: {path}")
    return unknown_parameter(openai_path(path))


def _groq_unknown(path: str) -> Complaint:
    """Return Groq's complaint about an unknown key of the request, or of one of its messages.

    Source: github.com/NousResearch/hermes-agent/issues/11089, read on 2026-11-29.
    """
    holder, _, key = path.rpartition(".")
    if not holder:
        return Complaint(message=f"property '{key}' is unsupported")
    inner = f"'{holder}' : property '{key}' is unsupported"
    message = f"'{holder}' : for 'role:assistant' the following must be satisfied[({inner})]"
    return Complaint(message=message)


def _cerebras_unknown(path: str) -> Complaint:
    """Return Cerebras's complaint about an unknown key.

    Source: github.com/NousResearch/hermes-agent/issues/34716, read on 2026-11-29.
    """
    message = f"{path}: property '{path}' is unsupported"
    return Complaint(message=message, param="validation_error", code="wrong_api_format")


def _mistral_unknown(path: str) -> Complaint:
    return mistral_unreadable("extra_forbidden", path, EXTRA)


def mistral_unreadable(kind: str, path: str, message: str) -> Complaint:
    """Return the 422 for what Mistral's schema does not take."""
    return Complaint(message=message, status=422, type=kind, param=path)


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(
        known=_OPENAI,
        messages=frozenset({"annotations", "audio", "function_call", "refusal"}),
        roles=(*ROLES, "developer", "function"),
        longest_id=40,
    ),
    "groq": Dialect(
        known=_GROQ,
        messages=frozenset({"annotations", "executed_tools", "function_call", "reasoning"}),
        unknown=_groq_unknown,
    ),
    "cerebras": Dialect(
        known=_CEREBRAS, messages=frozenset({"reasoning"}), is_plain=True, unknown=_cerebras_unknown
    ),
    "mistral": Dialect(
        known=_MISTRAL,
        messages=frozenset({"prefix"}),
        refuses_empty_text=True,
        unknown=_mistral_unknown,
    ),
    "moonshot": Dialect(
        known=_MOONSHOT,
        messages=frozenset({"reasoning_content", "partial"}),
        refuses_empty_text=True,
    ),
    "deepseek": Dialect(is_plain=True, refuses_empty_text=True),
    "openrouter": Dialect(roles=(*ROLES, "developer")),
    "zai": Dialect(),
    "minimax": Dialect(),
}
"""The dialects of the known vendors."""

OTHER = Dialect(roles=(*ROLES, "developer", "function"), checks_functions=False)


def dialect_of(vendor: str) -> Dialect:
    """Return the dialect of *vendor*; an unknown vendor is lenient."""
    return DIALECTS.get(vendor, OTHER)
