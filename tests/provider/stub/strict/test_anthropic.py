"""What the strict stub refuses on Anthropic's wire, and what it does not.

Source: the pages named in `provider/stub/strict/anthropic`; captures anthropic_400_*.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from sidestep.provider.stub.signature.anthropic import prefix_of

from .judged import ISSUER, Body, Change, Rule, check, judge, rows

FABLE = "anthropic/claude-fable-5-1"
OPUS = "anthropic/claude-opus-4-8"
OLD = "anthropic/claude-sonnet-4-5"
MIDDLE = "anthropic/claude-opus-4-6"
NEVER = "anthropic/claude-3-5-haiku"
DEEPSEEK = "deepseek/deepseek-v4-pro"
KIMI = "moonshot/kimi-k2-thinking"
ZAI = "zai/glm-4.6"
ROUTER = "openrouter/anthropic/claude-sonnet-5"

CALL = {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}
TOOL = {"name": "ls", "description": "List.", "input_schema": {"type": "object"}}
MARK = {"type": "ephemeral"}


def looped(route: str = OPUS, **more: Any) -> Body:
    """Return the request within a turn: a step with thinking and a call, and its result."""
    body: Body = {
        "model": route.partition("/")[2],
        "max_tokens": 4096,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [deepcopy(TOOL)],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Look around."}]}],
        **deepcopy(more),
    }
    prefix = prefix_of(body) if route == FABLE else None
    signature = ISSUER.issue(route, "I look.", prefix)
    thinking = {"type": "thinking", "thinking": "I look.", "signature": signature}
    body["messages"] += [
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "Ok"}, {**CALL}]},
        {"role": "user", "content": [{**RESULT}]},
    ]
    return body


def asked(route: str = OPUS, **more: Any) -> Body:
    body = looped(route, **more)
    body["messages"] = body["messages"][:1]
    return body


def content(body: Body, message: int) -> list[Any]:
    found: list[Any] = body["messages"][message]["content"]
    return found


def put(message: int, place: int, **fields: Any) -> Change:
    """Change the fields of one block."""
    return lambda body: content(body, message)[place].update(fields)


def drop(message: int, place: int, key: str) -> Change:
    return lambda body: content(body, message)[place].pop(key)


def insert(message: int, place: int, block: Any) -> Change:
    return lambda body: content(body, message).insert(place, deepcopy(block))


def remove(message: int, place: int) -> Change:
    return lambda body: content(body, message).pop(place)


def top(**fields: Any) -> Change:
    return lambda body: body.update(fields)


def say(*messages: tuple[str, Any]) -> Change:
    """Append messages."""
    new = [{"role": role, "content": what} for role, what in messages]
    return lambda body: body["messages"].extend(new)


def tool(**fields: Any) -> Change:
    return lambda body: body["tools"][0].update(fields)


def five(body: Body) -> None:
    for block in (body["tools"][0], body["system"][0], *content(body, 0), content(body, 1)[1]):
        block["cache_control"] = MARK
    content(body, 1)[2]["cache_control"] = MARK


def results(*ids: str) -> list[dict[str, Any]]:
    return [{**RESULT, "tool_use_id": each} for each in ids]


def again(answers: list[dict[str, Any]], call_id: str = "toolu_1") -> Change:
    """Call once more in a second message of the model, and answer with *answers*."""

    def change(body: Body) -> None:
        body["messages"].insert(2, {"role": "assistant", "content": [{**CALL, "id": call_id}]})
        body["messages"][3]["content"] = answers

    return change


def each(*changes: Change) -> Change:
    return lambda body: [change(body) for change in changes]


def R(  # noqa: N802 - a row
    id: str,  # noqa: A002 - its name
    breaks: Change,
    says: str | None,
    *,
    route: str = OPUS,
    vendor: str | None = None,
    make: Any = looped,
    **more: Any,
) -> Rule:
    of = vendor or route.partition("/")[0]
    return Rule(id, breaks, says, partial(make, route, **more), route, of, "anthropic")


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
PICTURE = [{"type": "text", "text": "seen"}, IMAGE]
BUDGET = {"type": "enabled", "budget_tokens": 2000}
ADAPTIVE = {"type": "adaptive"}
SYSTEM = {"role": "system", "content": "Be quick."}
NO_SYSTEM = "role 'system' is not supported on this model"
ENABLED = "is not supported for this model. Use"
EMPTY = "text content blocks must be non-empty"
WITHOUT = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after"
FOREIGN = "Invalid `signature` in `thinking` block"

SETTINGS = [
    R("no max_tokens", lambda b: b.pop("max_tokens"), "max_tokens: Field required"),
    R("max_tokens is text", top(max_tokens="1"), "max_tokens: Input should be a valid integer"),
    R("max_tokens of nothing", top(max_tokens=0), "greater than or equal to 1"),
    R("an unknown parameter", top(reasoning_effort="low"), "reasoning_effort: Extra inputs"),
    R("no messages", top(messages=[]), "messages: at least one message is required"),
    R("messages are text", top(messages="hi"), "messages: Input should be a valid list"),
    R("an unknown key", lambda b: b["messages"][0].update(name="x"), "messages.0.name: Extra"),
    R("role tool", say(("tool", "x")), 'Unexpected role "tool"'),
    R("role system after the user", say(("system", "x")), None),
    R("role system after the user of Fable 5", say(("system", "x")), None,
      route="anthropic/claude-fable-5"),
    R("role system after the user of Sonnet 5", say(("system", [{"type": "text", "text": "x"}])),
      None, route="anthropic/claude-sonnet-5"),
    R("role system in an older conversation", lambda b: b["messages"].insert(1, SYSTEM), None),
    R("role system before 4.8", say(("system", "x")), NO_SYSTEM, route="anthropic/claude-opus-4-7"),
    R("role system of Haiku 4.5", say(("system", "x")), NO_SYSTEM,
      route="anthropic/claude-haiku-4-5"),
    R("role system at OpenRouter", say(("system", "x")), None, route=ROUTER),
    R("role system of an old one at OpenRouter", say(("system", "x")), NO_SYSTEM,
      route="openrouter/anthropic/claude-sonnet-4.5"),
    R("role system first", lambda b: b["messages"].insert(0, SYSTEM),
      "messages.0: use the top-level 'system' parameter"),
    R("role system first, without words", lambda b: b["messages"].insert(
      0, {"role": "system", "content": [], "output_config": {"effort": "low"}}), None),
    R("role system with neither words nor orders", say(("system", [])), "non-empty content"),
    R("a call in role system", say(("system", [{**CALL, "id": "toolu_2"}])), "can only be in `as"),
    R("role developer", say(("developer", "x")), 'Unexpected role "developer"'),
    R("first the assistant", lambda b: b["messages"].insert(
      0, {"role": "assistant", "content": "Hello."}), None),
    R("only results at first", lambda b: b.update(messages=b["messages"][2:]),
      "unexpected `tool_use_id`"),
    R("system is an object", top(system={}), "system: Input should be a valid list"),
    R("thinking of no kind", top(thinking={"type": "on"}), "Input tag 'on' found", make=asked),
    R("budget on a new model", top(thinking=BUDGET), f'"thinking.type.enabled" {ENABLED}'),
    R("budget on 4.6", top(thinking=BUDGET), None, route=MIDDLE),
    R("budget on 4.5", top(thinking=BUDGET), None, route=OLD),
    R("adaptive on 4.5", top(thinking=ADAPTIVE), "adaptive thinking is not supp", route=OLD),
    R("budget on 3.5", top(thinking=BUDGET), "does not support", route=NEVER, make=asked),
    R("silenced Fable", top(thinking={"type": "disabled"}), f'"thinking.type.disabled" {ENABLED}',
      route=FABLE),
    R("silenced Opus", top(thinking={"type": "disabled"}), None),
    R(
        "binding on an old model",
        lambda b: b["thinking"].update(block_binding={}),
        "thinking.adaptive.block_binding: Extra inputs",
        thinking=ADAPTIVE,
    ),
    R("budget as large as the answer", top(max_tokens=2000), "must be greater than `thinking.b",
      route=OLD, thinking=BUDGET),
    R("budget too small", top(thinking={"type": "enabled", "budget_tokens": 10}),
      "greater than or equal to 1024", route=OLD),
    R("no budget", top(thinking={"type": "enabled"}), "budget_tokens: Field required", route=OLD),
    R("forced with a budget", top(tool_choice={"type": "any"}), "Thinking may not be enabled when",
      route=OLD, thinking=BUDGET),
    R("forced on 4.6 that thinks as it likes", top(tool_choice={"type": "any"}), None,
      route=MIDDLE, thinking=ADAPTIVE),
    R("forced on 4.8 that thinks as it likes", top(tool_choice={"type": "tool", "name": "ls"}),
      None, thinking=ADAPTIVE),
    R("forced on 4.6 with a budget", top(tool_choice={"type": "any"}), "Thinking may not be",
      route=MIDDLE, thinking=BUDGET),
    R("effort xhigh on 4.6", top(output_config={"effort": "xhigh"}),
      "does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
      route=MIDDLE),
    R("effort max on 4.6", top(output_config={"effort": "max"}), None, route=MIDDLE),
    R("effort max on 4.5", top(output_config={"effort": "max"}), "Supported levels: high, low, m",
      route="anthropic/claude-opus-4-5"),
    R("effort xhigh on 4.8", top(output_config={"effort": "xhigh"}), None),
    *(R(f"effort {effort} while it may not think",
        top(output_config={"effort": effort}, thinking={"type": "disabled"}),
        f"'{effort}' is not supported when thinking is disabled on this model")
      for effort in ("xhigh", "max")),
    R("effort high while it may not think",
      top(output_config={"effort": "high"}, thinking={"type": "disabled"}), None),
    R("effort max of 4.6 while it may not think",
      top(output_config={"effort": "max"}, thinking={"type": "disabled"}), None, route=MIDDLE),
    R("effort on Sonnet 4.5", top(output_config={"effort": "low"}),
      "does not support the effort parameter", route=OLD),
    R("effort on Haiku 4.5", top(output_config={"effort": "low"}),
      "does not support the effort parameter", route="anthropic/claude-haiku-4-5"),
    R("an unknown effort", top(output_config={"effort": "minimal"}), "'xhigh' or 'max'"),
    R("a form of output without an effort", top(output_config={"format": {"type": "json_schema",
      "schema": {}}}), None, route=OLD),
    R("effort at a facade", top(output_config={"effort": "xhigh"}), None, route=ZAI),
    R("forced without thinking", top(tool_choice={"type": "any"}), None),
    R("forced Fable", top(tool_choice={"type": "tool", "name": "ls"}),
      "is not compatible with this model", route=FABLE),
    R("sampling on 4.8", top(temperature=0.5), "`temperature` is deprecated for this model."),
    R("sampling on 4.5", top(temperature=0.5), None, route=OLD),
    R("both of sampling on 4.5", top(temperature=0.5, top_p=0.9), "cannot both be", route=OLD),
    R("both of sampling on 3.5", top(temperature=0.5, top_p=0.9), None, route=NEVER),
    R("sampling while it thinks", top(temperature=0.5), "may only be set to 1",
      route=OLD, thinking=BUDGET),
    R("prefill on 4.8", say(("assistant", "I see")), "does not support assistant message prefill"),
    R("prefill on 4.5", say(("assistant", "I see")), None, route=OLD),
    R("prefill that ends in a space", say(("assistant", "I see ")), "trailing whitespace",
      route=OLD),
]  # fmt: skip

TOOLS = [
    R("a name in no form", tool(name="my.tool"), "tools.0.custom.name: String should match"),
    R("two of a name", lambda b: b["tools"].append({**TOOL}), "tools: Tool names must be unique."),
    R("no schema", lambda b: b["tools"][0].pop("input_schema"), "input_schema: Field required"),
    R("a schema without a type", tool(input_schema={}), "input_schema.type: Field required"),
    R("a schema of a list", tool(input_schema={"type": "array"}), "Input should be 'object'"),
    R("a choice at the root", tool(input_schema={"type": "object", "anyOf": []}), "top level"),
    R("an unknown key", tool(parameters={}), "tools.0.custom.parameters: Extra inputs"),
    R("a choice of a tool that is none", top(tool_choice={"type": "tool", "name": "cat"}),
      "Tool 'cat' not found"),
    R("a choice without tools", lambda b: b.update(tools=[]), "may only be specified while",
      make=asked, tool_choice={"type": "auto"}),
    R("a tool of the provider's own", lambda b: b["tools"].append({"type": "bash_20250124"}), None),
]  # fmt: skip

BLOCKS = [
    R("an unknown block", insert(1, 1, {"type": "fallback"}), "Input tag 'fallback' found"),
    R("a block without a type", insert(1, 1, {"text": "x"}), "messages.1.content.1.type: Field"),
    R("a block that is none", insert(1, 1, "x"), "messages.1.content.1: Input should be a valid"),
    R("an unknown key", put(1, 1, id="x"), "messages.1.content.1.text.id: Extra inputs"),
    R("a call without input", drop(1, 2, "input"), "tool_use.input: Field required"),
    R("input that is text", put(1, 2, input="{}"), "input: Input should be a valid dictionary"),
    R("thinking of the user", insert(0, 0, {"type": "thinking", "thinking": "", "signature": ""}),
      "`thinking` blocks can only be in `assistant` messages"),
    R("a call of the user", insert(0, 0, CALL), "`tool_use` blocks can only be in `assistant`"),
    R("a result of the assistant", insert(1, 1, RESULT), "`tool_result` blocks can only be in"),
    R("nothing in a message", say(("user", [])), "all messages must have non-empty content"),
    R("an empty text", insert(1, 1, {"type": "text", "text": ""}), EMPTY),
    R("an empty string", say(("user", "")), "must have non-empty content"),
    R("a blank text beside a call", put(1, 1, text=" \n"), None),
    R("an empty text beside a call", put(1, 1, text=""), EMPTY),
    R("a blank text of the user", put(0, 0, text=" \n"), "must contain non-whitespace text"),
    R("a blank text beside a result", insert(2, 1, {"type": "text", "text": "\n"}),
      "must contain non-whitespace text"),
    R("a blank text beside thinking", lambda b: b["messages"].extend([
        {"role": "assistant", "content": [{"type": "text", "text": "\n"}]},
        {"role": "user", "content": "More."}]), "must contain non-whitespace text"),
    R("a blank string", say(("user", " ")), "must contain non-whitespace text"),
    R("an empty text in a result", put(2, 0, content=[{"type": "text", "text": ""}]), EMPTY),
    R("an empty result", put(2, 0, content=""), None),
    R("an empty system", top(system=[{"type": "text", "text": ""}]), EMPTY),
    R("a picture in a result", put(2, 0, content=PICTURE), None),
    R("a picture in a failure", put(2, 0, content=PICTURE, is_error=True),
      "all content must be type `text` if `is_error` is true"),
]  # fmt: skip

MARKERS = [
    R("on thinking", put(1, 0, cache_control=MARK), "thinking.cache_control: Extra inputs"),
    R("on an empty text", insert(2, 1, {"type": "text", "text": "", "cache_control": MARK}),
      "messages.2.content.1.text: cache_control cannot be set for empty text blocks"),
    R("on an empty system", top(system=[{"type": "text", "text": "", "cache_control": MARK}]),
      "system.0: cache_control cannot be set for empty text blocks"),
    R("on a call", put(1, 2, cache_control=MARK), None),
    R("a fifth", five, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    R("a fifth if none is read", five, None, route=ZAI),
    R("of no type", put(2, 0, cache_control={"type": "x"}), "type: Input should be 'ephemeral'"),
    R("of no length", put(2, 0, cache_control={**MARK, "ttl": "2h"}), "should be '5m' or '1h'"),
    R("a longer one later", put(2, 0, cache_control={**MARK, "ttl": "1h"}), "must not come after",
      system=[{"type": "text", "text": "x", "cache_control": MARK}]),
]  # fmt: skip

PAIRS = [
    R("no result", remove(2, 0), "non-empty content"),
    R("no result, but a text", lambda b: b["messages"][2].update(content="Go on."), WITHOUT),
    R("no message after", lambda b: b["messages"].pop(), WITHOUT, route=OLD),
    R("a text before the result", insert(2, 0, {"type": "text", "text": "Here:"}), WITHOUT),
    R("a text after the result", insert(2, 1, {"type": "text", "text": "Go on."}), None),
    R("a message later", lambda b: b["messages"].insert(2, {"role": "user", "content": "Wait"}),
      WITHOUT),
    R("a result of nothing", lambda b: content(b, 2).extend(results("toolu_2")),
      "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_2"),
    R("two results", lambda b: content(b, 2).extend(results("toolu_1")),
      "each tool_use must have a single result"),
    R("a call of an id in two turns", lambda b: b["messages"].extend(
        deepcopy(b["messages"][1:])), None),
    R("two calls of an id", lambda b: content(b, 1).append({**CALL}),
      "messages.1.content.2: `tool_use` ids must be unique"),
    R("two calls of an id in two messages in a row", again(results("toolu_1")), "must be unique"),
    R("calls in two messages in a row", again(results("toolu_1", "toolu_2"), "toolu_2"), None),
    R("calls and results in two messages in a row each", each(
        again(results("toolu_1"), "toolu_2"), say(("user", results("toolu_2")))), None),
    R("calls in two messages in a row, one result", again(results("toolu_1"), "toolu_2"),
      "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: to"),
    R("results in two messages in a row, a text between", each(
        again(results("toolu_1"), "toolu_2"),
        say(("user", "Wait"), ("user", results("toolu_2")))),
      "messages.2: `tool_use` ids were found without"),
    R("role system between call and result", lambda b: b["messages"].insert(2, {**SYSTEM}),
      WITHOUT),
    R("role system without words between call and result", lambda b: b["messages"].insert(
        2, {"role": "system", "content": [], "output_config": {"effort": "low"}}), None),
    R("an id in no form", put(1, 2, id="call.1"), "tool_use.id: String should match pattern"),
    R("a long id", put(1, 2, id="a" * 65), "should have at most 64 characters"),
    R("a name in no form", put(1, 2, name="my tool"), "tool_use.name: String should match"),
    R("no tools", top(tools=[]), "must define tools"),
]  # fmt: skip

SIGNATURES = [
    R("a foreign signature", put(1, 0, signature="EqQB"), f"messages.1.content.0: {FOREIGN}"),
    R("another route's", put(1, 0, signature=ISSUER.issue(OLD, "I look.")), FOREIGN),
    R("no signature", drop(1, 0, "signature"), "thinking.signature: Field required"),
    R("a null signature", put(1, 0, signature=None), "thinking.signature.str: Input should be a v"),
    R("empty and unsigned", put(1, 0, thinking="", signature=""), "must contain thinking"),
    R("edited in the latest answer", put(1, 0, thinking="I looked."), "cannot be modified"),
    R("edited in an earlier answer", put(1, 0, thinking="I looked."), FOREIGN,
      make=lambda route: {**(b := looped(route)), "messages": [
          *b["messages"], {"role": "assistant", "content": "Done."},
          {"role": "user", "content": "More."}]}),
    R("redacted elsewhere", insert(1, 0, {"type": "redacted_thinking", "data": "abc"}),
      "messages.1.content.0: Invalid `data` in `redacted_thinking` block"),
    R("redacted here",
      insert(1, 0, {"type": "redacted_thinking", "data": ISSUER.issue(OPUS, "")}), None),
    R("no thinking", remove(1, 0), None),
    R("another conversation", top(system="Be long."), "bound to a different conversation",
      route=FABLE),
    R("another conversation, not bound", top(system="Be long."), None),
    R("another conversation, dropped", top(system="Be long."), None, route=FABLE,
      thinking={"type": "adaptive",
                "block_binding": {"prefix_mismatch_behavior": "drop_block"}}),
    R("no thinking in a tool loop", remove(1, 0), "Expected `thinking` or `redacted_thinking`",
      route=OLD, thinking=BUDGET),
    R("thinking not first in a tool loop", insert(1, 0, {"type": "text", "text": "So"}),
      "but found `text`", route=OLD, thinking=BUDGET),
    R("no thinking in a tool loop of two messages", each(remove(1, 0),
      again(results("toolu_1", "toolu_2"), "toolu_2")), "messages.1.content.0.type: Expected",
      route=OLD, thinking=BUDGET),
    R("thinking in the first of two messages", again(results("toolu_1", "toolu_2"), "toolu_2"),
      None, route=OLD, thinking=BUDGET),
    R("no thinking in a finished turn",
      lambda b: b.update(messages=[b["messages"][0], {"role": "assistant", "content": "Done."},
                                   {"role": "user", "content": "More."}]),
      None, route=OLD, thinking=BUDGET),
]  # fmt: skip

FACADES = [
    R("unsigned", drop(1, 0, "signature"), None, route=ZAI),
    R("an empty signature", put(1, 0, signature=""), None, route=ZAI),
    R("signed by another", put(1, 0, signature="EqQB"), FOREIGN, route=ZAI),
    R("signed by another, OpenRouter", put(1, 0, signature="EqQB"), FOREIGN, route=ROUTER),
    R("an unknown parameter", top(reasoning_effort="low"), None, route=ZAI),
    R("no result", lambda b: b["messages"][2].update(content="Go on."), WITHOUT, route=ZAI),
    R("no thinking", remove(1, 0), None, route=ZAI),
    R("no thinking at DeepSeek", remove(1, 0),
      "The `content[].thinking` in the thinking mode must be passed back", route=DEEPSEEK),
    R("no thinking at DeepSeek, switched off", remove(1, 0), None, route=DEEPSEEK,
      thinking={"type": "disabled"}),
    R("no thinking at an older DeepSeek", remove(1, 0), None, route="deepseek/deepseek-chat"),
    R("no thinking at Kimi", remove(1, 0),
      "reasoning_content is missing in assistant tool call message at index 1", route=KIMI),
    R("no thinking at a Kimi that does not", remove(1, 0), None, route="moonshot/kimi-k2"),
    R("no thinking at a Kimi that is asked to", remove(1, 0), "reasoning_content is missing",
      route="moonshot/kimi-k2", thinking=BUDGET),
    R("a placeholder at DeepSeek", put(1, 0, thinking="(not kept)", signature=""), None,
      route=DEEPSEEK),
    R("a forced tool at DeepSeek", top(tool_choice={"type": "any"}),
      "Thinking mode does not support this tool_choice", route=DEEPSEEK),
    R("a forced tool at DeepSeek, switched off", top(tool_choice={"type": "any"}), None,
      route=DEEPSEEK, thinking={"type": "disabled"}),
    R("a free choice at DeepSeek", top(tool_choice={"type": "auto"}), None, route=DEEPSEEK),
    R("a picture at DeepSeek", insert(0, 0, IMAGE), "unknown variant `image`", route=DEEPSEEK),
    R("redacted at DeepSeek", insert(1, 0, {"type": "redacted_thinking", "data": ""}),
      "unknown variant `redacted_thinking`", route=DEEPSEEK),
]  # fmt: skip

GROUPS = {
    "setting": SETTINGS,
    "tool": TOOLS,
    "block": BLOCKS,
    "marker": MARKERS,
    "pairing": PAIRS,
    "signature": SIGNATURES,
    "facade": FACADES,
}


@pytest.mark.parametrize("rule", rows([each for group in GROUPS.values() for each in group]))
def test_a_request_is_refused_in_anthropics_words(rule: Rule) -> None:
    check(rule)


def test_bedrock_is_judged_as_anthropic_itself() -> None:
    body = looped()
    put(1, 0, signature="EqQB")(body)

    found = judge(body, route=OPUS, vendor="bedrock", wire="anthropic")

    assert found is not None
    assert found.message == f"messages.1.content.0: {FOREIGN}"
