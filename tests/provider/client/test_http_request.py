"""Where a request goes, and with which key."""

from __future__ import annotations

import httpx
import pytest

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.client.http_request import build_request
from sidestep.provider.client.rendering import render
from sidestep.provider.conversation import Conversation, Message, Text
from sidestep.provider.route import Route
from sidestep.provider.secret import Secret

HELLO = Conversation([Message("user", [Text("Hello")])])
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models"


@pytest.mark.parametrize(
    ("route", "url", "header"),
    [
        pytest.param(
            "anthropic/claude-sonnet-5", "https://api.anthropic.com/v1/messages", "x-api-key",
            id="anthropic",
        ),
        pytest.param(
            "openai/gpt-5.1", "https://api.openai.com/v1/responses", "authorization", id="responses"
        ),
        pytest.param(
            "openai-chat/gpt-5.1", "https://api.openai.com/v1/chat/completions", "authorization",
            id="chat",
        ),
        pytest.param(
            "gemini/gemini-3-pro", f"{GEMINI}/gemini-3-pro:streamGenerateContent?alt=sse",
            "x-goog-api-key", id="gemini",
        ),
        pytest.param(
            "zai-anthropic/glm-4.6", "https://api.z.ai/api/anthropic/v1/messages", "x-api-key",
            id="facade",
        ),
        pytest.param(
            "openrouter-anthropic/anthropic/claude-sonnet-5",
            "https://openrouter.ai/api/v1/messages", "authorization",
            id="facade that takes a bearer's key",
        ),
    ],
)  # fmt: skip
def test_a_request_goes_to_its_provider_with_the_key_in_one_header(
    route: str, url: str, header: str
) -> None:
    at = Route(route)
    rendering = render(HELLO, catalog()[at.provider], at)

    request = build_request(httpx.AsyncClient(), rendering, secret=Secret("sk-1"))

    assert str(request.url) == url
    assert [name for name, value in request.headers.items() if "sk-1" in value] == [header]
