"""What the strict stub refuses in OpenAI Responses, and what it does not.

Source: the pages named in `provider/stub/strict/openai_responses`; captures openai_400_*.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from sidestep.provider.stub.signature.openai_responses import item_id

from .judged import ISSUER, Body, Change, Rule, check, rows

O3 = "openai/o3"
GPT = "openai/gpt-4.1"
GROK = "xai/grok-4"
BEDROCK = "bedrock/openai.gpt-oss-120b"
DEEPSEEK = "deepseek/deepseek-v4-pro"
NONCE = "0123456789abcdef01234567"
RS = item_id(ISSUER, O3, "rs", NONCE, 0)
FC = item_id(ISSUER, O3, "fc", NONCE, 1, is_after=True)
MSG = item_id(ISSUER, O3, "msg", NONCE, 2)
REASONING = {
    "type": "reasoning",
    "id": RS,
    "summary": [],
    "encrypted_content": ISSUER.issue(O3, RS),
}
CALL = {"type": "function_call", "id": FC, "call_id": "call_1", "name": "ls", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "a.py"}
TOOL = {"type": "function", "name": "ls", "parameters": {"type": "object"}}
PLAIN = {
    "type": "reasoning",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "I look."}],
}


def looped(route: str = O3, **more: Any) -> Body:
    items = [{"role": "user", "content": "Look around."}, REASONING, CALL, OUTPUT]
    if route != O3:
        thought = [PLAIN] if route == DEEPSEEK else []
        items = [items[0], *thought, {**CALL, "id": "fc_1"}, OUTPUT]
    model = route.partition("/")[2]
    return deepcopy({"model": model, "store": False, "input": items, "tools": [TOOL], **more})


def put(index: int, **fields: Any) -> Change:
    return lambda body: body["input"][index].update(fields)


def drop(index: int, *keys: str) -> Change:
    return lambda body: [body["input"][index].pop(key) for key in keys]


def remove(*indexes: int) -> Change:
    return lambda body: [body["input"].pop(index) for index in sorted(indexes, reverse=True)]


def add(index: int, **item: Any) -> Change:
    return lambda body: body["input"].insert(index, item)


def top(**fields: Any) -> Change:
    return lambda body: body.update(fields)


def tool(**fields: Any) -> Change:
    return lambda body: body["tools"].append(fields)


def both(*changes: Change) -> Change:
    return lambda body: [change(body) for change in changes]


def R(  # noqa: N802 - a row
    id: str,  # noqa: A002 - its name
    breaks: Change,
    says: str | None,
    *,
    route: str = O3,
    code: str | int | None = None,
    **more: Any,
) -> Rule:
    make = partial(looped, route, **more)
    vendor = route.partition("/")[0]
    return Rule(f"{vendor}: {id}", breaks, says, make, route, vendor, "openai-responses", code)


def plain(body: Body) -> None:
    """Put reasoning in plain text before the call, as DeepSeek issues it."""
    body["input"].insert(1, deepcopy(PLAIN))


def encrypted(**fields: Any) -> Change:
    """Put reasoning of Grok's own before the call, as Grok issues it."""
    proof = ISSUER.issue(GROK, "rs_1")
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": proof}
    return lambda body: body["input"].insert(1, {**item, **fields})


def twice(body: Body) -> None:
    """Make two calls side by side, with their outputs after both."""
    body["input"].insert(2, {**CALL, "id": "fc_2", "call_id": "call_2"})
    body["input"].append({**OUTPUT, "call_id": "call_2"})


ENCRYPTED = ["reasoning.encrypted_content"]
NAMED = {"type": "function", "name": "ls"}
LONG = "call_" + "a" * 60
REQUIRED = (
    f"Item '{FC}' of type 'function_call' was provided without its required 'reasoning' item: "
    f"'{RS}'."
)
FOLLOWING = f"Item '{RS}' of type 'reasoning' was provided without its required following item."
NO_OUTPUT = "No tool output found for function call call_1."
NO_CALL = "No tool call found for function call output with call_id call_1."
TEXT = [{"type": "output_text", "text": "Ok", "annotations": []}]

SETTINGS = [
    R("no input", lambda b: b.pop("input"), 'One of "input"', code="missing_required_parameter"),
    R("empty input", top(input=[]), 'One of "input"'),
    R("input that is an object", top(input={}), "Invalid type for 'input'"),
    R("input that is text", top(input="hi"), None),
    R("an unknown parameter", top(messages=[]), "Unknown parameter: 'messages'.",
      code="unknown_parameter"),
    R("sampling if it reasons", top(temperature=1), "'temperature' is not supported"),
    R("sampling if it does not", top(temperature=1), None, route=GPT),
    R("effort if it does not reason", top(reasoning={"effort": "low"}), "'reasoning.effort'",
      route=GPT),
    R("encrypted content if it does not reason", top(include=["reasoning.encrypted_content"]),
      "Encrypted content is not supported", route=GPT),
    *(R("what OpenAI does not take here", top(reasoning={"effort": "low"}, include=ENCRYPTED,
        temperature=0.3, max_output_tokens=1, search_parameters={}), None, route=route)
      for route in (GROK, BEDROCK, DEEPSEEK, "acme/gpt-5")),
    R("what Codex adds", top(client_metadata={"x-codex-turn-metadata": "{}"}), None),
    R("moderation", top(moderation={"model": "omni-moderation-latest"}), None),
    R("effort minimal of o4", top(reasoning={"effort": "minimal"}),
      "'minimal' is not supported with the 'o4-mini' model. Supported values are: 'low'",
      route="openai/o4-mini", code="unsupported_value"),
    R("effort minimal of 5.6", top(reasoning={"effort": "minimal"}), "Supported values are: 'none'",
      route="openai/gpt-5.6"),
    R("effort xhigh of o3", top(reasoning={"effort": "xhigh"}), "'xhigh' is not supported"),
    R("effort high", top(reasoning={"effort": "high", "summary": "auto"}), None),
    R("sampling of one that does not think", top(temperature=0.3, top_p=0.5, top_logprobs=2), None,
      route="openai/gpt-5.4", reasoning={"effort": "none"}),
    R("sampling of one that is told to think", top(temperature=0.3), "'temperature' is not supp",
      route="openai/gpt-5.4", reasoning={"effort": "low"}),
    *(R("a forced tool", top(tool_choice=choice), "Thinking mode does not support this tool_choice",
        route=DEEPSEEK) for choice in ("required", NAMED)),
    R("a forced tool without thinking", top(tool_choice="required", reasoning={"effort": "none"}),
      None, route=DEEPSEEK),
    R("a forced tool", top(tool_choice="required"), None),
    R("a tool's name in no form", lambda b: b["tools"][0].update(name="my.ls"), None, route=GROK),
    *(R(f"a tool of type {kind}", tool(type=kind),
        f"tools[1].type: unknown variant `{kind}`, expected one of `function`, `web_search`",
        route=GROK, code=422) for kind in ("namespace", "custom", "apply_patch")),
    *(R(f"a tool of type {kind}", tool(type=kind), None,
        route=route) for route, kind in ((GROK, "web_search"), (GROK, "x_search"), (GROK, "mcp"),
        (DEEPSEEK, "namespace"), (O3, "namespace"), (O3, "custom"), ("acme/gpt-5", "custom"))),
    R("a search of the web outside", tool(type="web_search", external_web_access=True),
      "Argument not supported: external_web_access", route=GROK, code=400),
    R("a search of the web outside", tool(type="web_search", external_web_access=True), None),
    R("hardly any tokens", top(max_output_tokens=8), "Expected a value >= 16, but got 8",
      code="integer_below_min_value"),
    R("a tool without a name", lambda b: b["tools"][0].pop("name"), "'tools[0].name'"),
    R("a tool's name in no form", lambda b: b["tools"][0].update(name="my.ls"), "pattern"),
    R("a tool as in chat", lambda b: b["tools"].append({"type": "function", "function": TOOL}),
      "Missing required parameter: 'tools[1].name'"),
]  # fmt: skip

ITEMS = [
    R("one that is none", lambda b: b["input"].append("x"), "Invalid type for 'input[4]'"),
    R("of no type", add(0, type="tool_use"), "Invalid value: 'tool_use'."),
    R("an unknown key", put(0, reasoning_content="x"), "'input[0].reasoning_content'"),
    R("an unknown key of another vendor", put(0, reasoning_content="x"), None, route=GROK),
    R("what Codex adds to an item", both(*(put(index, internal_chat_message_metadata_passthrough={
      "turn_id": "1"}) for index in range(4))), None),
    R("null for what is not there", both(put(0, id=None, status=None, phase=None, type=None),
      put(2, status=None, namespace=None, caller=None, agent=None), put(1, content=None)), None),
    R("null for what is needed", put(2, arguments=None), "'input[2].arguments'"),
    R("role tool", put(0, role="tool"), "Invalid value: 'tool'."),
    R("text of the user in the assistant's",
      add(4, role="assistant", content=[{"type": "input_text", "text": "x"}]),
      "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."),
    R("text of the assistant", add(4, role="assistant", content=TEXT), None),
    R("text of the assistant in the user's", put(0, content=TEXT), "Invalid value: 'output_text'"),
    R("arguments that are an object", put(2, arguments={}), "'input[2].arguments': expected a st"),
    R("an output that is an object", put(3, output={}), "'input[3].output'"),
    R("a picture in an output", put(3, output=[{"type": "input_image", "image_url": "x"}]), None),
    R("a call's id of another", put(2, id="toolu_1"),
      "Invalid 'input[2].id': 'toolu_1'. Expected an ID that begins with 'fc'."),
    R("a message's id of another", add(4, type="message", id="fc_1", role="assistant",
      content=TEXT), "Expected an ID that begins with 'msg'."),
    R("an id twice", both(add(4, **{**CALL, "call_id": "call_2"}),
      add(5, **{**OUTPUT, "call_id": "call_2"})), "Duplicate item found"),
    R("a long call id", both(put(2, call_id=LONG), put(3, call_id=LONG)),
      "Expected a string with maximum length 64, but got a string with length 65 instead",
      code="string_above_max_length"),
    R("an empty call id", both(put(2, call_id=""), put(3, call_id="")), "empty string"),
    R("a name in no form", put(2, name="my.ls"), "does not match pattern"),
    *(R(f"a {kind}", add(3, type=kind, call_id="call_2", input="x", output="x", name="patch"),
        "did not match any variant of untagged enum ModelInput", route=GROK, code=422)
      for kind in ("custom_tool_call", "custom_tool_call_output", "additional_tools")),
    R("a custom_tool_call", add(3, type="custom_tool_call", call_id="call_2", input="x",
      name="patch"), None, route=BEDROCK),
]  # fmt: skip

CALLS = [
    R("no output", remove(3), NO_OUTPUT),
    R("no call", remove(1, 2), NO_CALL),
    R("the output before its call", lambda b: b["input"].insert(1, b["input"].pop(3)), NO_CALL),
    R("two outputs", add(4, **OUTPUT), NO_CALL),
    R("a message between call and output", add(3, role="user", content="Wait"), None),
    R("a message between call and output", add(3, role="developer", content="Wait"),
      "No tool output found for tool call call_1", route=DEEPSEEK, code="invalid_request_error"),
    R("reasoning between call and output", add(3, type="reasoning", summary=[], content=[]),
      "No tool output found for tool call call_1", route=DEEPSEEK),
    R("a message after the output", add(4, role="developer", content="Wait"), None, route=DEEPSEEK),
    R("two calls and then their outputs", twice, None, route=DEEPSEEK),
    R("two calls and one output", both(twice, remove(5)), "tool call call_2", route=DEEPSEEK),
    R("a message between two outputs", both(twice, add(5, role="user", content="Wait")),
      "tool call call_2", route=DEEPSEEK),
    R("no call", remove(1, 2), "No tool call found for tool output with call_id call_1",
      route=DEEPSEEK),
    R("no output", remove(2), NO_OUTPUT, route=GROK),
    R("two calls of an id", both(add(4, **{**CALL, "id": "fc_2"}), add(5, **OUTPUT)), NO_CALL),
    R("no call, but an earlier response", both(remove(1, 2), top(previous_response_id="resp_1")),
      None),
]  # fmt: skip

REASONED = [
    R("encrypted by another", put(1, encrypted_content="gAAAA"), "could not be verified",
      code="invalid_encrypted_content"),
    R("encrypted for another route", put(1, encrypted_content=ISSUER.issue(GPT, RS)),
      "could not be verified"),
    R("encrypted for another item", put(1, encrypted_content=ISSUER.issue(O3, "rs_1")),
      "could not be verified"),
    R("not encrypted", drop(1, "encrypted_content"), "Items are not persisted when `store`"),
    R("not encrypted, but stored", both(drop(1, "encrypted_content"), top(store=True)), None),
    R("unknown and not encrypted", both(drop(1, "encrypted_content"), put(1, id="rs_1"),
      drop(2, "id"), top(store=True)), "Item with id 'rs_1' not found.", code=404),
    R("without an id", drop(1, "id"), None),
    *(R("not passed back", change, "The `reasoning_text` in the thinking mode must be passed back",
        route=DEEPSEEK) for change in (remove(1), put(1, content=None), put(1, content=[]),
        put(1, content=None, summary=[{"type": "summary_text", "text": "I look."}]),
        lambda b: b["input"].insert(0, b["input"].pop(1)),
        both(add(4, **{**CALL, "call_id": "call_2"}), add(5, **{**OUTPUT, "call_id": "call_2"})))),
    *(R("passed back", change, None, route=DEEPSEEK) for change in (
        put(1, content=[{"type": "reasoning_text", "text": ""}]), put(1, encrypted_content=None),
        add(2, role="assistant", content="I do."), twice)),
    R("not passed back, of an answer without calls", both(remove(1, 2, 3),
      add(1, role="assistant", content="Hi.")), None, route=DEEPSEEK),
    R("not passed back, where it does not think", remove(1), None, route=DEEPSEEK,
      reasoning={"effort": "none"}),
    R("in plain text", plain, None, route=GROK),
    R("in plain text", plain, "Missing required parameter: 'input[1].id'", route=GPT),
    R("reasoning last", lambda b: b["input"].append({"type": "reasoning", "summary": []}), None,
      route=BEDROCK),
    R("encrypted by another", encrypted(encrypted_content="gAAAA"),
      "Could not decrypt the provided encrypted_content.", route=GROK),
    R("encrypted by another", lambda b: b["input"].insert(
        1, {**REASONING, "encrypted_content": "gAAAA"}), "could not be verified", route=BEDROCK),
    R("its own", encrypted(), None, route=GROK),
    R("its own, beside an empty list", encrypted(content=[]), None, route=GROK),
    R("its own, beside null", encrypted(content=None), "Could not decode the compaction blob.",
      route=GROK, code=400),
    R("null beside none", encrypted(content=None, encrypted_content=None), None, route=GROK),
    R("null beside another's", both(plain, put(1, content=None)), None, route=BEDROCK),
    R("reasoning last", remove(2, 3), FOLLOWING),
    R("reasoning before the user", add(2, role="user", content="Wait"), FOLLOWING),
    R("the call without its reasoning", remove(1), REQUIRED),
    R("neither reasoning nor id", both(remove(1), drop(1, "id")), None),
    R("an id issued without reasoning", both(remove(1), put(1, id="fc_1")), None),
    R("a message issued without reasoning",
      add(4, type="message", id=MSG, role="assistant", content=TEXT), None),
]  # fmt: skip


@pytest.mark.parametrize("rule", rows([*SETTINGS, *ITEMS, *CALLS, *REASONED]))
def test_a_request_is_refused_in_openais_words(rule: Rule) -> None:
    check(rule)
