"""The sentences in which servers that nobody knows report an overflow.

There is no list of sentences. A message reports an overflow if it names the context, the prompt or
the input together with a limit, and says that something is too long, or gives two numbers of which
the needed one is larger than the limit.

Source: sentences of LM Studio (lmstudio-ai/lmstudio-bug-tracker#2322), llama.cpp
(langchain-ai/openwiki#648, fedora-copr/logdetective-website#193), vLLM (vllm-project/vllm#36789,
#42474), mlx-serve (ddalcu/mlx-serve#66) and OpenAI (simonw/llm#392, run-llama/llama_index#948),
read on 2026-11-30.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_READ = 1_000  # characters of a message that are read

_SUBJECT = re.compile(
    r"\b(?:context|prompts?|inputs?|messages|conversation)(?![\w-]*[\[=])\b"
    r"(?! (?:should|must be|validation|error|value|param|schema|type|is not))",
    re.IGNORECASE,
)
_LIMIT_WORD = (
    r"max\w*|limit\w*|n_ctx|context[ _-](?:length|window|size|limit)|window|capacity|allow\w*"
    r"|support\w*|at most|up to|available|no more than|(?:less|fewer|lower) than"
    r"|exceed\w* (?:[\w']{1,20} ){0,3}context|context(?= ?(?:of|is|[:=(])? ?\d)"
)
_LIMIT = re.compile(rf"\b(?:{_LIMIT_WORD})\b|<=|≤", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"\bexceed\w*|\btoo (?:long|large|big|many)\b|\b(?:long|larg|great|bigg)er than\b"
    r"|\bmore than\b|\boverfl\w+|\b(?:not|n't|cannot) fit\b"
    r"|\bbeyond\b|\bsurpass\w*|\bover the\b",
    re.IGNORECASE,
)
_NOT_ENOUGH = re.compile(
    r"\b(?:context|window)\b[^.\n]{0,40}\btoo small\b|\bout of context\b", re.IGNORECASE
)
_NEED_NOUN = re.compile(
    r"\b(?:prompts?|inputs?|messages|conversation|request|tokens)\b", re.IGNORECASE
)
_ROLES = re.compile(
    rf"(?P<limit>\b(?:{_LIMIT_WORD})\b|<=|≤|(?<![-=])>(?!=))"
    r"|(?P<need>\b(?:request\w*|need\w*|requir\w*|result\w*|contain\w*|has|have|had|got|given|gave"
    r"|received|used|sent|provided|actual\w*|total|count)\b|(?<![-=])<(?!=))",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.#-])\d{1,3}(?:[,_ ]\d{3})+(?![\w.-]*\d)|(?<![\w.#-])\d{1,12}(?!\w|\.\d)"
)

_BOUND = re.compile(
    r"[ -](?:tokens? )?(?:(?:were|was|are|is) )?"
    r"(?:(?P<limit>max\w*|limit|allowed|available|supported|at most)"
    r"|(?P<need>requested|needed|required|given|provided|used|sent|received))\b",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"\A\W{0,3}\d{3}\b(?= ?[:\]-])|\b(?:error|status|code|http)\b[ :=#]{0,3}\[?\d{3}\b",
    re.IGNORECASE,
)
"""A status in words, which is no number of tokens."""

# A message with one of these is about something that no shorter conversation cures.
_NOT_LENGTH = re.compile(
    r"\brate[- _]?limit|\bper[- ](?:second|minute|min|hour|day|week|month)\b|\b[TR]P[MDS]\b"
    r"|too many requests|throttl|\bquota|\bcredits?\b|\bbalance\b|\bbilling\b|\bbudget\b|\bpayment"
    r"|usage[- ]limits?|\b(?:daily|weekly|monthly|hourly)\b|subscription|\bplan\b|concurren"
    r"|\bspend|deadline|time[d ]?-?outs?\b|\bretries\b|\brecursion\b|\bmemory\b|\bqueue"
    r"|\bbatch|\bdepth\b|\bnest(?:ed|ing)\b",
    re.IGNORECASE,
)
# Nor one about a part or a parameter of the request, unless tokens or the context are counted.
_OF_A_PART = re.compile(
    r"\bimages?\b|\bpictures?\b|\bfiles?\b|\baudio\b|\bvideos?\b|\btools?\b|\bfunctions?\b|\bschema\b"
    r"|\bdescriptions?\b|\bnames?\b|\burl\b|\bmetadata\b|\bheaders?\b|\bids?\b|\w+_id\b|\bstop\b"
    r"|\btop_\w+|\btemperature\b|\w+_penalty\b|\bseed\b|\blogprobs\b|\bparameters?\b"
    r"|\bstring\b|\bproperties\b|\bitems?\b|\barray\b|\bembedding",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\btokens?\b|\bcontext\b|\bn_ctx\b", re.IGNORECASE)
# Nor one about the longest answer alone.
_OF_ANSWER = re.compile(
    r"[^\n.]{0,40}?\b(?:max_?\w*_?tokens|max_new_tokens|maxOutputTokens)\b[`'\"]?"
    r"(?:[ :=]{1,3}\(?\d+\)?)? ?(?:is|are|was|must|should|cannot|can't|exceeds?|value|of|too|:)",
    re.IGNORECASE,
)


def is_overflow(message: str) -> bool:
    """True if *message*, of a server that nobody knows, reports that the prompt is too long.

    >>> is_overflow("The input has 31430 tokens, but the context supports only 30000 tokens.")
    True
    >>> is_overflow("context deadline exceeded")
    False
    """
    text = message[:_READ]
    if _SUBJECT.search(text) is None or _LIMIT.search(text) is None:
        return False
    if _NOT_LENGTH.search(text) or _OF_ANSWER.match(text):
        return False
    if _OF_A_PART.search(text) and not _COUNTED.search(text):
        return False
    needed, limits = _numbers(_STATUS.sub(" ", text))
    if needed and limits:
        return max(needed) > max(limits)
    return _TOO_LONG.search(text) is not None or _NOT_ENOUGH.search(text) is not None


def _numbers(text: str) -> tuple[list[int], list[int]]:
    """Return the numbers of *text* that are called needed, and those that are called a limit.

    A number is called so by a word right after it, or else by the words before it. If that tells
    only one of the two, the words after each number count.
    """
    found = list(_NUMBER.finditer(text))
    ends = [0, *(number.end() for number in found)]
    starts = [*(number.start() for number in found), len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    values = [int(re.sub(r"\D", "", number[0])) for number in found]
    pairs = list(itertools.pairwise(gaps))
    before = [_bound(after) or _role(words) or _first_role(after) for words, after in pairs]
    if not {"need", "limit"}.issubset(before):
        before = [_bound(after) or _first_role(after) for _, after in pairs]
    roles = list(zip(before, values, strict=True))
    return [value for role, value in roles if role == "need"], [
        value for role, value in roles if role == "limit"
    ]


def _bound(words: str) -> str | None:
    """Return what a number is called by the word right after it, as in "9000 requested"."""
    found = _BOUND.match(words)
    return None if found is None else found.lastgroup


def _first_role(words: str) -> str | None:
    return _role(words, is_first=True)


def _role(words: str, *, is_first: bool = False) -> str | None:
    """Return what *words* call a number: ``need`` or ``limit``; None: neither.

    Args:
        is_first: The number stands before *words*, so that the first word counts, not the last.
    """
    roles = [match.lastgroup for match in _ROLES.finditer(words)]
    if roles:
        return roles[0 if is_first else -1]
    return "need" if _NEED_NOUN.search(words) else None


@dataclass(frozen=True, slots=True)
class Room:
    """What a refusal says of the window.

    Args:
        left: The tokens that are left for the answer; below 0 if the prompt alone is too long.
        is_enough: An answer of that length is worth asking for.
    """

    left: int
    is_enough: bool


_LEAST_ANSWER = 4_096
"""The shortest answer that is worth a request; an eighth of the window if that is less."""

_W, _I, _O = r"(?P<window>\d{1,12})", r"(?P<input>\d{1,12})", r"(?P<asked>\d{1,12})"
_ROOM = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Anthropic, and whoever writes a sum: 171899 + 34048 > 200000.
        rf"(?:exceed|context|limit|window|length)[^\n]{{0,80}}?\b{_I} ?\+ ?{_O} ?> ?{_W}",
        # vLLM: "… and your request has 1234 input tokens".
        rf"maximum context length is {_W} tokens and your request has {_I} input tokens",
        # vLLM counts only until the sum is too large.
        rf"maximum context length is {_W} tokens\. However, you requested {_O} output tokens and "
        rf"your prompt contains (?P<more>at least )?{_I} input tokens",
        # OpenAI, vLLM.
        rf"maximum context length is {_W} tokens[^\n]{{0,80}}? requested [^\n(]{{0,40}}\({_I} in "
        rf"(?:the messages|(?:your|the) prompt)[,;] {_O} (?:in|for) +the completion",
        # OpenRouter.
        rf"maximum context length is {_W} tokens[^\n]{{0,80}}? requested about (?P<sum>\d{{1,12}}) "
        rf"tokens \([^\n)]{{0,120}}?{_O} in the output\)",
        # TGI, Together.
        rf"must be <= {_W}\. Given: {_I} `?inputs`? tokens and {_O} `?max_new_tokens",
        # "prompt (3000 tokens) + max_tokens (2000) exceeds the context of 4096".
        rf"\b{_I}\b(?: tokens)?\)?[^\d\n]{{0,20}}"
        rf"(?:\+|plus)[^\d\n]{{0,30}}\b{_O}\b[^\d\n]{{0,60}}\b{_W}\b",
    )
)


def room_of(message: str) -> Room | None:
    """Return the room for an answer where prompt and longest answer together are too long.

    None: *message* does not say so.

    >>> room_of("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000")
    Room(left=11760, is_enough=True)
    """
    found = next(_rooms(message[:_READ]), None)
    if found is None:
        return None
    window, used, is_exact = found
    least = min(_LEAST_ANSWER, window // 8)
    left = window - used
    # The prompt may be longer than counted, so that only the shortest answer has a chance.
    return Room(left if is_exact else min(left, least), left >= max(least, 1))


def _rooms(text: str) -> Iterator[tuple[int, int, bool]]:
    """Return the window, the tokens of the prompt, and whether these were all counted."""
    for pattern in _ROOM:
        if (found := pattern.search(text)) is None:
            continue
        named = found.groupdict()
        window, asked = int(named["window"]), int(named.get("asked") or 0)
        used = int(named["sum"]) - asked if named.get("sum") else int(named["input"])
        if not asked or used + asked > window:
            yield window, used, not named.get("more")
