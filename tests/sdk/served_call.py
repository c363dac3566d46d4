"""Calls of the official SDKs to a server that reads and writes with our readers and writers.

Each call takes the SDK's own form of a conversation with a tool, streamed and whole, and returns
what the SDK made of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sidestep.provider.conversation import Message, Reasoning, Text, ToolCall
from sidestep.provider.wire.answer import Answer
from sidestep.provider.wire.read_request import ReadRequest
from sidestep.provider.wire.registry import reader_of, writer_of
from sidestep.provider.wire_name import Wire

from .call import package

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
INPUT = {"path": "a.py"}


@dataclass
class Seen:
    """What an SDK made of an answer."""

    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    stop: str = ""
    tokens: tuple[int, int] = (0, 0)


@dataclass
class Served:
    """A transport that answers each request with *answer*, written by our own writer.

    Attributes:
        requests: What was read of each request.
    """

    wire: Wire
    answer: Answer
    requests: list[ReadRequest] = field(default_factory=list)

    def client(self) -> Any:
        """Return an HTTP client for an SDK."""
        library = package("httpx2")
        return library.AsyncClient(transport=library.MockTransport(self._handle))

    def _handle(self, request: Any) -> Any:
        path = request.url.raw_path.decode()
        made = reader_of(self.wire).read(request.content, path=path)
        self.requests.append(made)
        writer = writer_of(self.wire)(
            model=made.model,
            created=1_764_400_000,
            wants_usage=made.wants_usage,
            is_array=made.is_array,
        )
        if not made.is_streamed:
            return self._response(writer.whole(self.answer), "application/json")
        written = [writer.ping(), writer.start(), writer.ping(), writer.end(self.answer)]
        return self._response(b"".join(written), "text/event-stream")

    def _response(self, content: bytes, kind: str) -> Any:
        return package("httpx2").Response(200, content=content, headers={"content-type": kind})


Call = Callable[[Any, bool], Awaitable[Seen]]
"""Takes an HTTP client, and whether to stream."""

MESSAGES: Mapping[str, list[Any]] = {
    "anthropic": [
        {"role": "user", "content": "Read a.py"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "s"},
                {"type": "text", "text": "I do."},
                {"type": "tool_use", "id": "call_1", "name": "read", "input": INPUT},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "print(1)"}],
        },
    ],
    "openai-chat": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read a.py"},
        {
            "role": "assistant",
            "content": "I do.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read", "arguments": json.dumps(INPUT)},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "print(1)"},
    ],
    "openai-responses": [
        {"role": "user", "content": "Read a.py"},
        {"role": "assistant", "content": "I do."},
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "read",
            "arguments": json.dumps(INPUT),
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "print(1)"},
    ],
}


async def anthropic(http: Any, is_streamed: bool) -> Seen:
    client = package("anthropic").AsyncAnthropic(
        api_key="k", base_url="http://h", max_retries=0, http_client=http
    )
    options = {
        "model": "m",
        "max_tokens": 4000,
        "system": "Be brief.",
        "messages": MESSAGES["anthropic"],
        "tools": [{"name": "read", "description": "Read.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
    }
    if is_streamed:
        async with client.messages.stream(**options) as stream:
            message = await stream.get_final_message()
    else:
        message = await client.messages.create(**options)
    seen = Seen(stop=message.stop_reason)
    for block in message.content:
        match block.type:
            case "text":
                seen.text += block.text
            case "thinking":
                seen.thinking += block.thinking
            case "tool_use":
                seen.calls.append((block.id, block.name, block.input))
    seen.tokens = (message.usage.input_tokens, message.usage.output_tokens)
    return seen


async def chat(http: Any, is_streamed: bool) -> Seen:
    client = package("openai").AsyncOpenAI(
        api_key="k", base_url="http://h/v1", max_retries=0, http_client=http
    )
    function = {"name": "read", "description": "Read.", "parameters": SCHEMA}
    options = {
        "model": "m",
        "max_completion_tokens": 4000,
        "messages": MESSAGES["openai-chat"],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "auto",
        "reasoning_effort": "low",
    }
    if is_streamed:
        usage = {"include_usage": True}
        async with client.chat.completions.stream(**options, stream_options=usage) as stream:
            completion = await stream.get_final_completion()
    else:
        completion = await client.chat.completions.create(**options)
    choice = completion.choices[0]
    thinking = (choice.message.model_extra or {}).get("reasoning_content") or ""
    seen = Seen(choice.message.content or "", thinking, stop=choice.finish_reason)
    for call in choice.message.tool_calls or ():
        arguments = json.loads(call.function.arguments)
        seen.calls.append((call.id, call.function.name, arguments))
    seen.tokens = (completion.usage.prompt_tokens, completion.usage.completion_tokens)
    return seen


async def responses(http: Any, is_streamed: bool) -> Seen:
    client = package("openai").AsyncOpenAI(
        api_key="k", base_url="http://h/v1", max_retries=0, http_client=http
    )
    tool = {"type": "function", "name": "read", "description": "Read.", "parameters": SCHEMA}
    options = {
        "model": "m",
        "max_output_tokens": 4000,
        "instructions": "Be brief.",
        "input": MESSAGES["openai-responses"],
        "tools": [{**tool, "strict": False}],
        "tool_choice": "auto",
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
    }
    if is_streamed:
        async with client.responses.stream(**options) as stream:
            response = await stream.get_final_response()
    else:
        response = await client.responses.create(**options)
    seen = Seen(text=response.output_text, stop=response.status)
    for item in response.output:
        match item.type:
            case "reasoning":
                seen.thinking += "".join(part.text for part in item.summary)
            case "function_call":
                seen.calls.append((item.call_id, item.name, json.loads(item.arguments)))
    seen.tokens = (response.usage.input_tokens, response.usage.output_tokens)
    return seen


async def gemini(http: Any, is_streamed: bool) -> Seen:
    types = package("google.genai.types")
    options = {"base_url": "http://h", "httpx_async_client": http, "retry_options": {"attempts": 1}}
    client = package("google.genai").Client(api_key="k", http_options=options)
    call = types.FunctionCall(id="call_1", name="read", args=INPUT)
    result = types.FunctionResponse(id="call_1", name="read", response={"output": "print(1)"})
    contents = [
        types.Content(role="user", parts=[types.Part(text="Read a.py")]),
        types.Content(
            role="model", parts=[types.Part(text="I do."), types.Part(function_call=call)]
        ),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]
    declared = types.FunctionDeclaration(
        name="read", description="Read.", parameters_json_schema=SCHEMA
    )
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        max_output_tokens=4000,
        tools=[types.Tool(function_declarations=[declared])],
        tool_config={"function_calling_config": {"mode": "AUTO"}},
        thinking_config={"thinking_level": "LOW", "include_thoughts": True},
        automatic_function_calling={"disable": True},
    )
    models = client.aio.models
    asked = {"model": "m", "contents": contents, "config": config}
    if is_streamed:
        chunks = [chunk async for chunk in await models.generate_content_stream(**asked)]
    else:
        chunks = [await models.generate_content(**asked)]
    seen = Seen()
    for chunk in chunks:
        for part in chunk.candidates[0].content.parts:
            if part.function_call:
                made = part.function_call
                seen.calls.append((made.id, made.name, made.args))
            elif part.thought:
                seen.thinking += part.text or ""
            else:
                seen.text += part.text or ""
    last = chunks[-1]
    seen.stop = last.candidates[0].finish_reason.value
    usage = last.usage_metadata
    seen.tokens = (usage.prompt_token_count, usage.candidates_token_count)
    return seen


CALLS: Mapping[Wire, Call] = {
    "anthropic": anthropic,
    "openai-chat": chat,
    "openai-responses": responses,
    "gemini": gemini,
}
CALLED: list[Message] = [
    Message("system", [Text("Be brief.")]),
    Message("user", [Text("Read a.py")]),
    Message(
        "assistant",
        [Text("I do."), ToolCall("call_1", "read", INPUT, "completed", "print(1)")],
    ),
]
"""The conversation of every call, as a reader should read it, without its thinking."""


def without_thinking(messages: list[Message]) -> list[Message]:
    """Return *messages* without reasoning, which only some of the calls send."""
    return [
        Message(each.role, [part for part in each.parts if not isinstance(part, Reasoning)])
        for each in messages
    ]
