"""The longest answer that a model can write, read from a refusal in the words of any server.

Source: refusals of Volcengine (langgenius/dify#14376, MoonshotAI/kimi-cli#1124), Vertex
(BerriAI/litellm pull 10548), DashScope (open-webui/open-webui#10507), DeepSeek (we0-dev/we0#56),
Baidu (QuantumNous/new-api#737), Bedrock (RooCodeInc/Roo-Code#248, charmbracelet/crush#946) and
Cloudflare (anomalyco/models.dev pull 4422), read on 2026-11-30. z.ai's form is known from
public programs alone; the words of other servers are guessed from these.
"""

from __future__ import annotations

import re

_NAME = re.compile(
    r"(?<![A-Za-z_])(?:max(?:imum)?[ _]?(?:\w{1,12}[ _])?(?:output[ _]?)?tokens"
    r"|max(?:Output|New|Completion)?Tokens)(?![A-Za-z_])"
    r"|\b(?:output|completion) (?:tokens?|length)\b"
)
_INPUT = re.compile(
    r"\bmax\w*(?:input|prompt|model|seq)\w*|\b(?:prompt|messages|input(?! should))\b", re.IGNORECASE
)
_LIMIT = re.compile(
    r"exceed|greater|larger|higher|less than|lower than|at most|must be|should be|cannot be"
    r"|can't be|range|between|up to|max\w* (?:is|of|value|allowed)|<=|≤|too (?:large|big|high|many)"
    r"|范围|最大|不能超过|超过",
    re.IGNORECASE,
)
_LOWER = re.compile(
    r"at least|must be (?:greater|larger|higher|more)|must exceed|budget|minimum", re.IGNORECASE
)
"""The sentence is about the shortest answer, or about thinking."""
_NUMBER = re.compile(r"(?<![\w.#<-])(?:\d{1,3}(?:,\d{3})+|\d{3,9})(?![\w-]|,\d{3}|\.[1-9])")
_READ = 400
_LEAST = 256
"""The fewest tokens of any model's longest answer; a smaller number means something else."""


def answer_limit(message: str) -> int | None:
    """Return the tokens of the longest answer that *message* allows; None: it names none.

    The smallest number is the limit, because the refused number is larger.

    >>> answer_limit("Range of max_tokens should be [1, 8192]")
    8192
    >>> answer_limit("`max_tokens` must be greater than `thinking.budget_tokens` (16000)") is None
    True
    """
    text = message[:_READ]
    name = _NAME.search(text)
    if name is None or _LIMIT.search(text) is None or _LOWER.search(text) is not None:
        return None
    if _INPUT.search(text) is not None:
        return None
    named = [
        (int(found[0].replace(",", "")), "exclusive" in text[found.end() : found.end() + 14])
        for found in _NUMBER.finditer(text)
    ]
    limits = [value - is_open for value, is_open in named if value >= _LEAST]
    return min(limits, default=None)
