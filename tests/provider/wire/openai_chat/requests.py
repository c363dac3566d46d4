"""What the tests of encode share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidestep import Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import (
    Conversation,
    Message,
    Part,
    Settings,
    Text,
    ToolCall,
    ToolSpec,
    ToolState,
)
from sidestep.provider.handover.handover import hand_over
from sidestep.provider.handover.target import Target
from sidestep.provider.handover.target_facts import target_of
from sidestep.provider.wire.openai_chat.encode import encode

if TYPE_CHECKING:
    pass


Object = dict[str, Any]

PROVIDERS = {
    **catalog(),
    "minimax": Provider("minimax", "openai-chat", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    "local": Provider("local", "openai-chat", "http://127.0.0.1:8000/v1", None),
    "azure": Provider("azure", "openai-chat", "https://example.com/v1", None),
    "xai": Provider("xai", "openai-chat", "https://example.com/v1", None),
}

GPT = Route("openai-chat/gpt-5.6")
GPT_4 = Route("openai-chat/gpt-4.1")
OPENROUTER = Route("openrouter/openai/gpt-5.6")
SONNET = Route("openrouter/anthropic/claude-sonnet-5")
GROQ = Route("groq/openai/gpt-oss-120b")
CEREBRAS = Route("cerebras/gpt-oss-120b")
MISTRAL = Route("mistral/mistral-large-latest")
MAGISTRAL = Route("mistral/magistral-medium-latest")
DEEPSEEK = Route("deepseek/deepseek-v4-pro")
ZAI = Route("zai/glm-4.7")
MOONSHOT = Route("moonshot/kimi-k2.6")
MINIMAX = Route("minimax/MiniMax-M2.7")
LOCAL = Route("local/qwen")

EVERY = [
    *(GPT, GPT_4, OPENROUTER, SONNET, GROQ, CEREBRAS, MISTRAL, MAGISTRAL, DEEPSEEK),
    *(ZAI, MOONSHOT, MINIMAX, LOCAL),
]

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = ToolSpec("read", "Read a file.", SCHEMA)

DETAILS = [
    {"type": "reasoning.text", "text": "Hm.", "signature": "sig", "format": "unknown", "index": 0},
    {"type": "reasoning.encrypted", "data": "e", "id": "rs_1", "index": 1},
]

ID = "call12345"
"""An id of the form that every dialect takes."""


def target(route: Route) -> Target:
    return target_of(PROVIDERS[route.provider], route)


def spelled(
    to: Route | Target, *messages: Message, tools: list[ToolSpec] | None = None, **settings: Any
) -> Object:
    conversation = Conversation(list(messages), tools or [], Settings(**settings))
    return encode(hand_over(conversation, to if isinstance(to, Target) else target(to)))


def user(*parts: Part | str) -> Message:
    return Message("user", [Text(part) if isinstance(part, str) else part for part in parts])


def said(route: Route, *parts: Part | str) -> Message:
    told = [Text(part) if isinstance(part, str) else part for part in parts]
    return Message("assistant", told, route=route)


def call(id_: str = ID, output: Any = "print(1)", **fields: Any) -> ToolCall:
    state: ToolState = "pending" if output is None else "completed"
    return ToolCall(id_, "read", {"path": "ä.py"}, state, output, **fields)


def call_spelled(id_: str = ID, name: str = "read") -> Object:
    function = {"name": name, "arguments": '{"path":"ä.py"}'}
    return {"id": id_, "type": "function", "function": function}


def result_spelled(id_: str = ID, content: object = "print(1)") -> Object:
    return {"role": "tool", "tool_call_id": id_, "content": content}


TOOL_SPELLED = {
    "type": "function",
    "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA},
}

ASKED: Object = {
    "max_output_tokens": 99,
    "reasoning": "medium",
    "temperature": 0.5,
    "top_p": 0.9,
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "cache_key": "k",
}

DOTTED = ToolSpec("read.file", "Read a file.", SCHEMA)
