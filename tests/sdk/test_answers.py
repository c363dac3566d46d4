"""The stub answers of the types that the SDKs have, and takes back what they make of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, TypeAdapter

from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.route import Route
from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from .call import package

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore"),  # what an SDK warns of is its own; raised, it would fail
]

STEP = {
    "reasoning": "I look.",
    "text": "Ok, I look.",
    "tool_calls": [{"name": "ls", "input": {"path": "."}}, {"name": "cat", "input": {}}],
}
SILENT = {"tool_calls": [{"name": "ls", "input": {"path": "."}}]}
THOUGHT = {"reasoning": "Hm.", "tool_calls": [{"name": "ls", "input": {}}]}
DONE = {"reasoning": "I know.", "text": "One file."}
PLAIN = {"text": "That is all."}
ANSWERS = [STEP, SILENT, THOUGHT, DONE, PLAIN, STEP, DONE]
"""What comes turn by turn."""
LOOK = "Look around."
NAMES = ("ls", "cat")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}

Form = Callable[[Any], Any]
FORMS: Mapping[str, Form] = {
    "the object itself": lambda value: value,
    "model_dump": lambda value: value.model_dump(),
    "model_dump in JSON": lambda value: value.model_dump(mode="json"),
    "without None": lambda value: value.model_dump(exclude_none=True),
    "without what is unset": lambda value: value.model_dump(exclude_unset=True),
    "to_dict": lambda value: value.to_dict() if hasattr(value, "to_dict") else dict(value),
}
each_form = pytest.mark.parametrize("form", FORMS)
each_way = pytest.mark.parametrize(
    ("form", "is_stream"),
    [
        *(pytest.param(form, False, id=form) for form in FORMS),
        *(pytest.param(form, True, id=f"{form}, streamed") for form in ("model_dump", "to_dict")),
    ],
)

CHAT = [
    *("openai-chat/gpt-4.1", "openai-chat/gpt-5.6", "openai-chat/o4-mini"),
    *("openrouter/anthropic/claude-sonnet-5", "openrouter/openai/gpt-5", "openrouter/x-ai/grok-4"),
    *("groq/llama-3.3-70b-versatile", "groq/openai/gpt-oss-120b", "cerebras/gpt-oss-120b"),
    *("mistral/mistral-large-latest", "mistral/magistral-medium", "deepseek/deepseek-v4-pro"),
    *("deepseek/deepseek-chat", "zai/glm-4.6", "moonshot/kimi-k3", "moonshot/kimi-k2"),
    *("minimax/MiniMax-M2", "acme/acme-1", "xai/grok-4", "bedrock/openai.gpt-oss-120b"),
]
CLAUDES = [
    *("anthropic/claude-fable-5-1", "anthropic/claude-opus-4-8", "anthropic/claude-sonnet-4-5"),
    *("openrouter-anthropic/anthropic/claude-sonnet-5", "deepseek-anthropic/deepseek-v4-pro"),
    *("zai-anthropic/glm-4.6", "moonshot-anthropic/kimi-k3", "minimax-anthropic/MiniMax-M2"),
    "acme-anthropic/acme-1",
]
RESPONSES = ["openai/o3", "openai/gpt-5.6", "openai/gpt-4.1", "xai/grok-4", "deepseek/deepseek-v4"]
GEMINIS = ["gemini/gemini-3-pro", "gemini/gemini-2.5-flash"]


@asynccontextmanager
async def strict(route: str) -> AsyncIterator[tuple[Stub, str]]:
    """Run a strict stub that plays `ANSWERS`, and yield it with the base URL of *route*."""
    scenario = Scenario.parse({"answers": {route: ANSWERS}})
    async with Stub(scenario, strict=True) as stub:
        base = stub.providers()[Route(route).provider]["baseUrl"]
        assert base is not None
        yield stub, base


def check(stub: Stub) -> None:
    """Assert that no request was refused."""
    refused = [each for each in stub.requests if each.answered.endswith("strict")]
    assert refused == []
    assert len(stub.requests) == len(ANSWERS)


FUNCTIONS = [
    {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES
]


async def talk_in_chat(
    stub: Stub, write: Form, ask: Callable[[list[Any]], Awaitable[Any]], **more: Any
) -> None:
    """Play all answers with *ask*, and write each into the next request with *write*."""
    messages: list[Any] = [{"role": "user", "content": LOOK}]
    for _ in ANSWERS:
        message = await ask(messages)
        calls = message.tool_calls or []
        messages.append(write(message))
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": "a.py", **more} for call in calls
        ]
        if not calls:
            messages.append({"role": "user", "content": "Go on."})
    check(stub)


@each_way
@pytest.mark.parametrize("route", CHAT)
async def test_chat_takes_back_what_openai_s_sdk_writes(
    route: str, form: str, is_stream: bool
) -> None:
    async with (
        strict(route) as (stub, base),
        package("openai").AsyncOpenAI(api_key="k", base_url=base, max_retries=0) as client,
    ):

        async def ask(messages: list[Any]) -> Any:
            asked = {"model": Route(route).model, "messages": messages, "tools": FUNCTIONS}
            if not is_stream:
                return (await client.chat.completions.create(**asked)).choices[0].message
            async with client.chat.completions.stream(**asked) as stream:
                return (await stream.get_final_completion()).choices[0].message

        await talk_in_chat(stub, FORMS[form], ask)


OWN = {"groq": "AsyncGroq", "cerebras.cloud.sdk": "AsyncCerebras"}


@each_form
@pytest.mark.parametrize(
    ("library", "route"),
    [
        ("groq", "groq/llama-3.3-70b-versatile"),
        ("groq", "groq/openai/gpt-oss-120b"),
        ("cerebras.cloud.sdk", "cerebras/gpt-oss-120b"),
    ],
)
async def test_chat_takes_back_what_the_vendor_s_own_sdk_writes(
    library: str, route: str, form: str
) -> None:
    async with strict(route) as (stub, base):
        kind = getattr(package(library), OWN[library])
        more = {"warm_tcp_connection": False} if library.startswith("cerebras") else {}
        client = kind(api_key="k", base_url=base.removesuffix("/v1"), max_retries=0, **more)

        async def ask(messages: list[Any]) -> Any:
            asked = {"model": Route(route).model, "messages": messages, "tools": FUNCTIONS}
            return (await client.chat.completions.create(**asked)).choices[0].message

        async with client:
            await talk_in_chat(stub, FORMS[form], ask)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "to_dict"])
@pytest.mark.parametrize("route", ["mistral/mistral-large-latest", "mistral/magistral-medium"])
async def test_chat_takes_back_what_mistral_s_sdk_writes(route: str, form: str) -> None:
    async with strict(route) as (stub, base), package("httpx2").AsyncClient() as http:
        client = package("mistralai.client").Mistral(
            api_key="k", server_url=base.removesuffix("/v1"), async_client=http
        )

        async def ask(messages: list[Any]) -> Any:
            asked = {"model": Route(route).model, "messages": messages, "tools": FUNCTIONS}
            return (await client.chat.complete_async(**asked)).choices[0].message

        await talk_in_chat(stub, FORMS[form], ask, name="ls")


@each_way
@pytest.mark.parametrize("route", CLAUDES)
async def test_messages_take_back_what_anthropic_s_sdk_writes(
    route: str, form: str, is_stream: bool
) -> None:
    tools = [{"name": name, "input_schema": SCHEMA} for name in NAMES]
    async with (
        strict(route) as (stub, base),
        package("anthropic").AsyncAnthropic(
            api_key="k", base_url=base.removesuffix("/v1"), max_retries=0
        ) as client,
    ):
        messages: list[Any] = [{"role": "user", "content": LOOK}]
        for _ in ANSWERS:
            asked = {"model": Route(route).model, "max_tokens": 4096, "tools": tools}
            asked["messages"] = messages
            if is_stream:
                async with client.messages.stream(**asked) as stream:
                    answer = await stream.get_final_message()
            else:
                answer = await client.messages.create(**asked)
            calls = [block.id for block in answer.content if block.type == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": each} for each in calls]
            messages += [
                {"role": "assistant", "content": [FORMS[form](each) for each in answer.content]},
                {"role": "user", "content": results or "Go on."},
            ]
        check(stub)


@each_way
@pytest.mark.parametrize("route", RESPONSES)
async def test_responses_take_back_what_openai_s_sdk_writes(
    route: str, form: str, is_stream: bool
) -> None:
    """xAI refuses a `content` of null beside encrypted thinking, as `model_dump` writes it."""
    if route.startswith("xai/") and form.startswith("model_dump"):
        with pytest.raises(package("openai").BadRequestError) as caught:
            await _take_back(route, form, is_stream=is_stream)
        assert "compaction blob" in caught.value.response.text
    else:
        await _take_back(route, form, is_stream=is_stream)


async def _take_back(route: str, form: str, *, is_stream: bool) -> None:
    tools = [{"type": "function", "name": name, "parameters": SCHEMA} for name in NAMES]
    async with (
        strict(route) as (stub, base),
        package("openai").AsyncOpenAI(api_key="k", base_url=base, max_retries=0) as client,
    ):
        items: list[Any] = [{"role": "user", "content": LOOK}]
        for _ in ANSWERS:
            asked = {"model": Route(route).model, "input": items, "tools": tools, "store": False}
            if is_stream:
                async with client.responses.stream(**asked) as stream:
                    answer = await stream.get_final_response()
            else:
                answer = await client.responses.create(**asked)
            calls = [item.call_id for item in answer.output if item.type == "function_call"]
            items += [FORMS[form](each) for each in answer.output]
            items += [
                {"type": "function_call_output", "call_id": each, "output": "a.py"}
                for each in calls
            ]
            if not calls:
                items.append({"role": "user", "content": "Go on."})
        check(stub)


GEMINI_FORMS: Mapping[str, Form] = {
    **{name: form for name, form in FORMS.items() if name != "to_dict"},
    "by alias": lambda value: value.model_dump(by_alias=True),
}


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("form", GEMINI_FORMS)
@pytest.mark.parametrize("route", GEMINIS)
async def test_gemini_takes_back_what_google_s_sdk_writes(
    route: str, form: str, is_stream: bool
) -> None:
    types = package("google.genai").types
    declared = [{"name": name, "parameters": {"type": "OBJECT"}} for name in NAMES]
    async with strict(route) as (stub, base):
        options = {"base_url": base.removesuffix("/v1beta"), "retry_options": {"attempts": 1}}
        client = package("google.genai").Client(api_key="k", http_options=options)
        contents: list[Any] = [{"role": "user", "parts": [{"text": LOOK}]}]
        try:
            for _ in ANSWERS:
                asked: dict[str, Any] = {"model": Route(route).model, "contents": contents}
                asked["config"] = {"tools": [{"function_declarations": declared}]}
                if is_stream:
                    chunks = await client.aio.models.generate_content_stream(**asked)
                    parts = [p async for each in chunks for p in each.candidates[0].content.parts]
                    content = types.Content(role="model", parts=parts)
                else:
                    answer = await client.aio.models.generate_content(**asked)
                    content = answer.candidates[0].content
                calls = [part.function_call for part in content.parts if part.function_call]
                results: list[dict[str, Any]] = [
                    {"function_response": {"id": each.id, "name": each.name, "response": {"a": 1}}}
                    for each in calls
                ]
                contents += [
                    GEMINI_FORMS[form](content),
                    {"role": "user", "parts": results or [{"text": "Go on."}]},
                ]
        finally:
            await client.aio.aclose()
        check(stub)


@pytest.mark.parametrize("route", GEMINIS)
async def test_gemini_takes_back_a_dump_with_all_its_nulls(route: str) -> None:
    """The SDK leaves nulls out; who writes its dump into a request of their own does not."""
    types = package("google.genai").types
    declared = {"functionDeclarations": [{"name": name} for name in NAMES]}
    async with strict(route) as (stub, base), httpx.AsyncClient(trust_env=False) as http:
        contents: list[Any] = [{"role": "user", "parts": [{"text": LOOK}]}]
        for _ in ANSWERS:
            url = f"{base}/models/{Route(route).model}:generateContent"
            body = {"contents": contents, "tools": declared, "systemInstruction": None}
            answer = types.GenerateContentResponse.model_validate(
                (await http.post(url, json=body)).raise_for_status().json()
            )
            content = answer.candidates[0].content
            calls = [part.function_call for part in content.parts if part.function_call]
            results = [
                {"functionResponse": {"id": each.id, "name": each.name, "response": {}}}
                for each in calls
            ]
            contents += [
                content.model_dump(mode="json", by_alias=True),
                {"role": "user", "parts": results or {"text": "Go on."}},
            ]
        check(stub)


def events_of_the_standard() -> Mapping[str, type[BaseModel]]:
    """Return the type of every event, by the name of the event."""
    kinds = vars(package("openresponses_types"))
    events = [kind for name, kind in kinds.items() if name.endswith("StreamingEvent")]
    return {next(iter(each.model_fields["type"].annotation)).value: each for each in events}


@pytest.mark.parametrize("answer", [STEP, SILENT, DONE, {**PLAIN, "stop": "max_output_tokens"}])
async def test_every_event_of_responses_is_of_the_standard_s_type(answer: Any) -> None:
    """Source: openresponses.org, as openresponses-types has it."""
    kinds = events_of_the_standard()
    kind_of_openai: Any = package("openai.types.responses").ResponseStreamEvent
    event_of_openai: TypeAdapter[Any] = TypeAdapter(kind_of_openai)
    for played in (answer, {**answer, "error": 500}):
        async with Stub(Scenario.parse({"answers": {"openai/o3": played}})) as stub:
            body = {
                "model": "o3",
                "input": LOOK,
                "stream": True,
                "reasoning": {"effort": "low", "summary": "auto"},
                "tools": [{"type": "function", "name": "ls", "parameters": SCHEMA}],
                "instructions": "Be brief.",
                "metadata": {"a": "b"},
            }
            async with httpx.AsyncClient(trust_env=False) as http:
                response = await http.post(f"{stub.url}/openai/v1/responses", json=body)

        events = [
            json.loads(line.removeprefix("data: "))
            for line in response.text.splitlines()
            if line.startswith("data: ")
        ]
        assert events
        for event in events:
            kinds[event["type"]].model_validate(event)
            event_of_openai.validate_python(event)


WHOLE = [
    ("openai/o3", "/responses", "openai.types.responses", "Response"),
    ("openai/o3", "/responses", "openresponses_types", "ResponseResource"),
    ("openai-chat/gpt-4.1", "/chat/completions", "openai.types.chat", "ChatCompletion"),
    ("groq/llama", "/chat/completions", "openai.types.chat", "ChatCompletion"),
    ("groq/llama", "/chat/completions", "groq.types.chat", "ChatCompletion"),
    ("mistral/m", "/chat/completions", "mistralai.client.models", "ChatCompletionResponse"),
    ("openrouter/a/b", "/chat/completions", "openai.types.chat", "ChatCompletion"),
    ("anthropic/claude", "/v1/messages", "anthropic.types", "Message"),
    ("gemini/g", "/models/g:generateContent", "google.genai.types", "GenerateContentResponse"),
]


@pytest.mark.parametrize("answer", [STEP, SILENT, DONE, PLAIN])
@pytest.mark.parametrize(("route", "path", "library", "name"), WHOLE)
async def test_a_whole_answer_is_of_the_sdk_s_type(
    route: str, path: str, library: str, name: str, answer: Any
) -> None:
    async with Stub(Scenario.parse({"answers": {route: answer}})) as stub:
        base = stub.providers()[Route(route).provider]["baseUrl"]
        async with httpx.AsyncClient(trust_env=False) as http:
            body = {"model": Route(route).model, "input": LOOK, "stream": False}
            response = await http.post(f"{base}{path}", json=body)

    package_ = package(library.removesuffix(".types")) if "genai" in library else package(library)
    kind = getattr(package_.types if "genai" in library else package_, name)
    kind.model_validate(response.json())


LISTS = [
    ("anthropic/claude", "anthropic.types", "ModelInfo", "data"),
    ("openai/gpt", "openai.types", "Model", "data"),
    ("openrouter/a/b", "openai.types", "Model", "data"),
]


@pytest.mark.parametrize(("route", "library", "name", "held"), LISTS)
async def test_a_listed_model_is_of_the_sdk_s_type(
    route: str, library: str, name: str, held: str
) -> None:
    provider = Route(route).provider
    async with Stub(Scenario.parse({"answers": {route: PLAIN}})) as stub:
        base = stub.providers()[provider]["baseUrl"]
        ending = "/v1/models" if catalog()[provider].wire == "anthropic" else "/models"
        async with httpx.AsyncClient(trust_env=False) as http:
            response = await http.get(f"{base}{ending}")

    kind = package(library)
    for step in name.split("."):
        kind = getattr(kind, step)
    (model,) = response.json()[held]
    kind.model_validate(model)
