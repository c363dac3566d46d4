"""What the strict stub refuses in Chat Completions, vendor by vendor, and what it does not.

Source: the pages named in `provider/strict_dialect.py`; captures openai_400_*, deepseek_400_* and
kimi_400_*.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from .judged import ISSUER, Body, Change, Rule, check, rows

GPT = "openai/gpt-4.1"
O3 = "openai/o3"
GROQ = "groq/llama-3.3-70b"
GROQ_SEEING = "groq/llama-4-scout"
CEREBRAS = "cerebras/gpt-oss-120b"
MISTRAL = "mistral/mistral-large"
MAGISTRAL = "mistral/magistral-medium"
DEEPSEEK = "deepseek/deepseek-v4-pro"
KIMI = "moonshot/kimi-k2-thinking"
KIMI_SILENT = "moonshot/kimi-k2"
ZAI = "zai/glm-4.6"
MINIMAX = "minimax/MiniMax-M2"
CLAUDE = "openrouter/anthropic/claude-sonnet-5"
ROUTER = "openrouter/openai/gpt-5"
ACME = "acme/acme-1"

ID = "abcdefghi"
MARK = {"type": "ephemeral"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}


def call(call_id: str = ID, name: str = "ls") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def result(call_id: str = ID) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "a.py"}


def looped(route: str = GPT, **more: Any) -> Body:
    answer: Body = {"role": "assistant", "content": "Ok", "tool_calls": [call()]}
    if route in (DEEPSEEK, KIMI):
        answer["reasoning_content"] = "I look."
    if route.startswith("openrouter"):
        signature = ISSUER.issue(route, "I look.")
        detail = {"type": "reasoning.text", "text": "I look.", "signature": signature, "index": 0}
        answer["reasoning_details"] = [detail]
    return {
        "model": route.partition("/")[2],
        "stream": True,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look around."},
            answer,
            result(),
        ],
        "tools": [deepcopy(TOOL)],
        **deepcopy(more),
    }


def put(index: int, **fields: Any) -> Change:
    return lambda body: body["messages"][index].update(deepcopy(fields))


def drop(index: int, key: str) -> Change:
    return lambda body: body["messages"][index].pop(key)


def add(index: int, message: dict[str, Any]) -> Change:
    return lambda body: body["messages"].insert(index, deepcopy(message))


def remove(index: int) -> Change:
    return lambda body: body["messages"].pop(index)


def declared(**schema: Any) -> Change:
    """Declare the tool with another schema."""
    return lambda body: body["tools"][0]["function"].update(parameters=schema)


def top(**fields: Any) -> Change:
    return lambda body: body.update(deepcopy(fields))


def detail(**fields: Any) -> Change:
    return lambda body: body["messages"][2]["reasoning_details"][0].update(fields)


def R(  # noqa: N802 - a row
    id: str,  # noqa: A002 - its name
    breaks: Change,
    says: str | None,
    *,
    route: str = GPT,
    code: str | int | None = None,
    **more: Any,
) -> Rule:
    vendor = route.partition("/")[0]
    make = partial(looped, route, **more)
    return Rule(f"{vendor}: {id}", breaks, says, make, route, vendor, "openai-chat", code)


def texts(*parts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": part, **more} for part in parts]


LONG = "toolu_" + "a" * 40
UNKNOWN = "Unrecognized request argument supplied: "
UNANSWERED = "The following tool_call_ids did not have response messages: abcdefghi"
PRECEDING = "must be a response to a preceeding message with 'tool_calls'"

PARAMETERS = [
    R("no messages", lambda b: b.pop("messages"), "Missing required parameter: 'messages'"),
    R("no messages", lambda b: b.pop("messages"), "Field required", route=MISTRAL, code=422),
    R("empty messages", top(messages=[]), "empty array"),
    R("an unknown one", top(cache_control=MARK), UNKNOWN + "cache_control"),
    R("an unknown one", top(prompt_cache_key="x"), "property 'prompt_cache_key' is", route=GROQ),
    R("parallel calls", top(parallel_tool_calls=True), "is unsupported", route=CEREBRAS,
      code="wrong_api_format"),
    R("stream options", top(stream_options={}), "Extra inputs", route=MISTRAL, code=422),
    R("parallel calls", top(parallel_tool_calls=True), UNKNOWN, route=KIMI),
    R("an unknown one", top(cache_control=MARK), None, route=DEEPSEEK),
    R("an unknown one", top(cache_control=MARK), None, route=ACME),
    R("max_tokens if it reasons", top(max_tokens=9), "Use 'max_completion_tokens' instead.",
      route=O3, code="unsupported_parameter"),
    R("max_completion_tokens if it reasons", top(max_completion_tokens=9), None, route=O3),
    R("max_tokens if it does not", top(max_tokens=9), None),
    R("both limits", top(max_tokens=9, max_completion_tokens=9), "at the same time"),
    R("temperature if it reasons", top(temperature=0.2), "'temperature' does not support 0.2",
      route=O3, code="unsupported_value"),
    R("the default temperature", top(temperature=1), None, route=O3),
    R("top_p if it reasons", top(top_p=0.2), "'top_p' is not supported", route=O3),
    R("temperature if it does not", top(temperature=0.2), None),
    R("temperature", top(temperature=0.2), "only 1 is allowed", route=KIMI),
    R("temperature", top(temperature=0.2), None, route=KIMI_SILENT),
    R("effort where it does not reason", top(reasoning_effort="low"), UNKNOWN),
    *(R("effort", top(reasoning_effort="minimal"), "'minimal' is not supported with", route=route,
        code="unsupported_value")
      for route in ("openai/o4-mini", O3, "openai/gpt-5.4", "openai/gpt-5.6",
                    "openai/gpt-5-codex")),
    R("effort minimal of GPT-5", top(reasoning_effort="minimal"), None, route="openai/gpt-5-mini"),
    R("effort of none", top(reasoning_effort="none"), "Supported values are: 'minimal', 'low'",
      route="openai/gpt-5"),
    R("effort of none since 5.1", top(reasoning_effort="none"), None, route="openai/gpt-5.1"),
    R("effort xhigh of o4", top(reasoning_effort="xhigh"), "'low', 'medium', and 'high'.",
      route="openai/o4-mini"),
    R("effort xhigh since 5.2", top(reasoning_effort="xhigh"), None, route="openai/gpt-5.4"),
    R("effort max of 5.4", top(reasoning_effort="max"), "is not supported with the 'gpt-5.4'",
      route="openai/gpt-5.4"),
    R("effort max since 5.6", top(reasoning_effort="max"), None, route="openai/gpt-5.6"),
    R("effort high at a vendor that nobody knows", top(reasoning_effort="ultra"), None, route=ACME),
    R("stop of GPT-5 mini", top(stop=["x"]), "'stop' is not supported", route="openai/gpt-5-mini",
      code="unsupported_parameter"),
    R("stop of o3", top(stop="x"), "'stop' is not supported", route=O3),
    R("stop of GPT-4.1", top(stop="x"), None),
    R("temperature of one that does not think", top(temperature=0.2, logprobs=True, top_p=0.5),
      None, route="openai/gpt-5.4", reasoning_effort="none"),
    R("temperature of one that does not think unless told to", top(temperature=0.2), None,
      route="openai/gpt-5.2"),
    R("temperature of one that is told to think", top(temperature=0.2), "does not support 0.2",
      route="openai/gpt-5.2", reasoning_effort="low"),
    R("temperature of one that thinks unless told not to", top(temperature=0.2), "not support 0.2",
      route="openai/gpt-5.5"),
    R("logprobs of one that thinks", top(logprobs=True), "'logprobs' is not supported",
      route="openai/gpt-5.6"),
    R("max_tokens of one that does not think", top(max_tokens=9), "Use 'max_completion_tokens'",
      route="openai/gpt-5.4", reasoning_effort="none"),
    R("moderation", top(moderation={"model": "omni-moderation-latest"}), None),
    *(R("a forced tool", top(tool_choice=choice), "Thinking mode does not support this tool_choice",
        route=DEEPSEEK)
      for choice in ("required", {"type": "function", "function": {"name": "ls"}})),
    R("a tool that may be called", top(tool_choice="auto"), None, route=DEEPSEEK),
    R("no tool", top(tool_choice="none"), None, route=DEEPSEEK),
    R("a forced tool without thinking", top(tool_choice="required"), None, route=DEEPSEEK,
      thinking={"type": "disabled"}),
    R("a forced tool of an older one", top(tool_choice="required"), None,
      route="deepseek/deepseek-chat"),
    R("a forced tool", top(tool_choice="required"), None),
    R("a name in no form", lambda b: b["tools"][0]["function"].update(name="my.ls"), None,
      route=ACME),
    R("two of a name", lambda b: b["tools"].append(TOOL), None, route=ACME),
    R("stream options without a stream", top(stream=False, stream_options={}), "is only allowed"),
    R("a tool without a name", lambda b: b["tools"][0]["function"].pop("name"), "tools[0].func"),
    R("a name in no form", lambda b: b["tools"][0]["function"].update(name="my.ls"),
      "Invalid 'tools[0].function.name': string does not match pattern"),
    R("a long name", lambda b: b["tools"][0]["function"].update(name="l" * 65), "too long"),
    R("a schema that is no object", lambda b: b["tools"][0]["function"].update(parameters={}),
      "Invalid schema for function 'ls'", code="invalid_function_parameters"),
    R("a choice at the root", declared(type="object", anyOf=[{}]), "not have 'oneOf'/'anyOf'"),
    R("a choice at the root", declared(type="object", anyOf=[{}]), None, route=GROQ),
    R("a list of an unknown type", declared(type="object", properties={"a": {"type": "array"}}),
      "array schema missing items"),
    R("a list of an unknown type", declared(type="object", properties={"a": {"type": "array"}}),
      None, route=DEEPSEEK),
    R("two of a name", lambda b: b["tools"].append(TOOL), "function name ls is duplicated",
      route=KIMI),
    R("two of a name", lambda b: b["tools"].append(TOOL), "Tool names must be unique",
      route=CLAUDE),
    R("a choice without tools", lambda b: b.pop("tools"), "is only allowed when 'tools'",
      tool_choice="auto"),
]  # fmt: skip

MESSAGES = [
    R("one that is none", add(1, "x"), "Invalid type for 'messages[1]': expected an object"),  # type: ignore[arg-type]
    R("without a role", drop(1, "role"), "'messages[1].role'"),
    R("role developer", put(0, role="developer"), None),
    R("role developer", put(0, role="developer"), "Supported values are", route=GROQ),
    R("role developer", put(0, role="developer"), "unknown variant `developer`", route=DEEPSEEK),
    R("role developer", put(0, role="developer"), "Input tag 'developer'", route=MISTRAL, code=422),
    R("role developer", put(0, role="developer"), None, route=ROUTER),
    R("reasoning_content", put(2, reasoning_content="x"), "Unknown parameter: 'messages[2].reas"),
    R("reasoning_content", put(2, reasoning_content="x"),
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
      "property 'reasoning_content' is unsupported)]", route=GROQ),
    R("reasoning", put(2, reasoning="x"), None, route=GROQ),
    R("reasoning_content", put(2, reasoning_content="x"), "messages.2.reasoning_content: property",
      route=CEREBRAS),
    R("reasoning_content", put(2, reasoning_content="x"), "Extra inputs", route=MISTRAL, code=422),
    *(
        R("reasoning_details", put(2, reasoning_details=[]), "reasoning_details", route=route)
        for route in (GPT, GROQ, CEREBRAS, DEEPSEEK, KIMI, ZAI)
    ),
    R("reasoning_details", put(2, reasoning_details=[]), None, route=ACME),
    R("reasoning_details", put(2, reasoning_details=[]), "Extra inputs", route=MISTRAL, code=422),
    R("reasoning_details", put(2, reasoning_details=[]), None, route=MINIMAX),
    R("no content of the user", put(1, content=None), "expected one of a string or array"),
    R("a list", put(2, content=texts("Ok")), None),
    R("a list of the assistant", put(2, content=texts("Ok")), "invalid type: sequence",
      route=DEEPSEEK),
    R("a list of the system", put(0, content=texts("Ok")), "messages.0.system.content",
      route=CEREBRAS),
    R("a list of the user", put(1, content=texts("Ok")), None, route=DEEPSEEK),
    R("a picture", put(1, content=[PICTURE]), None),
    R("a picture in a result", put(3, content=[PICTURE]), "this message with role 'tool' contains"),
    R("a picture", put(1, content=[PICTURE]), "unknown variant `image_url`, expected `text`",
      route=DEEPSEEK),
    R("a picture", put(1, content=[PICTURE]), "must be a string", route=GROQ),
    R("a picture", put(1, content=[PICTURE]), None, route=GROQ_SEEING),
    R("a picture", put(1, content=[PICTURE]), "image_url", route=CEREBRAS),
    R("a picture", put(1, content=[PICTURE]), "type is invalid", route=ZAI, code="1210"),
    R("a picture", put(1, content=[PICTURE]), None, route=KIMI),
    R("thinking", put(2, content=[{"type": "thinking", "thinking": []}]), None, route=MISTRAL),
    R("thinking", put(2, content=[{"type": "thinking", "thinking": []}]), None, route=ACME),
    R("thinking of the user", put(1, content=[{"type": "thinking", "thinking": []}]),
      "Input tag 'thinking'", route=MISTRAL, code=422),
    R("thinking", put(2, content=[{"type": "thinking", "thinking": []}]), "'text' and 'refusal'"),
    R("annotations", put(2, annotations=[]), None),
    R("annotations", put(2, annotations=[]), None, route=GROQ),
    R("annotations of the user", put(1, annotations=[]), "'messages[1].annotations'"),
    R("annotations", put(2, annotations=[]), "Extra inputs", route=MISTRAL, code=422),
    *(
        R("null for what is not there", put(2, refusal=None, annotations=None, audio=None,
          function_call=None, reasoning_details=None, executed_tools=None), None, route=route)
        for route in (GPT, O3, GROQ, CEREBRAS, MISTRAL, DEEPSEEK, KIMI, ZAI, MINIMAX, CLAUDE, ACME)
    ),
    R("null in place of a role", put(2, role=None), "'messages[2].role'"),
    R("null in place of calls and text", add(4, {"role": "assistant", "content": None,
      "tool_calls": None, "refusal": None}), "got null"),
    R("role developer", put(0, role="developer"), None, route=ACME),
    R("role nobody", put(0, role="nobody"), "Supported values are", route=ACME),
    R("a picture in a result", put(3, content=[PICTURE]), None, route=ACME),
    R("a picture in a result", put(3, content=[PICTURE]), None, route=CLAUDE),
    R("a picture in a result", put(3, content=[PICTURE]), "with role 'tool' contains",
      route=GROQ_SEEING),
    R("a picture of the system", put(0, content=[PICTURE]), "with role 'system' contains",
      route=CLAUDE),
    R("thinking", put(2, content=[{"type": "thinking", "thinking": []}]), None, route=MAGISTRAL),
    R("cache marker", put(1, content=texts("Ok", cache_control=MARK)),
      "Unknown parameter: 'messages[1].content[0].cache_control'"),
    R("cache marker", put(1, content=texts("Ok", cache_control=MARK)), None, route=CLAUDE),
    R("cache marker on an empty text", put(1, content=texts("", cache_control=MARK)),
      "cannot be set for empty text blocks", route=CLAUDE),
    R("cache marker on a picture", put(1, content=[{**PICTURE, "cache_control": MARK}]),
      None, route=CLAUDE),
    R("cache marker on a message", put(1, cache_control=MARK), None, route=CLAUDE),
    R("cache marker on a result", put(3, cache_control=MARK), None, route=CLAUDE),
    R("cache marker on a part of a result", put(3, content=texts("Ok", cache_control=MARK)), None,
      route=CLAUDE),
    R("cache marker on a message", put(1, cache_control=MARK), "'messages[1].cache_control'"),
    R("four cache markers", put(1, content=texts(*"abcd", cache_control=MARK)), None, route=CLAUDE),
    R("five cache markers", put(1, content=texts(*"abcde", cache_control=MARK)), "Found 5",
      route=CLAUDE),
    R("neither text nor calls", add(1, {"role": "assistant", "content": None}), "got null"),
    R("an empty text", add(1, {"role": "assistant", "content": ""}), None),
    R("an empty text", add(1, {"role": "assistant", "content": ""}), "must not be empty",
      route=KIMI),
    R("an empty text", add(1, {"role": "assistant", "content": ""}), "but not none", route=MISTRAL,
      code="3240"),
    R("no text", add(1, {"role": "assistant", "content": None, "reasoning_content": ""}),
      "content or tool_calls must be set", route=DEEPSEEK),
    R("the assistant last", add(4, {"role": "assistant", "content": "Done"}),
      "Expected last role User or Tool", route=MISTRAL, code="3230"),
    R("a prefix last", add(4, {"role": "assistant", "content": "Do", "prefix": True}), None,
      route=MISTRAL),
    R("the assistant last", add(4, {"role": "assistant", "content": "Done"}), None),
]  # fmt: skip


def renamed(call_id: str) -> Change:
    def change(body: Body) -> None:
        body["messages"][2]["tool_calls"][0]["id"] = call_id
        body["messages"][3]["tool_call_id"] = call_id

    return change


def twice(body: Body) -> None:
    body["messages"] += deepcopy(body["messages"][2:])


def side_by_side(body: Body) -> None:
    body["messages"][2]["tool_calls"] *= 2


CALLS = [
    R("a long id", renamed(LONG), "Expected a string with maximum length 40, but got a string with"
      " length 46 instead", code="string_above_max_length"),
    R("a long id", renamed(LONG), None, route=GROQ),
    R("another's id", renamed("call_1"), "with a length of 9", route=MISTRAL, code="3280"),
    R("an id in no form", renamed("call.1"), "String should match pattern", route=CLAUDE),
    R("an id in no form", renamed("call.1"), None, route=ROUTER),
    R("a name in no form", put(2, tool_calls=[call(name="my.ls")]), "does not match pattern"),
    R("arguments that are an object",
      lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments={}),
      "'messages[2].tool_calls[0].function.arguments': expected a string, but got an object"),
    R("no calls in a list", lambda b: b["messages"].append(
        {"role": "assistant", "content": "Ok", "tool_calls": []}), "empty array"),
    R("a result without an id", drop(3, "tool_call_id"), "'messages[3].tool_call_id'"),
    *(R("a call of an id in two turns", twice, None, route=route)
      for route in (GPT, CLAUDE, MISTRAL, ACME)),
    R("two calls of an id", side_by_side, "Duplicate value"),
    R("two calls of an id", side_by_side, "`tool_use` ids must be unique", route=CLAUDE),
    R("a name in no form", put(2, tool_calls=[call(name="my.ls")]), None, route=ACME),
    R("no result", remove(3), UNANSWERED),
    R("no result", remove(3), UNANSWERED, route=KIMI),
    R("no result", remove(3), "`tool_use` ids were found without", route=CLAUDE),
    R("no result", remove(3), "does not follow tool call", route=MINIMAX),
    R("no result", lambda b: b["messages"].__setitem__(3, {"role": "user", "content": "x"}),
      "Not the same number of function calls and responses", route=MISTRAL, code="3230"),
    R("the user right after a result", add(4, {"role": "user", "content": "Wait"}), None,
      route=MISTRAL),
    R("the user before a result", add(3, {"role": "user", "content": "Wait"}),
      "Not the same number", route=MISTRAL, code="3230"),
    R("the user right after a result", add(4, {"role": "user", "content": "Wait"}), None),
    R("a message before the result", add(3, {"role": "user", "content": "Wait"}), UNANSWERED),
    R("a result of nothing", add(1, result()), PRECEDING),
    R("a result of nothing", add(1, result()), "Unexpected role 'tool'", route=MISTRAL),
    R("a result of another call", add(4, result("x")), "'tool_call_id' of 'x' not found"),
    R("two results", add(4, result()), "'tool_call_id' of 'abcdefghi' not found"),
    R("two results", add(4, result()), "must have a single result", route=CLAUDE),
    R("two results", add(4, result()), "Not the same number", route=MISTRAL),
]  # fmt: skip


def fragments(body: Body) -> None:
    """Split the details as they were streamed."""
    given = body["messages"][2]["reasoning_details"][0]
    body["messages"][2]["reasoning_details"] = [
        {"type": "reasoning.text", "text": "I ", "index": 0},
        {"type": "reasoning.text", "text": "look.", "index": 0},
        {"type": "reasoning.text", "text": "", "signature": given["signature"], "index": 0},
    ]


OFF = {"type": "disabled"}
MISSING = "must be passed back to the API."
KIMI_MISSING = "thinking is enabled but reasoning_content is missing in assistant tool call message"
UNISSUED = "Invalid `signature` in `thinking` block"
LATER = {"role": "assistant", "content": "Done"}

REASONING = [
    R("no reasoning_content", drop(2, "reasoning_content"), MISSING, route=DEEPSEEK),
    R("an empty one", put(2, reasoning_content=""), None, route=DEEPSEEK),
    R("none on another answer", add(1, LATER), MISSING, route=DEEPSEEK),
    R("none, switched off", drop(2, "reasoning_content"), None, route=DEEPSEEK, thinking=OFF),
    R("none, and no calls", top(messages=[{"role": "user", "content": "x"}, LATER]), None,
      route=DEEPSEEK),
    R("none, from a model that does not think", put(2), None, route="deepseek/deepseek-chat"),
    R("no reasoning_content", drop(2, "reasoning_content"), f"{KIMI_MISSING} at index 2",
      route=KIMI),
    R("an empty one", put(2, reasoning_content=""), None, route=KIMI),
    R("null", put(2, reasoning_content=None), KIMI_MISSING, route=KIMI),
    R("none on an answer without calls", add(4, LATER), None, route=KIMI),
    R("none, from a Kimi that does not think", put(2), None, route=KIMI_SILENT),
    R("details of another", detail(signature="EqQB"), UNISSUED, route=CLAUDE),
    R("details of another route", detail(signature=ISSUER.issue(ROUTER, "I look.")), UNISSUED,
      route=CLAUDE),
    R("edited details", detail(text="I looked."), UNISSUED, route=CLAUDE),
    R("unsigned details", detail(signature=None), UNISSUED, route=CLAUDE),
    R("details in fragments", fragments, None, route=CLAUDE),
    R("encrypted by another", detail(type="reasoning.encrypted", data="x"), "Invalid `data`",
      route=ROUTER),
    R("encrypted here", detail(type="reasoning.encrypted", data=ISSUER.issue(ROUTER, "")), None,
      route=ROUTER),
    R("a summary", detail(type="reasoning.summary", summary="x"), None, route=ROUTER),
    R("no details", drop(2, "reasoning_details"), None, route=CLAUDE),
]  # fmt: skip


@pytest.mark.parametrize("rule", rows([*PARAMETERS, *MESSAGES, *CALLS, *REASONING]))
def test_a_request_is_refused_in_the_vendors_words(rule: Rule) -> None:
    check(rule)
