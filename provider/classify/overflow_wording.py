"""The sentences in which unknown servers report an overflow.

There is no list of sentences. A message reports an overflow if it names the context, the prompt or
the input together with a limit. Besides it must call something too long, or give two numbers: the
needed one, which is larger, and the limit.

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

from .overflow_in_chinese import in_chinese, is_overflow_in_chinese
from .overflow_in_europe import is_overflow_in_europe

_READ = 1_000  # characters of a message that are read

_SUBJECT = re.compile(
    r"\b(?:context|prompts?|inputs?|messages|conversation|history)(?:_\w{1,20})?(?![\w-]*[\[=])\b"
    r"(?! (?:should|must be|validation|error|value|param|schema|type|is not))",
    re.IGNORECASE,
)
# A sentence about one of these means the prompt only if it counts tokens.
_WEAK_SUBJECT = re.compile(
    r"\b(?:message|request|text|sequence|query|question|tokens)\b", re.IGNORECASE
)
_LIMIT_WORD = (
    r"max\w*|limit\w*|n_ctx|context[ _-](?:length|window|size|limit)|window|capacity|allow\w*"
    r"|support\w*|at most|up to|available|no more than|(?:less|fewer|lower) than"
    r"|exceed\w* (?:[\w']{1,20} ){0,3}context|context(?= ?(?:of|is|[:=(])? ?\d)"
)
_LIMIT = re.compile(rf"\b(?:{_LIMIT_WORD})\b|<=|≤", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"\bexceed\w*|\btoo (?:long|large|big|many)\b|\b(?:long|larg|great|bigg)er than\b"
    r"|\bmore than\b|\boverfl\w+|(?:\bnot|n't|\bcannot) fit\b"
    r"|\bbeyond\b|\bsurpass\w*|\bover the\b",
    re.IGNORECASE,
)
_NOT_ENOUGH = re.compile(
    r"\b(?:context|window)\b[^.\n]{0,40}\b(?:too small|reached|hit|full|exhausted|overflow\w*)\b"
    r"|\b(?:out|end) of context\b|(?:\bnot|n't|\bcannot) fit\b[^.\n]{0,20}\bcontext\b"
    # The prompt is called too long, and no limit is named.
    r"|\b(?:context|prompt|input|conversation|messages|history)(?: (?:tokens?|text|length|size"
    r"|prompt|data|list|array|is|are|was|has|become|got|way|far|much)){0,4},?"
    r" too (?:long|large|big)\b",
    re.IGNORECASE,
)
_NEED_NOUN = re.compile(
    r"\b(?:(?:prompts?|inputs?)(?:_\w{1,20})?|messages|conversation|request|tokens)\b",
    re.IGNORECASE,
)
_ROLES = re.compile(
    rf"(?P<limit>\b(?:{_LIMIT_WORD})\b|<=|≤|(?<![-=])>(?!=))"
    r"|(?P<need>\b(?:request\w*|need\w*|requir\w*|result\w*|contain\w*|has|have|had|got|given|gave"
    r"|received|used|sent|provided|actual\w*|total|count)\b|(?<![-=])<(?!=))",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.#-])\d{1,3}(?:[,_ ]\d{3})+(?![\w.-]*\d)"
    r"|(?<![\w.#-])\d{1,12}(?=\.0\b)|(?<![\w.#-])\d{1,12}(?!\w|\.\d)"
)
_MORE = re.compile(r"\b(?P<need>\d{3,12})(?: tokens)? ?[>/] ?(?P<limit>\d{3,12})\b(?![/.]\d)")
"""Two numbers and no words between them, as in ``9000 > 8192`` or ``9000/8192``."""
_COMPARED = re.compile(
    r"\b(?:exceed\w*|(?:long|great|larg|bigg|high)er than|more than|beyond|above)"
    r"(?: (?:the|a|of|limit)){0,2} ?\(?\Z",
    re.IGNORECASE,
)
"""Words right before a number that make it the limit."""

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
    r"|\bbatch|\bdepth\b|\bnest(?:ed|ing)\b|\btier\b|\btrial\b|\baccount|\bsafety|\bpolic(?:y|ies)"
    r"|\bviolat|\btoxic|\bmoderat|\battempts\b|\bin[- ]flight|\bpending\b|\bat capacity"
    r"|\bworkers?\b|\bduration\b|\bseconds\b"
    r"|\bwall clock|\bcach(?:e|ed) (?:contexts?|limit|breakpoints?)"
    r"|\bprompt cach|\bcancel\w*|\bbuffer\b|\bupload",
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
_COUNTED = re.compile(
    r"\btokens?\b|\bcontext\b|\bn_ctx\b|\b(?:prompt|sequence) length\b", re.IGNORECASE
)
_PART_EXCEEDS = re.compile(
    r"\b(?:image|picture|file|audio|video|description|name|url|header|document|pdf)s?"
    r"(?: (?:size|length|input|data|tokens?|count)){0,2} (?:exceed\w*|is|are|was|has|too)\b",
    re.IGNORECASE,
)
"""A part is too long by itself, whatever its size is counted in."""
_ANSWER = re.compile(
    r"\b(?:output|completion|generat\w*|max(?:imum)?[ _]?\w*tokens|max\w*Tokens)\b", re.IGNORECASE
)
# What is quoted can be anything, such as the output of a tool that failed.
_QUOTES = re.compile(
    r"\b(?:pars(?:e|ing)|json|unexpected|returned|decod\w+|deserializ\w+|unterminated|template"
    r"|validation error|input_value)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"[^\"\n]* [^\"\n]*(?:\"|\Z)|(?<!\w)'[^'\n]* [^'\n]*(?:'(?!\w)|\Z)|\{[^\n]*\Z"
    r"|\binput_value=[^\n]*"
)
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
    text = _unquoted(message[:_READ])
    if in_chinese(text):
        return is_overflow_in_chinese(text)
    if is_overflow_in_europe(text) and not _NOT_LENGTH.search(text):
        return True
    head = text.strip().partition(":")[0]
    if " " not in head and is_overflow_code(head) and not _NOT_LENGTH.search(text):
        return True  # the message is a code, or begins with one
    if " " not in text.strip():
        return False
    if _NOT_LENGTH.search(text) or _OF_ANSWER.match(text) or _PART_EXCEEDS.search(text):
        return False
    if _OF_A_PART.search(text) and not _COUNTED.search(text):
        return False
    needed, limits = _pair(_STATUS.sub(" ", text))
    if _SUBJECT.search(text) is None and not _counts_tokens(text):
        return False
    if needed and limits:
        return max(needed) > max(limits)
    if _NOT_ENOUGH.search(text) is not None:
        return True
    return _LIMIT.search(text) is not None and _TOO_LONG.search(text) is not None


_CODE = re.compile(
    r"\b(?:context|prompt|inputs?|conversation|content length)\b.*"
    r"\b(?:exceed\w*|too (?:long|large|big)|overflow\w*|(?:over|above) (?:limit|max\w*)"
    r"|limit reached)\b"
    r"|\bexceed\w* .*\bcontext\b|\btoo (?:many|long|large) .*\b(?:prompt|input|context)\b"
)


def is_overflow_code(word: str) -> bool:
    """True if *word*, a type or code of an unknown server, means an overflow.

    >>> is_overflow_code("ContextWindowExceeded"), is_overflow_code("prompt_too_long")
    (True, True)
    >>> is_overflow_code("input_image_too_large")
    False
    """
    spaced = re.sub(r"[_\W]+|(?<=[a-z])(?=[A-Z])", " ", word[:80]).lower()
    is_of_more = _NOT_LENGTH.search(spaced) or _OF_A_PART.search(spaced)
    return not is_of_more and _CODE.search(spaced) is not None


def _unquoted(text: str) -> str:
    """Return *text* without its quotations if it reports that something could not be read."""
    return _QUOTED.sub(" ", text) if _QUOTES.search(text) else text


def _counts_tokens(text: str) -> bool:
    """True if *text* compares tokens that can only be those of the prompt."""
    is_of_more = _ANSWER.search(text) or _OF_A_PART.search(text)
    return (
        not is_of_more
        and re.search(r"\btokens?\b", text, re.IGNORECASE) is not None
        and _WEAK_SUBJECT.search(text) is not None
    )


def _pair(text: str) -> tuple[list[int], list[int]]:
    """Return the needed numbers of *text*, and those that are a limit."""
    found = _MORE.search(text)
    if found is not None:
        return [int(found["need"])], [int(found["limit"])]
    return _numbers(text)


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
    before = [
        _bound(after) or _compared(words) or _role(words) or _first_role(after)
        for words, after in pairs
    ]
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


def _compared(words: str) -> str | None:
    """Return ``limit`` if *words* end in "exceeds" or the like, right before a number."""
    return "limit" if _COMPARED.search(words) else None


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
        # Anthropic, and all servers that write a sum: 171899 + 34048 > 200000.
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
