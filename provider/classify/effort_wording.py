"""The efforts that the model takes, read from a refusal.

Source, read on 2026-11-30: Groq (iamsrikanthnani/pluely pull 219), Ollama's cloud
(diegosouzapw/OmniRoute pull 10160), Mistral (mistralai/mistral-vibe#1117), a gateway
(router-for-me/CLIProxyAPI#3932). The other words for a list are guessed from these.
"""

from __future__ import annotations

import re

_EFFORTS = r"(?:none|minimal|low|medium|high|xhigh|max)"
_EFFORT = re.compile(rf"\b{_EFFORTS}\b")
_NAME = re.compile(
    r"(?:reasoning|thinking)?[ _.]?(?:effort|Effort)\b|\bthinking[_ ]level\b|\breasoning value\b"
)
_BETWEEN = r"[\s'\"`,|/]{1,8}(?:(?:or|and)[\s'\"`]{1,4})?"
_LIST = re.compile(
    r"(?:(?:supported|valid|allowed|available|possible) (?:values|levels|efforts|options)"
    r"(?: are| is)?|must be(?: one of)?|should be(?: one of)?|expected(?: one of)?)\W{1,4}"
    rf"(?P<list>(?:{_EFFORTS}|default)\b(?:{_BETWEEN}(?:{_EFFORTS}|default)\b){{0,8}})",
    re.IGNORECASE,
)
_READ = 1_000


def taken_efforts(message: str) -> tuple[str, ...]:
    """Return the efforts that the model takes, as *message* names them; empty: it names none.

    >>> taken_efforts("reasoning_effort: Input should be 'low', 'medium' or 'high'")
    ('low', 'medium', 'high')
    >>> taken_efforts("Input should be 'low' or 'high'")
    ()
    """
    text = message[:_READ]
    named = _LIST.search(text) if _NAME.search(text) else None
    if named is None:
        return ()
    efforts = tuple(dict.fromkeys(_EFFORT.findall(named["list"])))
    return () if efforts == ("none",) else efforts
