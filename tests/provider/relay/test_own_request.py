"""What of a client's request goes out, what of an answer comes back, and where to."""

from __future__ import annotations

import pytest

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.relay.own_request import (
    address_of,
    answered_headers,
    credentials_in,
    kept_headers,
    query_without,
)
from sidestep.provider.secret import Secret

KNOWN = catalog()


@pytest.mark.parametrize(
    ("provider", "path", "address"),
    [
        ("anthropic", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        (
            "anthropic",
            "/v1/messages/count_tokens",
            "https://api.anthropic.com/v1/messages/count_tokens",
        ),
        ("openrouter", "/api/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("openrouter", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("openrouter", "/v1/messages", "https://openrouter.ai/api/v1/messages"),
        ("openrouter-anthropic", "/v1/messages", "https://openrouter.ai/api/v1/messages"),
        ("groq", "/v1/models", "https://api.groq.com/openai/v1/models"),
        ("groq", "/openai/v1/models", "https://api.groq.com/openai/v1/models"),
        ("zai", "/v1/chat/completions", "https://api.z.ai/api/paas/v4/chat/completions"),
        ("zai", "/api/paas/v4/models", "https://api.z.ai/api/paas/v4/models"),
        ("zai", "/chat/completions", "https://api.z.ai/api/paas/v4/chat/completions"),
        ("deepseek", "/v1/chat/completions", "https://api.deepseek.com/chat/completions"),
        ("openai", "/v1/responses/r_1", "https://api.openai.com/v1/responses/r_1"),
        (
            "openai",
            "/v1/vector_stores/v1/files",
            "https://api.openai.com/v1/vector_stores/v1/files",
        ),
        (
            "gemini",
            "/v1beta/models/a%2Fb:countTokens",
            "https://generativelanguage.googleapis.com/v1beta/models/a%2Fb:countTokens",
        ),
        ("openai", "/v10x/models", "https://api.openai.com/v1/v10x/models"),
    ],
)
def test_a_local_path_is_the_providers_own_path(provider: str, path: str, address: str) -> None:
    assert address_of(KNOWN[provider], path) == address
    assert address_of(KNOWN[provider], path, "a=b") == f"{address}?a=b"


@pytest.mark.parametrize(
    ("name", "value", "is_kept"),
    [
        ("anthropic-beta", "a,b", True),
        ("x-stainless-lang", "js", True),
        ("authorization", "Bearer own", True),
        ("authorization", "Bearer token", False),
        ("authorization", "bearer  token ", False),
        ("authorization", "token", False),
        ("x-api-key", "token", False),
        ("x-goog-api-key", "token", False),
        ("api-key", "token", False),
        ("x-api-key", "own", True),
        ("x-note", "a token", False),
        ("host", "127.0.0.1", False),
        ("content-length", "3", False),
        ("connection", "keep-alive, x-hop", False),
        ("x-hop", "1", False),
        ("transfer-encoding", "chunked", False),
        ("te", "trailers", False),
        ("expect", "100-continue", False),
        ("cookie", "a=b", False),
        ("proxy-authorization", "Basic x", False),
        ("x-forwarded-for", "10.0.0.1", False),
        ("accept-encoding", "gzip", False),
    ],
)
def test_which_headers_of_a_client_go_out(name: str, value: str, is_kept: bool) -> None:
    sent = ((name, value), ("connection", "x-hop"), ("x-last", "1"))
    kept = [line for line in kept_headers(sent, without=["token"]) if line[0] != "x-last"]

    assert kept == ([(name, value)] if is_kept else [])


@pytest.mark.parametrize(
    ("name", "value", "comes"),
    [
        ("request-id", "r", "r"),
        ("Retry-After", "20", "20"),
        ("set-cookie", "a=b", None),
        ("content-encoding", "gzip", None),
        ("content-length", "3", None),
        ("transfer-encoding", "chunked", None),
        ("strict-transport-security", "max-age=1", None),
        ("x-echo", "key sk-ours-0123456789", "key [key]"),
        ("x-name", "caf\u00e9", None),
        ("x-name", "a\tb", None),
    ],
)
def test_which_headers_of_an_answer_come_back(name: str, value: str, comes: str | None) -> None:
    found = dict(answered_headers([(name, value)], Secret("sk-ours-0123456789")))

    assert found.get(name.lower()) == comes


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("", ""),
        ("alt=sse", "alt=sse"),
        ("key=token", ""),
        ("alt=sse&key=token", "alt=sse"),
        ("key=token&alt=sse", "alt=sse"),
        ("%6bey=tok%65n&alt=sse", "alt=sse"),
        ("key=own&alt=sse", "key=own&alt=sse"),
        ("x=a+token&a=%2F+b", "a=%2F+b"),
    ],
)
def test_what_holds_the_token_leaves_the_query_and_nothing_else_does(query: str, rest: str) -> None:
    assert query_without(query, ["token"]) == rest


def test_every_place_of_a_key_is_looked_at() -> None:
    headers = {"authorization": "Bearer a", "x-api-key": "b", "x-goog-api-key": "c", "api-key": "d"}

    assert credentials_in(headers, "alt=sse&key=e") == ["a", "b", "c", "d", "e"]
    assert credentials_in({"x-api-key": " "}, "") == []
