"""One call with each SDK over a watched client, streamed and whole, and nothing else written.

Each returns the text of the answer. The only setting of its own is that the SDK does not retry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio.to_thread

from .call import HELLO, package

Call = Callable[[str, str, Any], Awaitable[str]]
"""Takes the base URL of the provider, a model, and the HTTP client to send with."""


@dataclass(frozen=True)
class Watched:
    """One way to make the call.

    Args:
        library: The library of the client that it takes.
        kind: The class of that client.
    """

    name: str
    provider: str
    call: Call
    library: str = "httpx2"
    kind: str = "AsyncClient"

    def client(self) -> Any:
        return getattr(package(self.library), self.kind)(timeout=60.0, trust_env=False)


def openai_client(base: str, http: Any, kind: str = "AsyncOpenAI") -> Any:
    return getattr(package("openai"), kind)(
        api_key="k", base_url=base, max_retries=0, http_client=http
    )


async def openai(base: str, model: str, http: Any) -> str:
    answer = await openai_client(base, http).chat.completions.create(model=model, messages=HELLO)
    return str(answer.choices[0].message.content)


async def openai_streamed(base: str, model: str, http: Any) -> str:
    chunks = await openai_client(base, http).chat.completions.create(
        model=model, messages=HELLO, stream=True
    )
    return "".join([c.choices[0].delta.content or "" async for c in chunks if c.choices])


async def responses(base: str, model: str, http: Any) -> str:
    answer = await openai_client(base, http).responses.create(model=model, input="Hello")
    return str(answer.output_text)


async def responses_streamed(base: str, model: str, http: Any) -> str:
    events = await openai_client(base, http).responses.create(
        model=model, input="Hello", stream=True
    )
    return "".join([e.delta async for e in events if e.type == "response.output_text.delta"])


async def openai_sync(base: str, model: str, http: Any) -> str:
    def call() -> str:
        client = openai_client(base, http, "OpenAI")
        answer = client.chat.completions.create(model=model, messages=HELLO)
        return str(answer.choices[0].message.content)

    return await anyio.to_thread.run_sync(call)


async def openai_sync_streamed(base: str, model: str, http: Any) -> str:
    def call() -> str:
        client = openai_client(base, http, "OpenAI")
        chunks = client.chat.completions.create(model=model, messages=HELLO, stream=True)
        return "".join([c.choices[0].delta.content or "" for c in chunks if c.choices])

    return await anyio.to_thread.run_sync(call)


def anthropic_client(base: str, http: Any) -> Any:
    return package("anthropic").AsyncAnthropic(
        api_key="k", base_url=base, max_retries=0, http_client=http
    )


async def anthropic(base: str, model: str, http: Any) -> str:
    message = await anthropic_client(base, http).messages.create(
        model=model, max_tokens=9, messages=HELLO
    )
    return str(message.content[0].text)


async def anthropic_streamed(base: str, model: str, http: Any) -> str:
    client = anthropic_client(base, http)
    async with client.messages.stream(model=model, max_tokens=9, messages=HELLO) as stream:
        return "".join([text async for text in stream.text_stream])


def groq_client(base: str, http: Any) -> Any:
    return package("groq").AsyncGroq(
        api_key="k", base_url=base.removesuffix("/v1"), max_retries=0, http_client=http
    )


async def groq(base: str, model: str, http: Any) -> str:
    answer = await groq_client(base, http).chat.completions.create(model=model, messages=HELLO)
    return str(answer.choices[0].message.content)


async def groq_streamed(base: str, model: str, http: Any) -> str:
    chunks = await groq_client(base, http).chat.completions.create(
        model=model, messages=HELLO, stream=True
    )
    return "".join([c.choices[0].delta.content or "" async for c in chunks if c.choices])


def mistral_client(base: str, http: Any) -> Any:
    return package("mistralai.client").Mistral(
        api_key="k", server_url=base.removesuffix("/v1"), async_client=http, timeout_ms=60_000
    )


async def mistral(base: str, model: str, http: Any) -> str:
    answer = await mistral_client(base, http).chat.complete_async(model=model, messages=HELLO)
    return str(answer.choices[0].message.content)


async def mistral_streamed(base: str, model: str, http: Any) -> str:
    events = await mistral_client(base, http).chat.stream_async(model=model, messages=HELLO)
    return "".join([e.data.choices[0].delta.content or "" async for e in events if e.data.choices])


def gemini_client(base: str, http: Any) -> Any:
    options = {
        "base_url": base.removesuffix("/v1beta"),
        "httpx_async_client": http,
        "retry_options": {"attempts": 1},
    }
    return package("google.genai").Client(api_key="k", http_options=options)


async def gemini(base: str, model: str, http: Any) -> str:
    answer = await gemini_client(base, http).aio.models.generate_content(
        model=model, contents="Hello"
    )
    return str(answer.text)


async def gemini_streamed(base: str, model: str, http: Any) -> str:
    chunks = await gemini_client(base, http).aio.models.generate_content_stream(
        model=model, contents="Hello"
    )
    return "".join([chunk.text or "" async for chunk in chunks])


def pydantic_ai_agent(base: str, model: str, http: Any) -> Any:
    provider = package("pydantic_ai.providers.openai").OpenAIProvider
    kind = package("pydantic_ai.models.openai").OpenAIChatModel
    made = kind(model, provider=provider(openai_client=openai_client(base, http)))
    return package("pydantic_ai").Agent(made)


async def pydantic_ai(base: str, model: str, http: Any) -> str:
    return str((await pydantic_ai_agent(base, model, http).run("Hello")).output)


async def pydantic_ai_streamed(base: str, model: str, http: Any) -> str:
    async with pydantic_ai_agent(base, model, http).run_stream("Hello") as answer:
        return "".join([text async for text in answer.stream_text(delta=True)])


def langchain_model(base: str, model: str, http: Any) -> Any:
    return package("langchain_openai").ChatOpenAI(
        model=model, base_url=base, api_key="k", max_retries=0, http_async_client=http
    )


async def langchain(base: str, model: str, http: Any) -> str:
    return str((await langchain_model(base, model, http).ainvoke("Hello")).content)


async def langchain_streamed(base: str, model: str, http: Any) -> str:
    chunks = langchain_model(base, model, http).astream("Hello")
    return "".join([str(chunk.content) async for chunk in chunks])


def openai_agent(base: str, model: str, http: Any) -> Any:
    agents = package("agents")
    agents.set_tracing_disabled(True)
    made = agents.OpenAIChatCompletionsModel(model, openai_client=openai_client(base, http))
    return agents.Agent(name="one", model=made)


async def openai_agents(base: str, model: str, http: Any) -> str:
    result = await package("agents").Runner.run(openai_agent(base, model, http), "Hello")
    return str(result.final_output)


async def openai_agents_streamed(base: str, model: str, http: Any) -> str:
    result = package("agents").Runner.run_streamed(openai_agent(base, model, http), "Hello")
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


STREAMED = (
    Watched("openai", "openai-chat", openai_streamed),
    Watched("openai responses", "openai", responses_streamed),
    Watched("openai without a loop", "openai-chat", openai_sync_streamed, kind="Client"),
    Watched("anthropic", "anthropic", anthropic_streamed),
    Watched("google-genai", "gemini", gemini_streamed),
    Watched("groq", "groq", groq_streamed, "httpx"),
    Watched("mistralai", "mistral", mistral_streamed),
    Watched("pydantic-ai", "openai-chat", pydantic_ai_streamed),
    Watched("LangChain", "openai-chat", langchain_streamed),
    Watched("openai-agents", "openai-chat", openai_agents_streamed),
)
WHOLE = (
    Watched("openai", "openai-chat", openai),
    Watched("openai responses", "openai", responses),
    Watched("openai without a loop", "openai-chat", openai_sync, kind="Client"),
    Watched("anthropic", "anthropic", anthropic),
    Watched("google-genai", "gemini", gemini),
    Watched("groq", "groq", groq, "httpx"),
    Watched("mistralai", "mistral", mistral),
    Watched("pydantic-ai", "openai-chat", pydantic_ai),
    Watched("LangChain", "openai-chat", langchain),
    Watched("openai-agents", "openai-chat", openai_agents),
)
