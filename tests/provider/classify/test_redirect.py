"""A redirect names the address it points to, and nothing that could be a secret."""

from __future__ import annotations

import pytest

from sidestep import FailureKind
from sidestep.provider.classify.classify import classify_response


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://b.example/v1/messages", "to https://b.example/v1/messages"),
        ("http://10.0.0.7:8080/v1/", "to http://10.0.0.7:8080/v1/"),
        ("/login", "to /login"),
        ("//b.example/v1", "to //b.example/v1"),
        ("https://b.example/v1?state=s3cret&key=sk-1#s3cret", "to https://b.example/v1,"),
        ("https://me:s3cret@b.example/v1", "to https://b.example/v1,"),
        ("https://b.example/" + "x" * 5_000, "to https://b.example/xxx"),
        ("", "without saying where"),
        ("https://[", "without saying where"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_says_where_it_points(status: int, location: str, shown: str) -> None:
    headers = {"location": location, "retry-after": "7", "x-request-id": "req_1"}

    failure = classify_response(status, headers, b"<html>", provider="anthropic", wire="anthropic")

    assert (failure.kind, failure.status, failure.code) == (
        *(FailureKind.NETWORK, status),
        "redirect",
    )
    assert f"a redirect {shown}" in failure.message
    assert "s3cret" not in failure.message
    assert len(failure.message) < 500
    assert (failure.retry_after, failure.request_id) == (7.0, "req_1")
    assert failure.should_retry is False


@pytest.mark.parametrize("status", [200, 300, 304, 400, 404, 503])
def test_a_location_alone_is_no_redirect(status: int) -> None:
    body = b'{"error": {"message": "no"}}'

    failure = classify_response(
        status, {"location": "https://b.example"}, body, provider="anthropic", wire="anthropic"
    )

    assert failure.code != "redirect"
