"""The words in which APIs ask for a change of the request.

Only an error that is already classified as a refusal of the history or of the request is searched.
The words can therefore be anywhere in its message, because gateways put text before them.

Source: the errors of the APIs as named in `facts/`, with the wordings that agents reported at
github.com/anthropics/claude-code/issues, openai/codex/issues, BerriAI/litellm/issues
and earendil-works/pi/issues, read on 2026-11-29; captures *_400_*.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..cure import Change, Cure
from .answer_limit import answer_limit
from .effort_wording import taken_efforts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .report import Report

_C = Change

_NAMED = r"[`'\"]?(?P<detail>[A-Za-z][\w.[\]]{0,60})[`'\"]?"

_OF_FIELD = {
    "reasoning_content": _C.DROP_REASONING_TEXT,
    "reasoning_details": _C.DROP_REASONING_TEXT,
    "extra_content": _C.DROP_REASONING,
    "thought_signature": _C.DROP_REASONING,
    "thoughtSignature": _C.DROP_REASONING,
    "cache_control": _C.UNMARK,
}
"""Fields of a message; a refusal that names one means the field in all messages."""

_SCHEMA_WORDS = frozenset(
    {
        *("properties", "additionalProperties", "required", "items", "type", "enum", "anyOf"),
        *("oneOf", "allOf", "not", "const", "format", "pattern", "minimum", "maximum", "default"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "title", "description"),
        *("definitions", "patternProperties", "propertyNames", "examples", "nullable", "strict"),
        *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "input_schema", "parameters"),
    }
)
"""Words of JSON Schema; a refusal that names one means a tool, not a parameter of the request."""

_EFFORT = r"\b(?:none|minimal|low|medium|high|xhigh|max)\b"

_RENAMED = {"reasoningEffort": "reasoning_effort"}
_NO_NAMES = frozenset(
    {"the", "this", "that", "is", "are", "a", "with", "for", "in", "value", "set"}
)
"""Words of a sentence in the place of a name."""

_NEEDED = frozenset(
    {"model", "messages", "input", "contents", "system", "instructions", "tools", "stream"}
)
"""Parameters that every request needs; a refusal that names one means something inside it."""

# The first match counts, so the more specific stands first.
_BY_CODE = {
    "invalid_encrypted_content": _C.DROP_REASONING,
    "compaction_signature_invalid": _C.DROP_REASONING,
    "compaction_content_mismatch": _C.DROP_REASONING,
}
_BY_TEXT: tuple[tuple[Change, str], ...] = (
    # The proofs of reasoning.
    (_C.DROP_REASONING, r"Invalid `(?:signature|data)` in `(?:redacted_)?thinking` block"),
    (_C.DROP_REASONING, r"bound to a different conversation"),
    (_C.DROP_REASONING, r"blocks in the latest assistant message cannot be modified"),
    (_C.DROP_REASONING, r"each thinking block must contain thinking"),
    (
        _C.DROP_REASONING,
        r"\bsignature(?:\.str)?: (?:Input should be a valid string|Field required)",
    ),
    (
        _C.DROP_REASONING,
        r"encrypted content [^\n]{0,400}could not be (?:verified|decrypted|parsed)",
    ),
    (_C.DROP_REASONING, r"Could not decrypt the provided encrypted_content"),
    (_C.DROP_REASONING, r"Could not decode the compaction blob"),
    (_C.DROP_REASONING, r"was provided without its required (?:following item|'reasoning' item)"),
    (_C.DROP_REASONING, r"Item with id '[^']{1,80}' not found"),
    (_C.DROP_REASONING, r"Expected an ID that begins with "),
    (_C.DROP_REASONING, r"Invalid 'input\[\d+\]\.id'|Duplicate item found with id"),
    (
        _C.DROP_REASONING,
        r"(?:Corrupted|Invalid) thought[ _]signature|Thought signature is not valid",
    ),
    (_C.DROP_REASONING, r"thought_?signature'? ?\(TYPE_BYTES\)"),
    (_C.THINKING_OFF, r"Expected .thinking. or .redacted_thinking."),
    (_C.THINKING_OFF, r"Thinking may not be enabled when tool_choice forces tool use"),
    (_C.THINK_ADAPTIVELY, r"thinking\.type\.enabled\W{0,3} is not supported"),
    (_C.THINK_BY_BUDGET, r"adaptive thinking is not supported|not support adaptive thinking"),
    (_C.THINKING_OFF, r"does not support (?:extended )?thinking"),
    (_C.SIGN_CALLS, r"is missing a `?thought_signature"),
    (_C.ADD_REASONING, r"(?:reasoning_\w{1,20}|\.thinking)`? in the thinking mode must be"),
    (_C.ADD_REASONING, r"Missing `reasoning_content` field"),
    (_C.ADD_REASONING, r"reasoning_content is missing"),
    (_C.DROP_REASONING_TEXT, r"reasoning_content`? is not (?:supported|allowed|permitted)"),
    (_C.DROP_REASONING_TEXT, r"Cannot pass both content and thinking in an assistant message"),
    (_C.DROP_REASONING_TEXT, r"\bmessages[.[]\d{1,6}\]?\.reasoning\b"),
    (
        _C.DROP_REASONING_TEXT,
        r"'messages\.\d{1,6}' : property 'reasoning' is (?:unsupported|not supported)",
    ),
    # Tool calls.
    (_C.REWRITE_IDS, r"\.tool_use(?:_id|\.id): String should "),
    (_C.REWRITE_IDS, r"`tool_use` ids must be unique"),
    (_C.REWRITE_IDS, r"Invalid 'messages\[\d+\]\.(?:tool_calls\[\d+\]\.id|tool_call_id)'"),
    (_C.REWRITE_IDS, r"Invalid 'input\[\d+\]\.call_id'"),
    # NousResearch/hermes-agent#102629 and pull 111443. The other words are guessed from these.
    (_C.REWRITE_IDS, r"Duplicate (?:function_call_output for|function call id|'call_id'|call_id)"),
    (_C.REWRITE_IDS, r"Duplicate (?:tool_call_id|value for 'messages\[\d+\]\.tool_calls)"),
    (_C.REWRITE_IDS, r"tool(?:Use|Result) blocks at \S{1,80} contain duplicate Ids"),
    (_C.REWRITE_IDS, r"Tool call id [^\n]{0,120}with a length of 9"),
    (_C.BRIDGE_RESULTS, r"Unexpected role 'user' after role 'tool'"),
    (_C.CLOSE_CALLS, r"`tool_use` ids were found without|unexpected `tool_use_id`"),
    (_C.CLOSE_CALLS, r"No tool (?:output|call) found for "),
    (_C.CLOSE_CALLS, r"tool[_ ]calls?\W? must be followed by tool messages"),
    (_C.CLOSE_CALLS, r"[Mm]essages? with role \W?tool\W? must be a response"),
    (_C.CLOSE_CALLS, r"Not the same number of function calls and responses"),
    (_C.CLOSE_CALLS, r"did not have response messages|Unexpected tool call id"),
    (_C.CLOSE_CALLS, r"function_call\W? must have (?:exactly )?(?:one|a) matching"),
    (
        _C.CLOSE_CALLS,
        r"[Tt]ool (?:message|result)s? (?:must (?:be preceded|follow)|has no |without )",
    ),
    (
        _C.CLOSE_CALLS,
        r"no previous assistant message with a tool call|Unexpected role RoleEnum.tool",
    ),
    (_C.CLOSE_CALLS, r"Unexpected role 'tool' after role 'user'"),
    (_C.CLOSE_CALLS, r"the number of function response parts is equal to"),
    (_C.CLOSE_CALLS, r"function call turn comes immediately after"),
    (_C.CLOSE_CALLS, r"tool_call_id\s+is not found"),
    (_C.DECLARE_TOOLS, r"blocks must define tools|requires `?tools`? to be defined"),
    # The shape of messages.
    (_C.UNMARK, r"blocks with cache_control may be provided"),
    (_C.UNMARK, r"cache_control cannot be set for empty text blocks"),
    (_C.UNMARK, r"cache_control: Extra inputs are not permitted"),
    (_C.UNMARK, r"minimum token count to start caching"),
    (_C.DROP_EMPTY, r"text content blocks must (?:be non-empty|contain non-whitespace)"),
    (_C.DROP_EMPTY, r"must have non-empty content|must not be empty"),
    (_C.DROP_EMPTY, r"text field in the ContentBlock object [^\n]{0,80}is blank"),
    (
        _C.DROP_EMPTY,
        r"[Aa]ssistant message must (?:have|contain) either content or \W?tool[_ ]calls",
    ),
    (_C.DROP_EMPTY, r"content or \W?tool_calls\W? must be set"),
    (_C.END_WITH_USER, r"does not support assistant message prefill"),
    (_C.END_WITH_USER, r"cannot end with trailing whitespace|Expected last role "),
    (_C.END_WITH_USER, r"2 or more assistant messages at the end"),
    (_C.DROP_IMAGES, r"unknown variant `?image(?:_url)?`?"),
    (_C.DROP_IMAGES, r"(?:does not|doesn't) support (?:image|vision|multimodal)"),
    (_C.DROP_IMAGES, r"image input is not (?:supported|enabled)"),
    (_C.DROP_IMAGES, r"No endpoints found that support image"),
    (_C.PLAIN_CONTENT, r"content`?'?\]? (?:must|should) be a (?:valid )?string"),
    # A field that is too long. OpenAI; Jackson, as behind Qwen (QwenLM/qwen-code#1082); pydantic;
    # AWS; zod.
    (_C.SHORTEN, r"string too long\. Expected a string with maximum length (?P<detail>\d{1,12})"),
    (
        _C.SHORTEN,
        r"String value length \(\d{1,12}\) exceeds the maximum allowed \((?P<detail>\d{1,12})",
    ),
    (_C.SHORTEN, r"String should have at most (?P<detail>\d{1,12}) characters"),
    (_C.SHORTEN, r"Member must have length less than or equal to (?P<detail>\d{1,12})"),
    (_C.SHORTEN, r"expected string to have <=(?P<detail>\d{1,12}) characters"),
    (_C.SHORTEN, r"String must contain at most (?P<detail>\d{1,12}) character"),
    (_C.SHORTEN, r"expected maxLength: (?P<detail>\d{1,12}), actual: \d"),
    # Efforts: platform.claude.com, can1357/oh-my-pi#10994, anthropics/claude-code#81084.
    (
        _C.LIMIT_EFFORT,
        r"(?:effort )?level \W?\w{1,10}\W? ?(?:is )?not supported\W{1,3}(?:valid|supported) "
        r"levels(?: are)?: (?P<detail>[^\n]{1,120})",
    ),
    (_C.LIMIT_EFFORT, r"not support effort[^\n]{0,60}levels(?: are)?: (?P<detail>[^\n]{1,120})"),
    (_C.LIMIT_EFFORT, r"[Uu]se effort .?(?P<detail>\w{1,10}).? or below"),
    # Parameters. `answer_limit` reads the longest answer, which is not left out.
    (
        _C.RENAME_LIMIT,
        r"Unsupported parameter: 'max_\w{1,30}' is not supported[^\n]{0,40} "
        r"Use '(?P<detail>max_\w{1,30})' instead",
    ),
    (
        _C.RENAME_LIMIT,
        r"\bmax_\w{1,30}\b[^\n]{0,30}not supported[^\n]{0,20} use \W?(?P<detail>max_\w{1,30})",
    ),
    (
        _C.DO_NOT_FORCE,
        r"tool_choice[^\n]{0,80}(?:not supported|not allowed|not support|incompatible"
        r"|only \W?(?:supports )?\W?auto)",
    ),
    (_C.DO_NOT_FORCE, r"[Tt]ool[ _]choice (?:must|can only) be \W?auto"),
    (_C.DO_NOT_FORCE, r"No endpoints found that support the provided 'tool_choice'"),
    (_C.DO_NOT_FORCE, r"(?:not|n't) support[^\n]{0,40}\btool_choice\b"),
    (_C.OMIT, rf"Unsupported (?:parameter|value): {_NAMED}"),
    (_C.OMIT, rf"Unrecognized request argument supplied: {_NAMED}"),
    (_C.OMIT, rf"[Uu]n(?:known|recognized) (?:parameter|field|key|name):? {_NAMED}"),
    (_C.OMIT, rf"property {_NAMED} is (?:unsupported|not supported)"),
    (_C.OMIT, rf"[Pp]arameter(?:\(s\)|s)?:? \[?{_NAMED} (?:is|are) not (?:supported|allowed)"),
    (_C.OMIT, rf"[Uu]nsupported parameter\(s\): \[?{_NAMED}"),
    (_C.OMIT, rf"not support(?:ed)?[^\n]{{0,30}} (?:parameters?|arguments?):? \[?{_NAMED}"),
    (_C.OMIT, rf"Argument not supported on this model: {_NAMED}"),  # xAI
    (_C.OMIT, rf"not support (?:the )?{_NAMED} parameter"),
    (_C.OMIT, rf"'extra_forbidden', 'loc': \('body', {_NAMED}"),
    (_C.OMIT, rf"(?:body(?: ->|\.) ?)?{_NAMED}: extra fields not permitted"),
    (_C.OMIT, rf"Additional properties are not allowed \({_NAMED} (?:was|were) unexpected"),
    (_C.OMIT, r"(?P<detail>temperature|top_p|top_k) is (?:not supported|deprecated)"),
    (_C.OMIT, rf"{_NAMED}: Extra inputs are not permitted"),
    (_C.OMIT, r"`(?P<detail>temperature|top_p|top_k)`[^\n]{0,60}(?:not supported|deprecated)"),
    (_C.OMIT, r"`temperature` and `(?P<detail>top_p)` cannot both be specified"),
    # Vendors that nobody knows are asked for an effort as it was asked for. Source:
    # github.com/router-for-me/CLIProxyAPI/issues/1572 (SGLang) and issues/1307 (Kimi elsewhere).
    (
        _C.OMIT,
        r"\b(?P<detail>reasoning_effort)\b[^\n]{0,120}"
        r"(?:not support|unsupported|Input should be|expected one of|must be)",
    ),
    (_C.OMIT, r"not support[^\n]{0,60}\b(?P<detail>reasoning_effort)\b"),
)
_IMAGE = re.compile(
    r"\b(?:images?|pictures?|multimodal|image_url|input_image|inline_?[dD]ata)\b", re.IGNORECASE
)
_PATH = re.compile(
    r"\b(?:messages|input|contents)(?:\.\d{1,6}|\.?\[\d{1,6}\])(?:\.?[\w-]{1,40}|\[\d{1,6}\]){0,12}"
)
_SHORTENED = frozenset(
    {"arguments", "content", "text", "output", "input", "instructions", "system", "description"}
)
"""Fields with a text that can be shortened; an id or a name would no longer be the same."""

_KINDS_OF_TEXT = frozenset({"arguments", "description", "output"})
"""Fields of one kind, with a limit of their own; the others are texts of any kind."""

_READ = 1_000
"""Characters of a message that are searched."""


def find_cure(reports: Iterable[Report]) -> Cure | None:
    """Return the change that a refusal with *reports* asks for; None: it names no change."""
    return next((cure for report in reports for cure in _cures(report)), None)


def find_room(reports: Iterable[Report]) -> Cure | None:
    """Return the cure for a longest answer that does not fit beside the prompt; None: no such."""
    from .overflow_wording import room_of

    rooms = (room_of(report.message) for report in reports)
    left = next((room.left for room in rooms if room is not None and room.is_enough), None)
    return None if left is None else Cure(Change.FIT_ANSWER, str(left))


def _cures(report: Report) -> Iterator[Cure]:
    """Return the changes that *report* asks for, the most specific first."""
    for name in ("error_code", "code", "reason"):
        yield from (Cure(_BY_CODE[w]) for w in report.words.get(name, ()) if w in _BY_CODE)
    named = report.word("param")
    longest = answer_limit(f"{named}: {report.message}" if named else report.message)
    if longest is not None:
        yield Cure(_C.LIMIT_TOKENS, str(longest))
    is_value = report.message.startswith("Unsupported value")  # OpenAI: `reasoning` is left out
    efforts = () if is_value else taken_efforts(f"{named}: {report.message}")
    if efforts:
        yield Cure(_C.LIMIT_EFFORT, " ".join(efforts))
    if named == "tool_choice":
        yield Cure(_C.DO_NOT_FORCE)
    for change, pattern in _BY_TEXT:
        found = re.search(pattern, report.message[:_READ])
        if found is not None:
            yield from _cure_of(change, found.groupdict().get("detail") or "", report)
    if "extra_forbidden" in report.words.get("type", ()):
        yield from _cure_of(Change.OMIT, report.word("param").rpartition(".")[2], report)
    yield from _image_cures(report)


def _cure_of(change: Change, detail: str, report: Report) -> Iterator[Cure]:
    """Return *change* with its detail, unless nothing could be changed so."""
    match change:
        case Change.OMIT:
            yield from _omission(detail, report)
        case Change.SHORTEN:
            yield from _shortening(detail, report)
        case Change.LIMIT_EFFORT:
            yield Cure(change, " ".join(re.findall(_EFFORT, detail)))
        case _:
            yield Cure(change, detail)


def _shortening(limit: str, report: Report) -> Iterator[Cure]:
    """Return the cure for a field that is too long; of what is named, only texts can be shorter."""
    where = f"{report.word('param')} {report.message[:_READ]}"
    path = re.search(r"(?:[\w*]+\]?[.\[])+[\w\]]+", where.strip())
    names = re.split(r"[.\[\]]+", path[0] if path is not None else "")
    field = next((name for name in reversed(names) if re.fullmatch(r"[a-z_]+", name)), "")
    if not field or field in _SHORTENED or "getMaxStringLength" in where:
        part = f"{field} " if field in _KINDS_OF_TEXT else ""
        yield Cure(Change.SHORTEN, f"{part}{limit}")


def _image_cures(report: Report) -> Iterator[Cure]:
    """Return the cure of a refusal that names an image: where it stands; empty for all images."""
    where = f"{report.word('param')} {report.message[:_READ]}"
    codes = (
        word
        for name in ("error_code", "code", "error_type", "reason")
        for word in report.words.get(name, ())
    )
    if any("image" in code for code in codes) or _IMAGE.search(where):
        paths = dict.fromkeys(found[0] for found in _PATH.finditer(where))
        yield Cure(Change.LEAVE_OUT_IMAGES, " ".join(paths))


def _omission(detail: str, report: Report) -> Iterator[Cure]:
    """Return the cure that leaves out a parameter, unless requests need it."""
    param = report.word("param")
    if re.fullmatch(_EFFORT, detail) and param:
        detail = param.removeprefix("***.")  # the refused value was named, not the parameter
        detail = "reasoning.effort" if detail == "effort" else detail
    detail = _RENAMED.get(detail.rstrip("."), detail.rstrip("."))
    if detail in _SCHEMA_WORDS or detail in _NO_NAMES:
        return
    names = re.split(r"[.[\]]+", detail)
    of_field = next((_OF_FIELD[name] for name in names if name in _OF_FIELD), None)
    if of_field is not None:
        yield Cure(of_field)
    elif names[0] and names[0] not in _NEEDED:
        yield Cure(Change.OMIT, detail)
