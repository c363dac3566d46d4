"""One streamed call with each SDK, as its own documentation makes it, and without its retries.

The packages are imported by name when a call is made: if they are not installed, these tests
are not run, and nothing else may trip over them.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sidestep.provider.failure import Failure

CONNECT = 5.0
HELLO: Any = [{"role": "user", "content": "Hello"}]

Call = Callable[[str, str, float], Awaitable[None]]
"""Takes the base URL of the stub's provider, a model, and the seconds to wait for more bytes."""


@dataclass(frozen=True)
class Sdk:
    """One way to make the call.

    Args:
        provider: The provider with the wire that it speaks.
        silent: Outages in which it ends as if the answer were whole. So an SDK takes a stream that
            was cut, and an HTTP client knows of no errors in a body: the agent must look at the
            end itself, as the README says.
        lost: What of an outage is gone by the time it raises, so that nobody can tell.
    """

    name: str
    provider: str
    call: Call
    silent: tuple[str, ...] = ("cut",)
    lost: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def told(failure: Failure) -> dict[str, Any]:
    """Return what decides what follows, and what people see."""
    return {
        "kind": failure.kind,
        "status": failure.status,
        "code": failure.code,
        "retry_after": failure.retry_after,
        "stage": failure.stage,
    }


async def raised_by(call: Call, base: str, seconds: float) -> Exception | None:
    """Return what a call of the model ``m`` raises; None if it ends as if all were well."""
    try:
        await call(base, "m", seconds)
    except Exception as error:  # noqa: BLE001 - any of them is what we look for
        return error
    return None


def package(name: str) -> Any:
    return importlib.import_module(name)


def timeout(library: str, seconds: float) -> Any:
    return package(library).Timeout(seconds, connect=CONNECT)


async def read(stream: Any) -> None:
    async for _ in stream:
        pass


def plain(library: str) -> Call:
    """Use an HTTP client itself, as one does who has no SDK."""

    async def call(base: str, model: str, seconds: float) -> None:
        body = {"model": model, "messages": HELLO, "stream": True}
        url = f"{base}/chat/completions"
        async with (
            package(library).AsyncClient(timeout=timeout(library, seconds)) as http,
            http.stream("POST", url, json=body) as response,
        ):
            if response.is_error:
                await response.aread()
            response.raise_for_status()
            await read(response.aiter_bytes())

    return call


async def aiohttp(base: str, model: str, seconds: float) -> None:
    library = package("aiohttp")
    limits = library.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=seconds)
    body = {"model": model, "messages": HELLO, "stream": True}
    async with (
        library.ClientSession(timeout=limits) as http,
        http.post(f"{base}/chat/completions", json=body) as response,
    ):
        response.raise_for_status()
        await read(response.content)


def openai_client(base: str, seconds: float) -> Any:
    return package("openai").AsyncOpenAI(
        api_key="k", base_url=base, max_retries=0, timeout=timeout("httpx2", seconds)
    )


async def openai(base: str, model: str, seconds: float) -> None:
    async with openai_client(base, seconds) as client:
        await read(await client.chat.completions.create(model=model, messages=HELLO, stream=True))


def anthropic_client(base: str, seconds: float) -> Any:
    return package("anthropic").AsyncAnthropic(
        api_key="k", base_url=base, max_retries=0, timeout=timeout("httpx2", seconds)
    )


async def anthropic(base: str, model: str, seconds: float) -> None:
    async with anthropic_client(base, seconds) as client:
        await read(
            await client.messages.create(model=model, max_tokens=9, messages=HELLO, stream=True)
        )


async def anthropic_helper(base: str, model: str, seconds: float) -> None:
    async with (
        anthropic_client(base, seconds) as client,
        client.messages.stream(model=model, max_tokens=9, messages=HELLO) as stream,
    ):
        await read(stream)


def groq_client(base: str, seconds: float) -> Any:
    return package("groq").AsyncGroq(
        api_key="k",
        base_url=base.removesuffix("/v1"),
        max_retries=0,
        timeout=timeout("httpx", seconds),
    )


async def groq(base: str, model: str, seconds: float) -> None:
    async with groq_client(base, seconds) as client:
        await read(await client.chat.completions.create(model=model, messages=HELLO, stream=True))


async def cerebras(base: str, model: str, seconds: float) -> None:
    client = package("cerebras.cloud.sdk").AsyncCerebras(
        api_key="k",
        base_url=base.removesuffix("/v1"),
        max_retries=0,
        timeout=timeout("httpx", seconds),
        warm_tcp_connection=False,
    )
    async with client:
        await read(await client.chat.completions.create(model=model, messages=HELLO, stream=True))


def mistral_client(base: str, http: Any, seconds: float) -> Any:
    return package("mistralai.client").Mistral(
        api_key="k",
        server_url=base.removesuffix("/v1"),
        async_client=http,
        timeout_ms=int(1000 * seconds),
    )


async def mistral(base: str, model: str, seconds: float) -> None:
    async with package("httpx2").AsyncClient() as http:
        client = mistral_client(base, http, seconds)
        await read(await client.chat.stream_async(model=model, messages=HELLO))


def litellm(prefix: str) -> Call:
    async def call(base: str, model: str, seconds: float) -> None:
        library = package("litellm")
        library.suppress_debug_info = True
        try:
            stream = await library.acompletion(
                model=f"{prefix}/{model}",
                api_base=base,
                api_key="k",
                messages=HELLO,
                stream=True,
                timeout=seconds,
                num_retries=0,
                max_retries=0,
            )
            await read(stream)
        finally:
            # It keeps its clients, and with them the connections of this loop.
            await library.close_litellm_async_clients()
            library.in_memory_llm_clients_cache.flush_cache()

    return call


async def run(model: Any) -> None:
    async with package("pydantic_ai").Agent(model).run_stream("Hello") as answer:
        await read(answer.stream_text())


async def pydantic_ai_openai(base: str, model: str, seconds: float) -> None:
    provider = package("pydantic_ai.providers.openai").OpenAIProvider
    kind = package("pydantic_ai.models.openai").OpenAIChatModel
    async with openai_client(base, seconds) as client:
        await run(kind(model, provider=provider(openai_client=client)))


async def pydantic_ai_anthropic(base: str, model: str, seconds: float) -> None:
    provider = package("pydantic_ai.providers.anthropic").AnthropicProvider
    kind = package("pydantic_ai.models.anthropic").AnthropicModel
    async with anthropic_client(base, seconds) as client:
        await run(kind(model, provider=provider(anthropic_client=client)))


async def pydantic_ai_groq(base: str, model: str, seconds: float) -> None:
    provider = package("pydantic_ai.providers.groq").GroqProvider
    kind = package("pydantic_ai.models.groq").GroqModel
    async with groq_client(base, seconds) as client:
        await run(kind(model, provider=provider(groq_client=client)))


async def pydantic_ai_mistral(base: str, model: str, seconds: float) -> None:
    provider = package("pydantic_ai.providers.mistral").MistralProvider
    kind = package("pydantic_ai.models.mistral").MistralModel
    async with package("httpx2").AsyncClient() as http:
        client = mistral_client(base, http, seconds)
        await run(kind(model, provider=provider(mistral_client=client)))


def gemini_client(base: str, seconds: float, http: Any = None) -> Any:
    options = {
        "base_url": base,
        "timeout": int(1000 * seconds),
        "httpx_async_client": http,
        "retry_options": {"attempts": 1},  # without any, it asks twice over aiohttp
    }
    return package("google.genai").Client(api_key="k", http_options=options)


async def gemini_read(client: Any, model: str) -> None:
    try:
        await read(await client.aio.models.generate_content_stream(model=model, contents="Hello"))
    finally:
        await client.aio.aclose()


async def gemini_aiohttp(base: str, model: str, seconds: float) -> None:
    await gemini_read(gemini_client(base, seconds), model)


async def gemini_httpx2(base: str, model: str, seconds: float) -> None:
    async with package("httpx2").AsyncClient() as http:
        await gemini_read(gemini_client(base, seconds, http), model)


async def pydantic_ai_gemini(base: str, model: str, seconds: float) -> None:
    provider = package("pydantic_ai.providers.google").GoogleProvider
    client = gemini_client(base, seconds)
    try:
        await run(
            package("pydantic_ai.models.google").GoogleModel(
                model, provider=provider(client=client)
            )
        )
    finally:
        await client.aio.aclose()


IN_STREAM = ("error first", "rate limit first", "error later")
IN_BODY = (*IN_STREAM, "unreadable", "cut")

SDKS = (
    Sdk("httpx", "openai-chat", plain("httpx"), IN_BODY),
    Sdk("httpx2", "openai-chat", plain("httpx2"), IN_BODY),
    Sdk(
        "aiohttp",
        "openai-chat",
        aiohttp,
        IN_BODY,
        # `raise_for_status` throws the body away.
        {
            **{name: {"code": None} for name in ("401", "404", "429", "500", "503", "529")},
            "overflow": {"code": None, "kind": "bad_request"},
        },
    ),
    Sdk("openai", "openai-chat", openai),
    Sdk("openai-openrouter", "openrouter", openai),
    Sdk("anthropic", "anthropic", anthropic),
    Sdk("anthropic-helper", "anthropic", anthropic_helper),
    Sdk("groq", "groq", groq),
    Sdk("cerebras", "cerebras", cerebras),
    Sdk("mistralai", "mistral", mistral),
    Sdk("litellm-openai", "openai-chat", litellm("openai"), ()),
    Sdk(
        "litellm-openrouter",
        "openrouter",
        litellm("openrouter"),
        ("unreadable",),
        # Of an error in a stream it keeps the number, and drops the rest.
        {name: {"code": None} for name in IN_STREAM},
    ),
    Sdk(
        "litellm-anthropic",
        "anthropic",
        litellm("anthropic"),
        ("unreadable",),
        # Every error in a stream becomes a 500.
        {name: {"kind": "server_error", "status": 500, "code": None} for name in IN_STREAM},
    ),
    Sdk("pydantic-ai-openai", "openai-chat", pydantic_ai_openai),
    Sdk("pydantic-ai-anthropic", "anthropic", pydantic_ai_anthropic),
    Sdk("pydantic-ai-groq", "groq", pydantic_ai_groq),
    Sdk("pydantic-ai-mistral", "mistral", pydantic_ai_mistral),
)
