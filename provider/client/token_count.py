"""The provider's own count of a request's tokens, before the request is sent.

Source: platform.claude.com/docs/en/api/messages/count_tokens,
developers.openai.com/api/reference/resources/responses/subresources/input_tokens,
ai.google.dev/api/tokens, and the types of the anthropic 2.14, openai 3.57 and google-genai 2.34
packages, read on 2026-11-30.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import anyio

from ..catalog.vendor import vendor_of
from ..classify.exception import classify_exception
from ..json_value import read_json, write_body
from ..log import logger
from .error_response import read_body
from .http_request import build_request
from .response_body import Body

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from ..secret import Secret
    from ..wire_name import Wire
    from .rendering import RenderedRequest

_SECONDS = 5.0
"""Seconds for a count, because an estimate is always there."""


@dataclass(frozen=True, slots=True)
class _Counter:
    """How one vendor counts the tokens of a request.

    Args:
        vendor: The vendor; facades of others do not count.
        path: The end of the request's path, and its replacement.
        keys: The keys of the body to send; None: the whole body, below a key of its own.
        answer: The key of the count in the answer.
    """

    vendor: str
    path: tuple[str, str]
    keys: frozenset[str] | None
    answer: str


_COUNTERS: Mapping[Wire, _Counter] = MappingProxyType(
    {
        "anthropic": _Counter(
            "anthropic",
            ("/messages", "/messages/count_tokens"),
            frozenset(
                {"model", "messages", "system", "tools", "tool_choice", "thinking"}
                | {"output_config", "cache_control"}
            ),
            "input_tokens",
        ),
        "openai-responses": _Counter(
            "openai",
            ("/responses", "/responses/input_tokens"),
            frozenset(
                {"model", "input", "instructions", "tools", "tool_choice", "reasoning", "text"}
                | {"parallel_tool_calls", "truncation"}
            ),
            "input_tokens",
        ),
        "gemini": _Counter(
            "gemini", (":streamGenerateContent?alt=sse", ":countTokens"), None, "totalTokens"
        ),
    }
)


async def count_tokens(
    http: httpx.AsyncClient, rendering: RenderedRequest, *, secret: Secret
) -> int | None:
    """Return the provider's count of the tokens of *rendering*; None: it did not count.

    Only a cancellation is raised, because callers have an estimate.
    """
    question = question_of(rendering)
    if question is None:
        return None
    why = f"no answer within {_SECONDS:g} s"
    with anyio.move_on_after(_SECONDS):
        try:
            return await _ask(http, question, secret=secret)
        except Exception as error:  # noqa: BLE001 - the count is optional
            why = _reason(error)
    logger.info("%s did not count its tokens: %s", rendering.route, why)
    return None


def question_of(rendering: RenderedRequest) -> RenderedRequest | None:
    """Return the request that counts the tokens of *rendering*; None: its vendor does not count."""
    counter = _COUNTERS.get(rendering.provider.wire)
    if counter is None or vendor_of(rendering.provider) != counter.vendor:
        return None
    body: dict[str, Any] = read_json(rendering.content)
    if counter.keys is None:
        payload = {"generateContentRequest": {"model": f"models/{rendering.route.model}", **body}}
    else:
        payload = {key: value for key, value in body.items() if key in counter.keys}
    ending, instead = counter.path
    return replace(
        rendering,
        path=rendering.path.removesuffix(ending) + instead,
        content=write_body(payload),
    )


async def _ask(http: httpx.AsyncClient, question: RenderedRequest, *, secret: Secret) -> int:
    """Send *question*, and return the count.

    Raises:
        ValueError: The answer is not a count.
    """
    request = build_request(http, question, secret=secret)
    response = await http.send(request, stream=True, follow_redirects=False)
    body = Body(response)
    try:
        text = await read_body(body.blocks)
    finally:
        await body.abandon()
    if response.status_code != 200:
        raise ValueError(f"status {response.status_code}")
    answer, name = read_json(text), _COUNTERS[question.provider.wire].answer
    tokens = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        raise ValueError(f"an answer without `{name}`")
    return tokens


def _reason(error: Exception) -> str:
    """Return what went wrong, without the server's words, because they may quote a key."""
    return str(error) if type(error) is ValueError else str(classify_exception(error).kind)
