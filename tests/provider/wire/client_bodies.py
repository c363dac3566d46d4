"""The requests of agents after their first call, as they were recorded, with shorter texts.

Recorded on 2026-11-30 with the versions that tests/clients/README.md names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sidestep.provider.wire_name import Wire

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
EPHEMERAL = {"type": "ephemeral"}
COMMAND = {"command": "printf 'hello-%s' 42"}
ARGUMENTS = '{"command":"printf \'hello-%s\' 42"}'
FUNCTION = {"name": "bash", "description": "Run a command.", "parameters": SCHEMA}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBody:
    """The request of one agent.

    Args:
        unreadable: The reasons why it can only go to the provider that the agent asks.
        left_out: What another route goes without.
        roles: The roles of the messages that it is read as.
    """

    wire: Wire
    body: dict[str, Any]
    roles: str
    path: str = ""
    unreadable: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


CLAUDE_CODE = ClientBody(
    wire="anthropic",
    path="/v1/messages?beta=true",
    roles="system user system assistant",
    left_out=(
        *("`output_config` of messages", "metadata", "context_management"),
        "`defer_loading` of tools",
    ),
    body={
        "model": "claude-opus-5-5",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "<system-reminder>\nAttribution"},
                    {"type": "text", "text": "Say hello."},
                ],
            },
            {"role": "system", "content": "# Environment", "output_config": {"effort": "medium"}},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "ONp76nwc9kUM"},
                    {"type": "text", "text": "I do."},
                    {"type": "tool_use", "id": "toolu_46ad", "name": "Bash", "input": COMMAND},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "tool_use_id": "toolu_46ad",
                        "type": "tool_result",
                        "content": "hello-42",
                        "is_error": False,
                        "cache_control": EPHEMERAL,
                    }
                ],
            },
        ],
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2"},
            {"type": "text", "text": "You are a Claude agent.", "cache_control": EPHEMERAL},
        ],
        "tools": [
            {"name": "Bash", "description": "Run a command.", "input_schema": SCHEMA},
            {"name": "Later", "description": "", "input_schema": SCHEMA, "defer_loading": True},
        ],
        "metadata": {"user_id": "{}"},
        "max_tokens": 128000,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "medium"},
        "stream": True,
    },
)

_CODEX_INPUT = [
    {
        "type": "message",
        "id": "msg_9621",
        "role": "developer",
        "content": [{"type": "input_text", "text": "You are a coding agent."}],
    },
    {
        "type": "message",
        "id": "msg_01a2",
        "role": "user",
        "content": [{"type": "input_text", "text": "Say hello."}],
    },
    {
        "type": "reasoning",
        "id": "rs_aa30",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "content": None,
        "encrypted_content": "mnTdZoQnzIu23rI/",
    },
    {
        "type": "function_call",
        "id": "fc_aa31",
        "name": "exec_command",
        "arguments": ARGUMENTS,
        "call_id": "call_1",
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "hello-42"},
]
_CODEX_TOOL = {
    "type": "function",
    "name": "exec_command",
    "description": "Runs a command.",
    "strict": False,
    "parameters": SCHEMA,
}
_CODEX_BODY: dict[str, Any] = {
    "model": "gpt-5.6",
    "stream": True,
    "input": _CODEX_INPUT,
    "tools": [_CODEX_TOOL],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"summary": "auto"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "01a22d26",
    "client_metadata": {"session_id": "01a22d26"},
}
CODEX_WITHOUT_EXTRAS = ClientBody(
    wire="openai-responses",
    roles="system user assistant",
    left_out=("client_metadata",),
    body=_CODEX_BODY,
)
"""Codex with `web_search` disabled and without agents."""
CODEX = ClientBody(
    wire="openai-responses",
    roles="system user assistant",
    unreadable=(
        "a tool of type 'namespace' (tools[1])",
        "a tool of type 'web_search' (tools[2])",
    ),
    left_out=("client_metadata",),
    body={
        **_CODEX_BODY,
        "tools": [
            _CODEX_TOOL,
            {"type": "namespace", "name": "multi_agent_v1", "description": "", "tools": []},
            {"type": "web_search", "external_web_access": False},
        ],
    },
)
OPENCODE = ClientBody(
    wire="openai-responses",
    roles="system user assistant",
    left_out=("text.verbosity",),
    body={
        "model": "gpt-5.6",
        "input": [
            {"role": "developer", "content": "You are OpenCode."},
            {"role": "user", "content": [{"type": "input_text", "text": "Say hello."}]},
            {
                "type": "reasoning",
                "encrypted_content": "4rNmxP+HOHE1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
            },
            {"role": "assistant", "content": [{"type": "output_text", "text": "I do."}]},
            {
                "type": "function_call",
                "call_id": "call_47e4",
                "name": "bash",
                "arguments": ARGUMENTS,
            },
            {"type": "function_call_output", "call_id": "call_47e4", "output": "hello-42"},
        ],
        "text": {"verbosity": "low"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "ses_dd2d",
        "reasoning": {"effort": "medium", "summary": "auto"},
        "tools": [{"type": "function", **FUNCTION, "strict": False}],
        "tool_choice": "auto",
        "stream": True,
    },
)
GEMINI_CLI = ClientBody(
    wire="gemini",
    path="/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse",
    roles="system user assistant",
    left_out=("generationConfig.topK",),
    body={
        "contents": [
            {
                "parts": [{"text": "<session_context>"}, {"text": "Say hello."}],
                "role": "user",
            },
            {
                "parts": [
                    {"text": "I do."},
                    {
                        "functionCall": {
                            "id": "call_dd8d",
                            "args": COMMAND,
                            "name": "run_shell_command",
                        },
                        "thoughtSignature": "iMjAoYZeAR6e",
                    },
                ],
                "role": "model",
            },
            {
                "parts": [
                    {
                        "functionResponse": {
                            "name": "run_shell_command",
                            "response": {"output": "Output: hello-42"},
                            "id": "call_dd8d",
                        }
                    }
                ],
                "role": "user",
            },
        ],
        "systemInstruction": {"parts": [{"text": "You are Gemini CLI."}], "role": "user"},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "run_shell_command", "description": "", "parametersJsonSchema": SCHEMA}
                ]
            }
        ],
        "generationConfig": {
            "temperature": 1,
            "topP": 0.95,
            "topK": 64,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"},
        },
    },
)
_CHAT_CALL = {
    "id": "call_da20",
    "type": "function",
    "function": {"name": "bash", "arguments": ARGUMENTS},
}
QWEN_CODE = ClientBody(
    wire="openai-chat",
    roles="system user assistant",
    body={
        "model": "deepseek-v4-pro",
        "messages": [
            {"role": "system", "content": "You are Qwen Code."},
            {"role": "user", "content": "Say hello."},
            {
                "role": "assistant",
                "content": "I do.",
                "tool_calls": [_CHAT_CALL],
                "reasoning_content": "Hm.",
            },
            {"role": "tool", "tool_call_id": "call_da20", "content": "hello-42"},
        ],
        "max_tokens": 64000,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": FUNCTION}],
    },
)
MINI_SWE_AGENT = ClientBody(
    wire="openai-chat",
    roles="system user assistant",
    body={
        "model": "gpt-4.1",
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Please solve this issue: Say hello."},
            {
                "content": "I do.",
                "role": "assistant",
                "tool_calls": [_CHAT_CALL],
                "annotations": [],
            },
            {"content": '{"output": "hello-42"}', "tool_call_id": "call_da20", "role": "tool"},
        ],
        "tools": [{"type": "function", "function": FUNCTION}],
    },
)
AIDER = ClientBody(
    wire="openai-chat",
    roles="system user assistant user system",
    body={
        "messages": [
            {"role": "system", "content": "Act as an expert software developer."},
            {"role": "user", "content": "I am not sharing any files that you can edit yet."},
            {"role": "assistant", "content": "Ok."},
            {"role": "user", "content": "Say hello."},
            {"role": "system", "content": "# *SEARCH/REPLACE block* Rules:"},
        ],
        "model": "gpt-4.1",
        "stream": True,
        "temperature": 0,
    },
)

CLIENT_BODIES: dict[str, ClientBody] = {
    "Claude Code": CLAUDE_CODE,
    "Codex": CODEX,
    "Codex without extras": CODEX_WITHOUT_EXTRAS,
    "opencode": OPENCODE,
    "Gemini CLI": GEMINI_CLI,
    "qwen-code": QWEN_CODE,
    "mini-swe-agent": MINI_SWE_AGENT,
    "aider": AIDER,
}
