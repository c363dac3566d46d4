"""The words that single vendors put where others have none: in fields, headers and sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from ..json_value import listed, mapping, string

if TYPE_CHECKING:
    from collections.abc import Mapping

Words: TypeAlias = "dict[str, list[object]]"

_AFFORDS = re.compile(r"[^\n]{0,200}?can only afford ([1-9]\d{0,12})\b")
_BUDGET_OF = re.compile(r"[^\n]{0,200}? budget for model=(\S{1,200})")
_UPSTREAM = re.compile(r"Provider returned error\b")
_LEAKED = re.compile(r"Your API key was reported as leaked")
_UNIFIED = re.compile(r"anthropic-ratelimit-unified(?:-(?!overage\b)(\w{1,20}))?-status", re.ASCII)


def aws_exception(error: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Return the name of an exception of AWS without its namespace and address."""
    name = error.get("__type") or headers.get("x-amzn-errortype")
    return string(name).rpartition("#")[2].partition(":")[0]


def openrouter_words(error: Mapping[str, Any]) -> Words:
    """Return the words that OpenRouter puts into ``metadata``."""
    metadata = mapping(error.get("metadata"))
    flags = ("reasons", "flagged_input", "patterns")
    return {
        "error_type": [metadata.get("error_type")],
        "provider_code": [metadata.get("provider_code")],
        "provider_name": [metadata.get("provider_name")],
        "limit_source": [metadata.get("limit_source")],
        "moderation": [name for name in flags if metadata.get(name)],
        "reason": [metadata.get("reason")],
        "upstream": [found[0]] if (found := _UPSTREAM.match(string(error.get("message")))) else [],
        "byok": ["true"] if metadata.get("is_byok") is True else [],
    }


def google_words(error: Mapping[str, Any]) -> Words:
    """Return the words that Google puts into ``status`` and the notes in ``details``."""
    notes = [mapping(note) for note in listed(error.get("details"))]
    violations = [mapping(each) for note in notes for each in listed(note.get("violations"))]
    status = string(error.get("status"))
    return {
        "reason": [note.get("reason") for note in notes],
        "rpc": [] if status.isdecimal() else [status],
        "quota_id": [violation.get("quotaId") for violation in violations],
        "quota_value": [violation.get("quotaValue") for violation in violations],
    }


def money_words(error: Mapping[str, Any]) -> Words:
    """Return what only a sentence says of a key or a balance.

    ``affords`` is the number of tokens for which OpenRouter's balance is enough, ``budget_of`` the
    model of LiteLLM's budget, ``leaked`` is there if Google has found a key in public.
    """
    message = string(error.get("message"))
    named = {"affords": _AFFORDS, "budget_of": _BUDGET_OF}
    found = {name: pattern.match(message) for name, pattern in named.items()}
    words: Words = {name: [match[1]] for name, match in found.items() if match is not None}
    return words | {"leaked": ["true"] if _LEAKED.match(message) else []}


def used_up_windows(headers: Mapping[str, str]) -> Words:
    """Return the windows of a Claude subscription that reject the request, as ``window``.

    The word ``any`` stands for the verdict on all of them together. Money beyond the plan, which
    the headers call overage, is no window.

    >>> used_up_windows({"anthropic-ratelimit-unified-5h-status": "rejected"})
    {'window': ['5h']}
    """
    windows: list[object] = [
        found[1] or "any"
        for name, value in headers.items()
        if value.strip().lower() == "rejected" and (found := _UNIFIED.fullmatch(name.lower()))
    ]
    return {"window": windows}
