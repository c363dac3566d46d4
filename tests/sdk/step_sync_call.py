"""One call with each library of agents without an event loop, as its users write it.

Each returns the text of the answer, and has the judgement that the page asks for: none over a
watched client; over requests and litellm the end of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests

import sidestep

from .call import HELLO, package

Call = Callable[[str, str, float | None], str]
"""Takes the base URL of the provider, a model, and the seconds to wait for more bytes."""


@dataclass(frozen=True)
class Blocking:
    """One way to make the call.

    Args:
        routes: The route that fails, and its sibling.
    """

    name: str
    call: Call
    routes: tuple[str, str] = ("groq/m", "zai/n")


def whole(text: str, end: object) -> str:
    if not (text and end):
        raise sidestep.Truncated("no finish_reason")
    return text


def posted(base: str, model: str, seconds: float | None, *, stream: bool) -> requests.Response:
    body = {"model": model, "messages": HELLO, "stream": stream}
    return requests.post(f"{base}/chat/completions", json=body, timeout=seconds, stream=stream)


def requests_streamed(base: str, model: str, seconds: float | None) -> str:
    text, end = "", None
    with posted(base, model, seconds, stream=True) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            chunk = json.loads(line[6:]) if line.startswith(b"data: {") else {}
            for choice in chunk.get("choices", ()):
                text += choice["delta"].get("content") or ""
                end = end or choice["finish_reason"]
    return whole(text, end)


def requests_whole(base: str, model: str, seconds: float | None) -> str:
    response = posted(base, model, seconds, stream=False)
    response.raise_for_status()
    answer = response.json()
    choice = answer.get("choices", [{}])[0]
    return whole(choice.get("message", {}).get("content"), choice.get("finish_reason"))


def httpx_streamed(library: str) -> Call:
    """Read the events of a watched client with no look at what they mean."""

    def call(base: str, model: str, seconds: float | None) -> str:
        body = {"model": model, "messages": HELLO, "stream": True}
        text = ""
        with (
            sidestep.watched(package(library).Client(timeout=seconds, trust_env=False)) as http,
            http.stream("POST", f"{base}/chat/completions", json=body) as response,
        ):
            if response.is_error:
                response.read()
            response.raise_for_status()
            for line in response.iter_lines():
                chunk = json.loads(line[6:]) if line.startswith("data: {") else {}
                for choice in chunk.get("choices", ()):
                    text += choice["delta"].get("content") or ""
        return text

    return call


def httpx_whole(library: str) -> Call:
    def call(base: str, model: str, seconds: float | None) -> str:
        body = {"model": model, "messages": HELLO}
        client = package(library).Client(timeout=seconds, trust_env=False)
        with sidestep.watched(client) as http:
            response = http.post(f"{base}/chat/completions", json=body)
        return str(response.raise_for_status().json()["choices"][0]["message"]["content"])

    return call


@contextmanager
def client(library: str, kind: str, base: str, seconds: float | None) -> Iterator[Any]:
    module = package(library)
    http = sidestep.watched(module.DefaultHttpxClient())
    with getattr(module, kind)(
        api_key="k", base_url=base, http_client=http, max_retries=0, timeout=seconds
    ) as made:
        yield made


def openai_streamed(base: str, model: str, seconds: float | None) -> str:
    with client("openai", "OpenAI", base, seconds) as made:
        chunks = made.chat.completions.create(model=model, messages=HELLO, stream=True)
        return "".join([c.choices[0].delta.content or "" for c in chunks if c.choices])


def openai_whole(base: str, model: str, seconds: float | None) -> str:
    with client("openai", "OpenAI", base, seconds) as made:
        answer = made.chat.completions.create(model=model, messages=HELLO)
        return str(answer.choices[0].message.content)


def anthropic_streamed(base: str, model: str, seconds: float | None) -> str:
    with (
        client("anthropic", "Anthropic", base, seconds) as made,
        made.messages.stream(model=model, max_tokens=9, messages=HELLO) as stream,
    ):
        return "".join(stream.text_stream)


def anthropic_whole(base: str, model: str, seconds: float | None) -> str:
    with client("anthropic", "Anthropic", base, seconds) as made:
        message = made.messages.create(model=model, max_tokens=9, messages=HELLO)
        return str(message.content[0].text)


@contextmanager
def litellm_answer(base: str, model: str, seconds: float | None, *, stream: bool) -> Iterator[Any]:
    library = package("litellm")
    library.suppress_debug_info = True
    try:
        yield library.completion(
            model=f"openai/{model}", api_base=base, api_key="k", messages=HELLO, stream=stream,
            timeout=seconds, num_retries=0, max_retries=0,
        )  # fmt: skip
    finally:
        clients = library.in_memory_llm_clients_cache
        for kept in list(clients.cache_dict.values()):  # it would keep their connections
            kept.close()
        clients.flush_cache()


def litellm_streamed(base: str, model: str, seconds: float | None) -> str:
    text, end = "", None
    with litellm_answer(base, model, seconds, stream=True) as chunks:
        for chunk in chunks:
            text += chunk.choices[0].delta.content or ""
            end = end or chunk.choices[0].finish_reason
    return whole(text, end)


def litellm_whole(base: str, model: str, seconds: float | None) -> str:
    with litellm_answer(base, model, seconds, stream=False) as answer:
        choice = answer.choices[0]
    return whole(choice.message.content, choice.finish_reason)


CLAUDE = ("anthropic/m", "moonshot-anthropic/n")
STREAMED = (
    Blocking("requests", requests_streamed),
    Blocking("httpx", httpx_streamed("httpx")),
    Blocking("httpx2", httpx_streamed("httpx2")),
    Blocking("openai", openai_streamed),
    Blocking("anthropic", anthropic_streamed, CLAUDE),
    Blocking("litellm", litellm_streamed),
)
WHOLE = (
    Blocking("requests", requests_whole),
    Blocking("httpx", httpx_whole("httpx")),
    Blocking("httpx2", httpx_whole("httpx2")),
    Blocking("openai", openai_whole),
    Blocking("anthropic", anthropic_whole, CLAUDE),
    Blocking("litellm", litellm_whole),
)
