"""A refusal by the strict stub, and how each provider spells it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ...wire_name import Wire

S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One refusal.

    Args:
        type: None: the provider has no type, or always the same one.
        param: The field at fault, if the provider names it in a field of its own.
        upstream: Who refused, if the provider only forwards the request. ``Anthropic`` words it
            as Anthropic does, any other as OpenAI does.
    """

    message: str
    status: int = 400
    type: str | None = None
    code: str | None = None
    param: str | None = None
    upstream: str | None = None

    def body(self, *, vendor: str, wire: Wire, request_id: str) -> dict[str, object]:
        """Return it as *vendor* spells it on *wire*."""
        if wire == "anthropic":
            return _anthropic(self, request_id)
        if wire == "gemini":
            kind = self.type or "INVALID_ARGUMENT"
            return {"error": {"code": self.status, "message": self.message, "status": kind}}
        return _CHAT.get(vendor, _openai)(self)


Rule = Callable[[S], Complaint | None]


def first(rules: Iterable[Rule[S]], request: S) -> Complaint | None:
    """Return the complaint of the first of *rules* that *request* breaks."""
    return next((found for rule in rules if (found := rule(request)) is not None), None)


def _anthropic(complaint: Complaint, request_id: str) -> dict[str, object]:
    kind = complaint.type or "invalid_request_error"
    error = {"type": kind, "message": complaint.message}
    return {"type": "error", "error": error, "request_id": request_id}


def _openai(complaint: Complaint) -> dict[str, object]:
    return {"error": _flat(complaint)}


def _flat(complaint: Complaint) -> dict[str, object]:
    return {
        "message": complaint.message,
        "type": complaint.type or "invalid_request_error",
        "param": complaint.param,
        "code": complaint.code,
    }


def _openrouter(complaint: Complaint) -> dict[str, object]:
    """Return the refusal; one from upstream is wrapped as a string.

    Source: openrouter.ai/docs/api/reference/errors-and-debugging, read on 2026-11-29.
    """
    metadata: dict[str, object] = {"error_type": "invalid_request"}
    message = complaint.message
    if complaint.upstream is not None:
        is_anthropic = complaint.upstream == "Anthropic"
        raw = _anthropic(complaint, "req_upstream") if is_anthropic else _openai(complaint)
        message = "Provider returned error"
        metadata |= {"provider_name": complaint.upstream, "raw": json.dumps(raw)}
    error = {"code": complaint.status, "message": message, "metadata": metadata}
    return {"error": error, "user_id": "user_stub"}


def _mistral(complaint: Complaint) -> dict[str, object]:
    """Return the refusal; a 422 is a list of details, as in capture mistral_422_detail."""
    if complaint.status != 422:
        return {"object": "error", **_flat(complaint)}
    place = (complaint.param or "").split(".")
    loc: list[object] = ["body", *(int(step) if step.isdigit() else step for step in place)]
    return {"detail": [{"type": complaint.type, "loc": loc, "msg": complaint.message}]}


def _moonshot(complaint: Complaint) -> dict[str, object]:
    kind = complaint.type or "invalid_request_error"
    return {"error": {"message": complaint.message, "type": kind}}


def _zai(complaint: Complaint) -> dict[str, object]:
    return {"error": {"code": complaint.code or "1214", "message": complaint.message}}


def _xai(complaint: Complaint) -> dict[str, object]:
    """Return the refusal. It has no code if the body could not be read.

    Source: router-for-me/CLIProxyAPI#3704 and lidge-jun/opencodex#2237, read on 2026-11-30.
    """
    code = {} if complaint.status == 422 else {"code": complaint.code or "invalid-argument"}
    return {**code, "error": complaint.message}


def _minimax(complaint: Complaint) -> dict[str, object]:
    message = f"invalid params, {complaint.message} (2013)"
    error = {"type": "bad_request_error", "message": message, "http_code": "400"}
    return {"type": "error", "error": error}


_CHAT: Mapping[str, Callable[[Complaint], dict[str, Any]]] = {
    "openrouter": _openrouter,
    "cerebras": _flat,
    "mistral": _mistral,
    "moonshot": _moonshot,
    "zai": _zai,
    "xai": _xai,
    "minimax": _minimax,
    "groq": lambda complaint: _moonshot(complaint),
}
"""The form of a vendor's refusals on OpenAI's wires; other vendors use OpenAI's form."""
