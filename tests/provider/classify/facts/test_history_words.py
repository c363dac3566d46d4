"""Refusals of the order or the pairs of messages, in the words of many servers.

The module of the facts names the reports.
"""

from __future__ import annotations

import pytest

from sidestep.provider.classify.classify import classify_response
from sidestep.provider.cure import Change

from .rows import K, Row, chat, check

C = Change
PAIRS = "An assistant message with 'tool_calls' must be followed by tool messages responding to"
VENDORS = ("my-server", "deepseek", "mistral", "groq", "openrouter", "moonshot", "zai", "cerebras")
DASHSCOPE = "<400> InternalError.Algo.InvalidParameter: "
ALTERNATE = "conversation roles must alternate user and assistant roles except for tool calls"
JINJA = (
    "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...== 0) "
)
JINJA += f"%}}\nError: Jinja Exception: After the optional system message, {ALTERNATE}"
REFUSED: list[tuple[str, int, str, Change | None]] = [
    *((name, 400, PAIRS, C.CLOSE_CALLS) for name in VENDORS),
    *((name, 400, "Messages with role 'tool' must be a response to a preceding message with "
        "'tool_calls'", C.CLOSE_CALLS) for name in VENDORS),
    *(("my-server", 400, text, change) for text, change in (
        (f'{DASHSCOPE}messages with role "tool" must be a response to a preceeding message with '
            '"tool_calls".', C.CLOSE_CALLS),
        (f'{DASHSCOPE}An assistant message with "tool_calls" must be followed by tool messages '
            'responding to each "tool_call_id".', C.CLOSE_CALLS),
        ("Each function_call must have exactly one matching function_call_output", C.CLOSE_CALLS),
        ("Unexpected role 'tool' after role 'user'", C.CLOSE_CALLS),
        ("Unexpected role 'user' after role 'tool'", C.BRIDGE_RESULTS),
        ("Not the same number of function calls and responses", C.CLOSE_CALLS),
        ("Expected last role User or Tool (or Assistant with prefix True) for serving but got "
            "assistant", C.END_WITH_USER),
        ("Conversation roles must alternate user/assistant/user/assistant/...", None),
        (f"After the optional system message, {ALTERNATE} and results.", None),
        ("the length of messages must be an odd number", None),
        ("Invalid assistant message: content or tool_calls must be set", C.DROP_EMPTY),
        ("Assistant message must have either content or tool_calls, but not none.", C.DROP_EMPTY),
        ("litellm.BadRequestError: Hosted_vllmException - Cannot have 2 or more assistant messages "
            "at the end of the list.", C.END_WITH_USER),
        ('Error rendering prompt with jinja template: "Cannot pass both content and thinking in '
            'an assistant message with tool calls! Put', C.DROP_REASONING_TEXT),
        ('Error rendering prompt with jinja template: "No user query found in messages.".', None),
        ('"messages" in request are illegal: Message has tool role, but there was no previous '
            "assistant message with a tool call!..", C.CLOSE_CALLS),
        ("Tool message must be preceded by an assistant message with tool_calls",
            C.CLOSE_CALLS),  # made up
        ("An assistant message must contain either content or tool calls", C.DROP_EMPTY),  # made up
    )),
    ("my-server", 500, JINJA, None),
    ("my-server", 500, "Conversation roles must alternate user/assistant/user", None),
    ("mistral", 400, "Unexpected role RoleEnum.tool", C.CLOSE_CALLS),
    ("deepseek", 400, "No tool call found for tool output with call_id call_00_a.", C.CLOSE_CALLS),
]  # fmt: skip
OTHERS = [
    ("rate", 429, chat(PAIRS), K.RATE_LIMIT),
    ("a failure", 500, chat(PAIRS), K.SERVER_ERROR),
    ("a quotation", 400, chat(f"The tool printed: {PAIRS}"), K.BAD_REQUEST),
    ("a template", 400, chat('Error rendering prompt with jinja template: "Unknown test: '
        'sequence".'), K.BAD_REQUEST),
    ("a role of AWS", 400, chat("Unexpected role arn:aws:iam::1:role/x"), K.BAD_REQUEST),
    ("a parameter", 400, chat("tool_calls must be an array"), K.BAD_REQUEST),
    ("a tool", 400, chat("Tool message is too vague"), K.BAD_REQUEST),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "status", "text", "change"), REFUSED)
def test_a_refusal_of_the_order_of_messages_is_about_the_history(
    provider: str, status: int, text: str, change: Change | None
) -> None:
    row = Row("x", provider, status, chat(text), K.HISTORY_REJECTED)

    failure = classify_response(status, {}, row.bytes, provider=provider, wire="openai-chat")

    assert (failure.kind, failure.cure and failure.cure.change) == (row.kind, change)


@pytest.mark.parametrize("row", [Row(i, "my-server", s, b, k) for i, s, b, k in OTHERS], ids=str)
def test_what_only_sounds_so_is_not(row: Row) -> None:
    check(row)
