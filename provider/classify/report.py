"""Reports: error objects of any shape as flat words, one report for each body.

An aggregator packs the body of the provider behind it into a string, and some gateways put a whole
body into ``message``. Such an inner body becomes a report of its own.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from ..json_value import listed, mapping, read_json, string
from .vendor_words import (
    aws_exception,
    google_words,
    money_words,
    openrouter_words,
    used_up_windows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CODES = ("code", "error_code", "error_type", "provider_code", "type", "reason", "rpc")
_DEEPEST = 4  # bodies inside bodies
_EMBEDDED = 65_536  # characters of a string that are read as a body
# What gateways and SDKs put before a body. Other JSON in a message can be anything, such as the
# arguments of a tool.
_WRAPPING = (
    r"(?:[\w.]{1,60}(?:Error|Exception)[ :-]{1,4}|Error code: \d{3} - |got status: [\w ]{1,60}\. "
    r"|\[?\d{3}\]?:? |b['\"]|\s){0,6}(?=[{\[])"
)
# Or in their own words, if the body is plainly an error, and they are not about the request.
_LOOSE_WRAPPING = (
    r"(?![^{]{0,120}\b(?:tool|arguments?|results?|content|input|param\w*|pars\w+|json|schema)\b)"
    r"[^{\n]{1,120}[:\s-](?=\{\s*[\"']error[\"'])"
)
_BOM = b"\xef\xbb\xbf"
_KEYS = frozenset({"error", "errors", "type", "code", "message", "status", "detail", "base_resp"})
_TITLES = frozenset({"error", "response.failed", "response.error"})
_WAITS: Mapping[str, str] = {
    "retry_after": "delay",
    "retryAfter": "delay",
    "retry_after_seconds": "delay",
    "retryDelay": "delay",
    "retry_after_ms": "retry-after-ms",
    "resets_in_seconds": "resets-in",
    "resetsInSeconds": "resets-in",
    "reset_seconds": "resets-in",
    "quotaResetDelay": "resets-in",
    "resets_at": "resets-at",
    "resetsAt": "resets-at",
    "reset_at": "resets-at",
    "quotaResetTimeStamp": "resets-at",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The words of one body.

    Args:
        message: The human-readable message.
        words: Its types, codes and the like, by name: ``type``, ``code``, ``param``, ``form``;
            ``error_code`` (Anthropic's details); ``error_type``, ``provider_code``,
            ``provider_name``, ``limit_source``, ``moderation``, ``byok``, ``affords``, ``upstream``
            (OpenRouter);
            ``reason`` (of OpenRouter and Google); ``rpc``, ``quota_id``, ``quota_value``,
            ``leaked`` (Google); ``window`` (Anthropic's subscriptions); ``budget_of`` (LiteLLM);
            ``any`` for every word that is a kind of code.
        status: The HTTP status that the body itself names; None: it names none.
        hints: How long to wait: headers that the body repeats, by name, and ``delay``,
            ``resets-in`` and ``resets-at``.
        request_id: The provider's id of the request; empty: not named.
    """

    message: str = ""
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status: int | None = None
    hints: Mapping[str, str] = field(default_factory=dict)
    request_id: str = ""

    def word(self, name: str) -> str:
        """Return the first word under *name*; empty: there is none."""
        return next(iter(self.words.get(name, ())), "")

    def with_code(self, name: str, word: str) -> Report:
        """Return this report with one more word under *name*."""
        return replace(self, words={**self.words, name: (*self.words.get(name, ()), word)})


def parse_body(body: bytes) -> tuple[object, str]:
    """Return the JSON in *body* and the body's form, whatever its content type is.

    The form is ``json``, ``html``, ``text``, ``binary`` or ``empty``. JSON that was cut is read as
    far as possible; of several events the first with data counts. Text is returned as a string.
    """
    body = body.removeprefix(_BOM).strip()
    if not body:
        return None, "empty"
    try:
        return _parsed_again(read_json(body)), "json"
    except ValueError:
        pass
    if body.startswith((b"data:", b"event:", b":")):
        lines = (line for line in body.splitlines() if line.startswith(b"data:"))
        return parse_body(next(lines, b"").removeprefix(b"data:"))
    if body.startswith((b"{", b"[")):
        try:
            return from_json(body, allow_partial="trailing-strings"), "json"
        except ValueError:
            return error_body(body.decode("utf-8", "replace")), "json"
    if body.startswith(b"<"):
        return None, "html"
    return (None, "binary") if b"\0" in body else (body.decode("utf-8", "replace"), "text")


def read_reports(
    value: object, *, form: str = "json", headers: Mapping[str, str] | None = None
) -> list[Report]:
    """Return the report of *value*, then one of each body that it holds in a string."""
    reports = [_read(value, form, headers or {})]
    inner = next(_inner_bodies(value), None)
    while inner is not None and len(reports) < _DEEPEST:
        if isinstance(inner, str):
            reports.append(Report(message=inner))
            break
        reports.append(_read(inner, "json", {}))
        inner = next(_inner_bodies(inner), None)
    return reports


def find_error(value: object) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the outermost object of *value*, and the object in it that describes the error."""
    items = [mapping(item) for item in value] if isinstance(value, list) else [mapping(value)]
    top = next((item for item in items if item.get("error")), items[0] if items else {})
    response = mapping(top.get("response"))
    inside = (response, mapping(response.get("status_details")), top, mapping(top.get("data")))
    owners = [owner for owner in inside if owner]
    named = (owner for owner in owners if _tells(owner.get("error")))
    plain = (owner for owner in owners if owner.get("message") or owner.get("code"))
    error = next(named, None) or next(plain, None) or (owners or [top])[0]
    if not error.get("error") and isinstance(top.get("errors"), list):
        error = mapping(next(iter(top["errors"]), None))
    for _ in range(_DEEPEST):
        inner = error.get("error")
        inner = inner[0] if isinstance(inner, list) and inner else inner
        if not mapping(inner):
            break
        error = mapping(inner)
    for name, fields in top.items():
        if name.endswith("Exception") and isinstance(fields, dict):  # a frame of Bedrock
            return top, {"type": name[:1].upper() + name[1:], **fields}
    return top, error


def _tells(error: object) -> bool:
    """True if *error* is an error, not an object of nulls in the place of one."""
    fields = mapping(error)
    return any(fields.values()) if fields else bool(error)


def _read(value: object, form: str, headers: Mapping[str, str]) -> Report:
    if isinstance(value, str):
        return Report(message=value, words=_words({}, {}, form, headers))
    top, error = find_error(value)
    base = mapping(top.get("base_resp"))
    texts = (
        error.get("message"), error.get("msg"), error.get("detail"), error.get("error_description"),
        error.get("error"), base.get("status_msg"), top.get("message"), top.get("detail"),
        # Baidu and WeChat; AWS, SageMaker among it; Apigee.
        top.get("error_msg"), top.get("errmsg"), top.get("Message"), top.get("error_message"),
        mapping(top.get("fault")).get("faultstring"),
    )  # fmt: skip
    return Report(
        message=next((text for text in map(_message_text, texts) if text), ""),
        words=_words(top, error, form, headers),
        status=_status(top, error),
        hints=_hints(top, error),
        request_id=string(top.get("request_id")),
    )


def _words(
    top: Mapping[str, Any], error: Mapping[str, Any], form: str, headers: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    base, innermost = mapping(top.get("base_resp")), mapping(error.get("innererror"))
    found: dict[str, list[object]] = {
        "form": [form],
        "type": [
            *(owner.get("type") for owner in (error, top) if _is_specific(owner.get("type"))),
            aws_exception(error, headers),
        ],
        "code": [
            error.get("code"),
            error.get("error_code"),
            base.get("status_code"),
            innermost.get("code"),
        ],
        "param": [error.get("param")],
        "error_code": [mapping(error.get("details")).get("error_code")],
    }
    for words in (
        openrouter_words(error), google_words(error), money_words(error), used_up_windows(headers)
    ):  # fmt: skip
        for name, values in words.items():
            found[name] = [*found.get(name, ()), *values]
    named = {name: tuple(filter(None, map(_as_text, values))) for name, values in found.items()}
    named["any"] = tuple(word for name in _CODES for word in named[name])
    return {name: words for name, words in named.items() if words}


def _is_specific(kind: object) -> bool:
    """True if a type is more than the title that all errors have."""
    return not isinstance(kind, str) or kind not in _TITLES


def _status(top: Mapping[str, Any], error: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that an error names in one of the usual places; None: none."""
    for owner in (error, top):
        for name in ("status_code", "http_code", "http_status", "statusCode", "status", "code"):
            number = _number(owner.get(name))
            if number is not None:
                return number
    return None


def _number(value: object) -> int | None:
    text = _as_text(value)
    is_status = len(text) == 3 and text.isascii() and text.isdecimal() and "400" <= text <= "599"
    return int(text) if is_status else None


def _hints(top: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, str]:
    metadata, details = mapping(error.get("metadata")), error.get("details")
    notes = [mapping(note) for note in listed(details)]
    hints = {
        name.lower(): _as_text(value)
        for owner in (top, error, metadata)
        for name, value in mapping(owner.get("headers")).items()
    }
    named = [mapping(note.get("metadata")) for note in notes]
    for owner in (top, error, metadata, mapping(details), *notes, *named):
        for name, hint in _WAITS.items():
            if _as_text(owner.get(name)):
                hints[hint] = _as_text(owner[name])
    return hints


def _inner_bodies(value: object) -> Iterator[object]:
    """Return the bodies in strings of *value*, or a text in place of one."""
    top, error = find_error(value)
    metadata = mapping(error.get("metadata"))
    raw = metadata.get("raw") or error.get("raw") or error.get("body") or top.get("body")
    if mapping(raw):
        yield raw
    for text in (raw, error.get("message"), error.get("error"), top.get("detail"), value):
        if isinstance(text, str) and (wrapped := _wrapping(text)):
            body = error_body(text, wrapped.end())
            if body is not None:
                yield body
    if isinstance(raw, str) and raw:
        yield raw
    if isinstance(metadata.get("provider_code"), str):
        code = metadata["provider_code"]
        yield {"type": code, "code": code}


def _wrapping(text: str) -> re.Match[str] | None:
    """Return what stands before a body in *text*; None: there is no body."""
    return re.match(_LOOSE_WRAPPING, text, re.IGNORECASE) or re.match(_WRAPPING, text)


def error_body(text: str, start: int = 0) -> object:
    """Return the object that begins at *start*, or in an array there; None: it is no error body."""
    start = max(text.find("{", start, start + 80), 0)
    try:
        if text.startswith("{'", start):  # as OpenAI's SDK for Python prints it
            value = ast.literal_eval(text[start : text.rindex("}", start, _EMBEDDED) + 1])
        else:
            value, _ = json.JSONDecoder().raw_decode(text[:_EMBEDDED], start)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if _KEYS.intersection(mapping(value)) else None


def _parsed_again(value: object) -> object:
    """Return *value*, parsed again if it is a string that holds JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return read_json(value)
        except ValueError:
            return value
    return value


def _message_text(value: object) -> str:
    """Return the text of a message; a list of complaints without the input that they repeat."""
    if isinstance(value, str):
        return value
    details = mapping(value).get("detail", value)
    if isinstance(details, str):
        return details
    if not isinstance(details, list):
        return ""
    return "; ".join(filter(None, (_complaint(mapping(detail)) for detail in details)))


def _complaint(detail: Mapping[str, Any]) -> str:
    """Return one complaint of a FastAPI server: where in the request, and what is wrong."""
    message, place = string(detail.get("msg")), detail.get("loc")
    steps = [str(step) for step in place if step != "body"] if isinstance(place, list) else []
    return f"{'.'.join(steps)}: {message}" if steps and message else message


def _as_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return (
        str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    )
