"""The official SDKs as clients of the local address: streamed and whole, through an outage."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ..session.serve.served import serving

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what an SDK warns of is its own
]

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
CALL = {"id": "call_abcdefgh1", "name": "read_file", "input": {"path": "a.py"}}
SIBLINGS = ("anthropic/claude-opus-5-5", "groq/llama-3", "openai/gpt-5.6", "gemini/gemini-3-pro")

Asked = tuple[str, list[tuple[str, Any]]]
"""The text of an answer, and its calls."""


async def chat(url: str, is_streamed: bool) -> Asked:
    openai = importlib.import_module("openai")
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]
    asked: dict[str, Any] = {
        "model": "llama-4", "messages": [{"role": "user", "content": "Hi"}], "tools": tools,
    }  # fmt: skip
    async with openai.AsyncOpenAI(base_url=f"{url}/groq/v1", api_key="k", max_retries=0) as client:
        if is_streamed:
            async with client.chat.completions.stream(**asked) as stream:
                answer = await stream.get_final_completion()
        else:
            answer = await client.chat.completions.create(**asked)
    message = answer.choices[0].message
    calls = [(each.function.name, each.function.arguments) for each in message.tool_calls or ()]
    return message.content or "", [(name, _json(text)) for name, text in calls]


async def responses(url: str, is_streamed: bool) -> Asked:
    openai = importlib.import_module("openai")
    asked: dict[str, Any] = {
        "model": "gpt-5.5", "input": "Hi", "store": False,
        "tools": [{"type": "function", "name": "read_file", "parameters": SCHEMA, "strict": False}],
    }  # fmt: skip
    async with openai.AsyncOpenAI(
        base_url=f"{url}/openai/v1", api_key="k", max_retries=0
    ) as client:
        if is_streamed:
            async with client.responses.stream(**asked) as stream:
                answer = await stream.get_final_response()
        else:
            answer = await client.responses.create(**asked)
    calls = [each for each in answer.output if each.type == "function_call"]
    return answer.output_text, [(each.name, _json(each.arguments)) for each in calls]


async def messages(url: str, is_streamed: bool) -> Asked:
    anthropic = importlib.import_module("anthropic")
    asked: dict[str, Any] = {
        "model": "claude-sonnet-5", "max_tokens": 64,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "read_file", "input_schema": SCHEMA}],
    }  # fmt: skip
    async with anthropic.AsyncAnthropic(
        base_url=f"{url}/anthropic", api_key="k", max_retries=0
    ) as client:
        if is_streamed:
            async with client.messages.stream(**asked) as stream:
                answer = await stream.get_final_message()
        else:
            answer = await client.messages.create(**asked)
    text = "".join(block.text for block in answer.content if block.type == "text")
    return text, [(each.name, each.input) for each in answer.content if each.type == "tool_use"]


async def gemini(url: str, is_streamed: bool) -> Asked:
    genai = importlib.import_module("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": f"{url}/gemini"})
    tools = [{"function_declarations": [{"name": "read_file", "parameters_json_schema": SCHEMA}]}]
    asked: dict[str, Any] = {
        "model": "gemini-2.5-pro", "contents": "Hi", "config": {"tools": tools},
    }  # fmt: skip
    if is_streamed:
        stream = await client.aio.models.generate_content_stream(**asked)
        answers = [each async for each in stream]
    else:
        answers = [await client.aio.models.generate_content(**asked)]
    parts = [
        part
        for answer in answers
        for candidate in answer.candidates or ()
        for part in (candidate.content and candidate.content.parts) or ()
    ]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    return text, [(each.name, each.args) for each in calls]


def _json(text: str) -> Any:
    return importlib.import_module("json").loads(text)


CLIENTS: dict[str, tuple[str, Callable[[str, bool], Awaitable[Asked]]]] = {
    "openai, Chat": ("groq/llama-4", chat),
    "openai, Responses": ("openai/gpt-5.5", responses),
    "anthropic": ("anthropic/claude-sonnet-5", messages),
    "google-genai": ("gemini/gemini-2.5-pro", gemini),
}
WHOLE = {"text": "Reading it.", "tool_calls": [CALL]}


@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("sibling", [None, *SIBLINGS])
@pytest.mark.parametrize("client", CLIENTS)
async def test_an_sdk_reads_the_answer_of_any_route(
    client: str, sibling: str | None, is_streamed: bool
) -> None:
    route, ask = CLIENTS[client]
    answers = {route: WHOLE} if sibling is None else {route: {"status": 503}, sibling: WHOLE}
    siblings = {} if sibling is None else {route: sibling}
    async with serving(answers, siblings=siblings, strict=True) as served:
        text, calls = await ask(served.serve.url, is_streamed)

    assert (text, calls) == ("Reading it.", [("read_file", {"path": "a.py"})])


@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("client", CLIENTS)
async def test_an_sdk_raises_the_error_of_the_status_with_our_story(
    client: str, is_streamed: bool
) -> None:
    route, ask = CLIENTS[client]
    answers = {route: {"status": 503}, "zai/glm": {"status": 429}}
    async with serving(answers, siblings={route: "zai/glm"}) as served:
        with pytest.raises(Exception, match="2 attempts failed") as caught:
            await ask(served.serve.url, is_streamed)

    error: Any = caught.value
    assert getattr(error, "status_code", None) == 429 or error.code == 429


@pytest.mark.parametrize("hold", ["whole", "first"])
@pytest.mark.parametrize("client", CLIENTS)
async def test_an_sdk_raises_on_an_error_in_a_stream_that_has_begun(client: str, hold: str) -> None:
    route, ask = CLIENTS[client]
    half = {"text": "Half an answer", "chunk": 4, "after": 2, "error": 503}
    options: dict[str, Any] = {"hold": hold, "status_after": 0.0 if hold == "whole" else 60.0}
    async with serving({route: {**half, "delay": 0.05}}, **options) as served:
        with pytest.raises(Exception, match=r".") as caught:
            await ask(served.serve.url, True)

    assert type(caught.value).__name__ not in {"AssertionError", "TypeError", "AttributeError"}
