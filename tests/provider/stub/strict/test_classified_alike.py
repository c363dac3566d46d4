"""The judge's refusals are classified as the provider's own are."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from sidestep import FailureKind
from sidestep.provider.classify.classify import classify_response
from sidestep.provider.stub.strict.complaint import Complaint
from sidestep.provider.stub.vendor_error import to_json

from . import test_anthropic as anthropic
from . import test_gemini as gemini
from . import test_openai_chat as chat
from . import test_openai_responses as responses
from .judged import Rule, judge, rows

RULES = [
    *(rule for group in anthropic.GROUPS.values() for rule in group),
    *(*chat.PARAMETERS, *chat.MESSAGES, *chat.CALLS, *chat.REASONING),
    *(*responses.SETTINGS, *responses.ITEMS, *responses.CALLS, *responses.REASONED),
    *(*gemini.FIELDS, *gemini.ORDER, *gemini.SIGNATURES, *gemini.DECLARED),
]
REFUSED = {FailureKind.BAD_REQUEST, FailureKind.HISTORY_REJECTED}


@pytest.mark.parametrize("rule", rows([rule for rule in RULES if rule.says is not None]))
def test_a_complaint_is_classified_as_a_refusal(rule: Rule) -> None:
    body = deepcopy(rule.make())
    rule.breaks(body)
    found = judge(body, route=rule.route, vendor=rule.vendor, wire=rule.wire)
    assert found is not None
    answer = to_json(found.body(vendor=rule.vendor, wire=rule.wire, request_id="req_1"))

    failure = classify_response(found.status, {}, answer, provider=rule.vendor, wire=rule.wire)

    assert failure.kind in REFUSED | ({FailureKind.NOT_FOUND} if found.status == 404 else set())
    assert found.message.strip()[:300] in failure.message


SHAPES = [
    pytest.param(
        Complaint(message="no", param="messages.0.x", type="extra_forbidden", status=422),
        "mistral",
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 0, "x"], "msg": "no"}]},
        id="mistral, unread",
    ),
    pytest.param(
        Complaint(message="no", code="3230", type="invalid_request_message_order"),
        "mistral",
        {
            "object": "error",
            "message": "no",
            "type": "invalid_request_message_order",
            "param": None,
            "code": "3230",
        },
        id="mistral",
    ),
    pytest.param(
        Complaint(message="no"),
        "moonshot",
        {"error": {"message": "no", "type": "invalid_request_error"}},
        id="moonshot",
    ),
    pytest.param(
        Complaint(message="no"), "zai", {"error": {"code": "1214", "message": "no"}}, id="zai"
    ),
    pytest.param(
        Complaint(message="no", param="x", code="c"),
        "cerebras",
        {"message": "no", "type": "invalid_request_error", "param": "x", "code": "c"},
        id="cerebras",
    ),
]


@pytest.mark.parametrize(("complaint", "vendor", "want"), SHAPES)
def test_each_dialect_has_its_own_shape(complaint: Complaint, vendor: str, want: object) -> None:
    assert complaint.body(vendor=vendor, wire="openai-chat", request_id="") == want


FLAT = {"message": "no", "type": "invalid_request_error"}


@pytest.mark.parametrize(
    ("upstream", "raw"),
    [
        pytest.param(
            "Anthropic", {"type": "error", "error": FLAT,
                          "request_id": "req_upstream"}, id="anthropic",
        ),
        pytest.param("OpenAI", {"error": {**FLAT, "param": None, "code": None}}, id="openai"),
    ],
)  # fmt: skip
def test_openrouter_passes_on_what_a_provider_said(upstream: str, raw: object) -> None:
    complaint = Complaint(message="no", upstream=upstream)

    body = complaint.body(vendor="openrouter", wire="openai-chat", request_id="")

    error = json.loads(json.dumps(body))["error"]
    assert error["message"] == "Provider returned error"
    assert error["metadata"]["provider_name"] == upstream
    assert json.loads(error["metadata"]["raw"]) == raw
