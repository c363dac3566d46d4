"""Answers of providers, and the failures that they mean."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sidestep import FailureKind
from sidestep.provider.classify.classify import (
    classify_response,
)
from sidestep.provider.failure import Stage

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

K = FailureKind
BAD = "invalid_request_error"


@dataclass(frozen=True)
class Row:
    """A whole answer, and what it is."""

    id: str
    provider: str
    status: int
    body: Any
    kind: FailureKind
    wire: Wire | None = None
    headers: dict[str, str] = field(default_factory=dict)
    lacks_capacity: bool = False

    @property
    def bytes(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def wire_of(provider: str) -> Wire:
    own: dict[str, Wire] = {"anthropic": "anthropic", "gemini": "gemini"}
    return own.get(provider, "openai-chat")


def claude(message: str, type_: str = BAD, code: str | None = None) -> dict[str, Any]:
    error = {"type": type_, "message": message, "details": {"error_code": code} if code else None}
    return {"type": "error", "error": error, "request_id": "req_1"}


def chat(message: str, type_: str | None = None, code: Any = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code, **more}}


def router(code: Any, message: str = "Provider returned error", **metadata: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "metadata": metadata}, "user_id": "u"}


def google(code: int, status: str, message: str = "m", *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": [*details]}}


RPC = "type.googleapis.com/google.rpc."


def info(reason: str) -> dict[str, Any]:
    return {"@type": f"{RPC}ErrorInfo", "reason": reason, "domain": "googleapis.com"}


def quota(id_: str, value: str = "250") -> dict[str, Any]:
    violation = {"quotaMetric": "m", "quotaId": id_, "quotaValue": value}
    return {"@type": f"{RPC}QuotaFailure", "violations": [violation]}


def minimax(code: int, message: str) -> dict[str, Any]:
    return {"choices": None, "base_resp": {"status_code": code, "status_msg": message}}


PLAN = "You exceeded your current quota, please check your plan and billing details."
RAW_CLAUDE = json.dumps(claude("prompt is too long: 213462 tokens > 200000 maximum"))
TPM = "in organization org-1 on tokens per min (TPM)"


def check(row: Row) -> None:
    """Classify the answer of *row*, and compare."""
    failure = classify_response(
        row.status,
        row.headers,
        row.bytes,
        provider=row.provider,
        wire=row.wire or wire_of(row.provider),
    )

    assert (failure.kind, failure.lacks_capacity) == (row.kind, row.lacks_capacity), failure.because
    assert row.status == 200 or failure.status == row.status
    assert row.status == 200 or failure.stage is Stage.RESPONSE
