"""The wordings in which providers ask for a cure."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from sidestep import Failure
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.classify.classify import classify_response
from sidestep.provider.classify.cure_wording import find_cure, find_room
from sidestep.provider.classify.report import Report, read_reports
from sidestep.provider.cure import Change, Cure
from sidestep.provider.wire_name import Wire

C = Change

TEXTS = [
    # Proofs of reasoning.
    (C.DROP_REASONING, "messages.7.content.2: Invalid `signature` in `thinking` block"),
    (C.DROP_REASONING, "messages.1.content.0: Invalid `data` in `redacted_thinking` block"),
    (
        C.DROP_REASONING,
        "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
    ),
    (
        C.DROP_REASONING,
        "messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant "
        "message cannot be modified. These blocks must remain as they were in the original "
        "response.",
    ),
    (
        C.DROP_REASONING,
        "messages.1.content.0.thinking.signature.str: Input should be a valid string",
    ),
    (C.DROP_REASONING, "messages.1.content.0.thinking.signature: Field required"),
    (C.DROP_REASONING, "signature: Field required"),
    (C.DROP_REASONING, "messages.1.content.0: each thinking block must contain thinking"),
    (
        C.DROP_REASONING,
        "Item 'rs_0a1' of type 'reasoning' was provided without its required following item.",
    ),
    (
        C.DROP_REASONING,
        "Item 'fc_9' of type 'function_call' was provided without its required 'reasoning' item: "
        "'rs_9'.",
    ),
    (
        C.DROP_REASONING,
        "Item 'msg_9' of type 'message' was provided without its required 'reasoning' item: "
        "'rs_9'.",
    ),
    (
        C.DROP_REASONING,
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
    ),
    (
        C.DROP_REASONING,
        "The encrypted content gAAA...c90= could not be verified. Reason: it could not be parsed.",
    ),
    (C.DROP_REASONING, f"The encrypted content {'g' * 300} could not be verified."),
    (C.DROP_REASONING, "The encrypted content for item cmp_0f could not be decrypted or parsed."),
    (
        C.DROP_REASONING,
        "Invalid 'input[3].id': 'toolu_01'. Expected an ID that begins with 'fc'.",
    ),
    (
        C.DROP_REASONING,
        "Invalid 'input[12].id': string too long. Expected a string with maximum length 64.",
    ),
    (C.DROP_REASONING, "Duplicate item found with id rs_1. Remove duplicate items and try again."),
    (C.DROP_REASONING, "Could not decrypt the provided encrypted_content."),
    (
        C.REWRITE_IDS,
        "Upstream request failed: Duplicate function_call_output for call_id "
        "'terminal:0'. Each function_call must have exactly one matching function_call_output",
    ),
    (C.REWRITE_IDS, "Duplicate 'call_id': undefined"),
    (C.DO_NOT_FORCE, "tool_choice 'required' is incompatible with thinking enabled"),
    (C.DO_NOT_FORCE, "tool_choice.type: only 'auto' is supported"),
    (C.DO_NOT_FORCE, "Tool choice must be auto"),
    (
        C.DO_NOT_FORCE,
        "The tool_choice parameter does not support being set to required or object in thinking",
    ),
    (C.LEAVE_OUT_IMAGES, "multimodal file size is too large"),
    (
        C.DROP_REASONING,
        "Could not decode the compaction blob. Ensure it is unmodified from the compact response.",
    ),
    (C.DROP_REASONING, "***.***.content.0.thinking.signature: Field required"),
    (C.DROP_REASONING, "Corrupted thought signature."),
    (
        C.DROP_REASONING,
        'Invalid JSON payload received. Unknown name "thoughtSignature" at '
        "'contents[1].parts[0]': Cannot find field.",
    ),
    (C.DROP_REASONING, "Unknown parameter: 'messages[2].tool_calls[0].extra_content.google'."),
    (C.DROP_REASONING, "Invalid thought signature."),
    # Thinking, and what stands for it.
    (
        C.THINKING_OFF,
        "messages.5.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
    ),
    (C.THINKING_OFF, "Expected 'thinking' or 'redacted_thinking', but found 'text'"),
    (C.THINKING_OFF, "Thinking may not be enabled when tool_choice forces tool use."),
    (C.THINKING_OFF, "claude-3-5-haiku does not support thinking."),
    (
        C.THINK_ADAPTIVELY,
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    ),
    (C.THINK_BY_BUDGET, "adaptive thinking is not supported on this model"),
    (C.THINK_BY_BUDGET, "claude-sonnet-4-5 does not support adaptive thinking"),
    (
        C.SIGN_CALLS,
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly. function call `default_api:ls` , position 4",
    ),
    (
        C.SIGN_CALLS,
        "Function call `ls` in the `7.` content block is missing a `thought_signature`.",
    ),
    (
        C.ADD_REASONING,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    (C.ADD_REASONING, "The `content[].thinking` in the thinking mode must be passed back."),
    (C.ADD_REASONING, "The `reasoning_text` in the thinking mode must be passed back to the API."),
    (
        C.ADD_REASONING,
        "Missing `reasoning_content` field in the assistant message at message index 3.",
    ),
    (
        C.ADD_REASONING,
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 9",
    ),
    (C.DROP_REASONING_TEXT, "The `reasoning_content` is not supported in the input messages."),
    (
        C.DROP_REASONING_TEXT,
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
        "property 'reasoning_content' is unsupported)]",
    ),
    (
        C.DROP_REASONING_TEXT,
        "messages.2.assistant.reasoning_content: Extra inputs are not permitted",
    ),
    (C.DROP_REASONING_TEXT, "Unknown parameter: 'messages[4].reasoning_details'."),
    # Calls.
    (
        C.DROP_REASONING_TEXT,
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
        "property 'reasoning' is unsupported)]",
    ),
    (C.DROP_REASONING_TEXT, "messages[2].reasoning: Extra inputs are not permitted"),
    (C.REWRITE_IDS, "messages.1.content.0.tool_use.id: String should match pattern '^[a-z]+$'"),
    (C.REWRITE_IDS, "messages.2.content.0.tool_result.tool_use_id: String should match pattern"),
    (C.REWRITE_IDS, "messages.4.content.1: `tool_use` ids must be unique"),
    (
        C.REWRITE_IDS,
        "Invalid 'messages[7].tool_calls[2].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 61 instead.",
    ),
    (C.REWRITE_IDS, "The toolUse blocks at messages.1.content contain duplicate Ids: tooluse_a"),
    (C.REWRITE_IDS, "The toolResult blocks at messages.2.content contain duplicate Ids: a"),
    (C.REWRITE_IDS, "Invalid 'messages[8].tool_call_id': string too long."),
    (C.REWRITE_IDS, "Invalid 'input[2].call_id': string too long."),
    (C.REWRITE_IDS, "Duplicate value for 'messages[3].tool_calls[1].id': 'call_1'."),
    (
        C.REWRITE_IDS,
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    (C.BRIDGE_RESULTS, "Unexpected role 'user' after role 'tool'"),
    (
        C.CLOSE_CALLS,
        "messages.9: `tool_use` ids were found without `tool_result` blocks immediately after: a",
    ),
    (C.CLOSE_CALLS, "messages.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"),
    (C.CLOSE_CALLS, "No tool output found for function call call_7."),
    (C.CLOSE_CALLS, "No tool call found for function call output with call_id call_7."),
    (
        C.CLOSE_CALLS,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'.",
    ),
    (C.CLOSE_CALLS, "Not the same number of function calls and responses"),
    (
        C.CLOSE_CALLS,
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn.",
    ),
    (
        C.CLOSE_CALLS,
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn.",
    ),
    (
        C.DECLARE_TOOLS,
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    ),
    # The shape of messages.
    (C.UNMARK, "A maximum of 4 blocks with cache_control may be provided. Found 7."),
    (C.UNMARK, "system.0: cache_control cannot be set for empty text blocks"),
    (C.UNMARK, "messages.35.content.1.fallback.cache_control: Extra inputs are not permitted"),
    (C.UNMARK, "Unknown parameter: 'messages[0].content[0].cache_control'."),
    (C.UNMARK, "property 'cache_control' is unsupported"),
    (
        C.UNMARK,
        "The cached content is of 1171 tokens. The minimum token count to start caching is 4096.",
    ),
    (C.DROP_EMPTY, "messages: text content blocks must be non-empty"),
    (C.DROP_EMPTY, "messages: text content blocks must contain non-whitespace text"),
    (C.DROP_EMPTY, "The text field in the ContentBlock object at messages.1.content.0 is blank."),
    (C.DROP_EMPTY, "Assistant message must have either content or tool_calls, but not none."),
    (
        C.END_WITH_USER,
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message.",
    ),
    (C.END_WITH_USER, "messages: final assistant content cannot end with trailing whitespace"),
    (
        C.END_WITH_USER,
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
        "assistant",
    ),
    (C.DROP_IMAGES, "unknown variant `image_url`, expected `text`"),
    (C.DROP_IMAGES, "This model does not support image input."),
    (C.PLAIN_CONTENT, "'messages.0' : 'content' must be a string"),
    (C.DO_NOT_FORCE, "tool_choice 'required' is not supported in the thinking mode"),
    (C.DROP_EMPTY, "Invalid assistant message: content or tool_calls must be set"),
    (C.DROP_IMAGES, "No endpoints found that support image input"),
    (C.DO_NOT_FORCE, "No endpoints found that support the provided 'tool_choice' value."),
    (C.DO_NOT_FORCE, "Thinking mode does not support this tool_choice"),
    (C.DO_NOT_FORCE, "This model doesn't support tool_choice 'required'."),
    # Images, of which it is not said which.
    (C.LEAVE_OUT_IMAGES, "Could not process image"),
    (
        C.LEAVE_OUT_IMAGES,
        "You uploaded an unsupported image. Please make sure your image is below 20 MB in size",
    ),
    (C.LEAVE_OUT_IMAGES, "image exceeds 5 MB maximum: 10053760 bytes > 5242880 bytes"),
    (
        C.LEAVE_OUT_IMAGES,
        "The attached image or document is too large to send natively through CAPI Responses.",
    ),
]

DETAILS = [
    (
        Cure(C.LEAVE_OUT_IMAGES, "messages.7.content.2.image.source.base64.data"),
        "messages.7.content.2.image.source.base64.data: At least one of the image dimensions "
        "exceed max allowed size: 8000 pixels",
    ),
    (
        Cure(C.LEAVE_OUT_IMAGES, "messages.73.content.0.tool_result.content.1.image.source"),
        "messages.73.content.0.tool_result.content.1.image.source: image exceeds 5 MB maximum: "
        "6291456 bytes > 5242880 bytes",
    ),
    (
        Cure(C.LEAVE_OUT_IMAGES, "input[2].content[1].image_url"),
        "Invalid 'input[2].content[1].image_url'. Expected a base64-encoded data URL with an image",
    ),
    (
        Cure(C.SHORTEN, "arguments 1048576"),
        "Invalid 'input[1].arguments': string too long. Expected a string with maximum length "
        "1048576, but got a string with length 1744000 instead.",
    ),
    (
        Cure(C.SHORTEN, "20000000"),
        "String value length (20054016) exceeds the maximum allowed (20000000, from "
        "`StreamReadConstraints.getMaxStringLength()`)",
    ),
    (
        Cure(C.SHORTEN, "25000000"),
        "1 validation error detected: Value at 'messages.1.member.content.1.member.text' failed to "
        "satisfy constraint: Member must have length less than or equal to 25000000",
    ),
    (
        Cure(C.SHORTEN, "description 1024"),
        "Invalid 'tools[0].description': string too long. Expected a string with maximum length "
        "1024, but got a string with length 1100 instead.",
    ),
    (
        Cure(C.LIMIT_EFFORT, "high low max medium"),
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, "
        "medium.",
    ),
    (
        Cure(C.LIMIT_EFFORT, "low medium high xhigh max"),
        'level "minimal" not supported, valid levels: low, medium, high, xhigh, max',
    ),
    (
        Cure(C.LIMIT_EFFORT, "high"),
        "output_config.effort 'xhigh' is not supported when thinking is disabled on this model. "
        "Use effort 'high' or below, or enable thinking.",
    ),
    (
        Cure(C.LIMIT_TOKENS, "8192"),
        "The maximum tokens you requested exceeds the model limit of 8192. Try again with a "
        "maximum tokens value that is lower than 8192.",
    ),
    (
        Cure(C.LIMIT_TOKENS, "4096"),
        "The model returned the following errors: The maximum tokens you requested exceed the "
        "model limit of 4096.",
    ),
    (Cure(C.LIMIT_TOKENS, "4096"), "max_output_tokens must be no more than 4096, got 9000"),
    (Cure(C.FIT_ANSWER, "1096"), "prompt (3000 tokens) + max_tokens (2000) > context (4096)"),
    (
        Cure(C.LIMIT_TOKENS, "8192"),
        "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens",
    ),
    (
        Cure(C.LIMIT_TOKENS, "16384"),
        "max_tokens is too large: 99999. This model supports at most 16384 completion tokens",
    ),
    (
        Cure(C.LIMIT_TOKENS, "65536"),
        "Invalid max_tokens value, the valid range of max_tokens is [1, 65536]",
    ),
    (
        Cure(C.LIMIT_TOKENS, "32768"),
        "`max_completion_tokens` must be less than or equal to `32768`",
    ),
    (
        Cure(C.RENAME_LIMIT, "max_completion_tokens"),
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
    ),
    (
        Cure(C.OMIT, "temperature"),
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
    ),
    (Cure(C.OMIT, "top_p"), "`temperature` and `top_p` cannot both be specified for this model."),
    (Cure(C.OMIT, "reasoning.effort"), "Unsupported parameter: 'reasoning.effort'"),
    (
        Cure(C.LIMIT_EFFORT, "low medium high"),
        "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), "
        "'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'xhigh'}",
    ),
    (
        Cure(C.LIMIT_EFFORT, "low medium high"),
        "Validation error for `reasoning_effort`: expected one of `'low' | 'medium' | 'high'`, "
        "received `'xhigh'`.",
    ),
    (
        Cure(C.OMIT, "reasoning_effort"),
        "`reasoning_effort` is not supported with this model",
    ),
    (Cure(C.OMIT, "reasoning_effort"), "This model does not support `reasoning_effort`."),
    (
        Cure(C.LIMIT_EFFORT, "high medium low max none"),
        'invalid reasoning value: \'xhigh\' (must be "high", "medium", "low", "max", or "none")',
    ),
    (
        Cure(C.LIMIT_EFFORT, "low medium high"),
        'level "xhigh" not supported, valid levels: low, medium, high',
    ),
    (Cure(C.OMIT, "reasoning"), "property 'reasoning' is unsupported"),
    (
        Cure(C.LIMIT_EFFORT, "low medium high"),
        "`reasoning_effort` must be one of `low`, `medium`, or `high`",
    ),
    (Cure(C.OMIT, "reasoning_effort"), "`reasoning_effort` must be one of `none` or `default`"),
    (
        Cure(C.LIMIT_EFFORT, "low high"),
        "Invalid reasoning effort: max. Valid values are: low, high",
    ),
    (Cure(C.OMIT, "reasoning_effort"), "Argument not supported on this model: reasoningEffort"),
    (Cure(C.OMIT, "reasoning_effort"), "Model x does not support parameter reasoningEffort."),
    (Cure(C.OMIT, "effort"), "This model does not support the effort parameter."),
    (Cure(C.OMIT, "stream_options"), "body -> stream_options: extra fields not permitted"),
    (
        Cure(C.OMIT, "stream_options"),
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs'}]",
    ),
    (
        Cure(C.OMIT, "prompt_cache_key"),
        "Additional properties are not allowed ('prompt_cache_key' was unexpected)",
    ),
    (Cure(C.OMIT, "top_p"), "The parameter top_p is not supported by this model"),
    (Cure(C.OMIT, "temperature"), "temperature is not supported with this model"),
    (
        Cure(C.OMIT, "parallel_tool_calls"),
        "litellm.UnsupportedParamsError: x does not support parameters: ['parallel_tool_calls'], "
        "for model=y.",
    ),
    (Cure(C.OMIT, "store"), "Unsupported parameter(s): `store`"),
    (Cure(C.RENAME_LIMIT, "max_tokens"), "max_completion_tokens is not supported, use max_tokens"),
    (Cure(C.OMIT, "seed"), "Unrecognized request argument supplied: seed"),
    (Cure(C.OMIT, "parallel_tool_calls"), "property 'parallel_tool_calls' is unsupported"),
    (Cure(C.OMIT, "output_config"), "output_config: Extra inputs are not permitted"),
    (Cure(C.OMIT, "stream_options"), "Unknown parameter: 'stream_options'."),
    (Cure(C.OMIT, "frobnicate"), 'Invalid JSON payload received. Unknown name "frobnicate"'),
]

NOTHING = [
    "tools.0.custom.input_schema: For 'object' type, property 'properties' is not supported",
    "For 'array' type, property 'minItems' is not supported",
    "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'",
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64",
    "metadata.user_id: String should have at most 256 characters",
    pytest.param("", id="empty"),
    pytest.param("Provider returned error", id="an aggregator's own words"),
    pytest.param("messages: at least one message is required", id="no messages"),
    pytest.param("prompt is too long: 212000 tokens > 200000 maximum", id="overflow"),
    pytest.param("model: claude-9 not found", id="model"),
    pytest.param("tools.0.custom.input_schema: JSON schema is invalid", id="schema"),
    pytest.param("Too many strict tools (21).", id="too many tools"),
    pytest.param("tools.0.custom.strict: Extra inputs are not permitted", id="in a tool"),
    pytest.param("messages.0.content.0.text.x: Extra inputs are not permitted", id="in a message"),
    pytest.param("Unknown parameter: 'input[8].status'.", id="in an item"),
    pytest.param("Unknown parameter: 'tools[0].function.strict'.", id="in a function"),
    pytest.param("Unsupported parameter: 'messages'", id="what no request can do without"),
    pytest.param("Extra inputs are not permitted", id="without a name"),
    pytest.param("x" * 1000 + " Corrupted thought signature.", id="far down in a long text"),
]


def reported(message: str, **words: str) -> Cure | None:
    return find_cure([Report(message=message, words={k: (v,) for k, v in words.items()})])


@pytest.mark.parametrize(("change", "text"), TEXTS, ids=lambda value: str(value)[:50])
def test_a_text_names_its_cure(change: Change, text: str) -> None:
    assert reported(text) == Cure(change)


@pytest.mark.parametrize(("cure", "text"), DETAILS, ids=lambda value: str(value)[:50])
def test_a_text_names_its_cure_and_what_it_is_about(cure: Cure, text: str) -> None:
    assert (find_room([Report(message=text)]) or reported(text)) == cure
    assert str(cure) == f"{cure.change}: {cure.detail}"


EFFORTS = [
    pytest.param(
        Cure(C.OMIT, "reasoning.effort"),
        "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values "
        "are: 'none', 'low', 'medium', and 'high'.",
        "reasoning.effort",
        id="Responses",
    ),
    pytest.param(
        Cure(C.OMIT, "reasoning.effort"),
        "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model.",
        "***.effort",
        id="with a hidden parameter",
    ),
    pytest.param(
        Cure(C.OMIT, "reasoning_effort"),
        "Unsupported value: 'xhigh' is not supported with the 'o4-mini' model.",
        "reasoning_effort",
        id="Chat",
    ),
]


@pytest.mark.parametrize(("cure", "text", "param"), EFFORTS)
def test_where_a_value_is_refused_its_parameter_is_left_out(
    cure: Cure, text: str, param: str
) -> None:
    assert reported(text, param=param) == cure


@pytest.mark.parametrize("text", NOTHING)
def test_a_text_that_names_no_cure(text: str) -> None:
    assert reported(text) is None


CODES = [
    pytest.param({"code": "invalid_encrypted_content"}, C.DROP_REASONING, "", id="code"),
    pytest.param(
        {"error_code": "compaction_signature_invalid"}, C.DROP_REASONING, "", id="details"
    ),
    pytest.param({"reason": "image_dimensions_too_large"}, C.LEAVE_OUT_IMAGES, "", id="reason"),
    pytest.param(
        {"type": "extra_forbidden", "param": "body.seed"}, C.OMIT, "seed", id="extra_forbidden"
    ),
    pytest.param(
        {"type": "extra_forbidden", "param": "body.messages.1.user.content.0.cache_control"},
        C.UNMARK,
        "",
        id="extra_forbidden on a block",
    ),
    pytest.param(
        {"type": "extra_forbidden", "param": "body.messages.1.assistant.reasoning_content"},
        C.DROP_REASONING_TEXT,
        "",
        id="extra_forbidden in a message",
    ),
]


@pytest.mark.parametrize(("words", "change", "detail"), CODES)
def test_a_code_names_its_cure_whatever_the_text(
    words: dict[str, str], change: Change, detail: str
) -> None:
    assert reported("Something went wrong.", **words) == Cure(change, detail)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({"code": "invalid_request_error"}, id="any other code"),
        pytest.param({"type": "extra_forbidden"}, id="extra_forbidden, of nothing"),
        pytest.param({"type": "extra_forbidden", "param": "body.messages"}, id="of messages"),
    ],
)
def test_a_code_that_names_no_cure(words: dict[str, str]) -> None:
    assert reported("Something went wrong.", **words) is None


EXTRA = "Extra inputs are not permitted"
LISTED = [
    pytest.param(["body", "seed"], EXTRA, f"seed: {EXTRA}", Cure(C.OMIT, "seed"), id="a parameter"),
    pytest.param(
        ["body", "messages", 1, "assistant", "reasoning_content"],
        EXTRA,
        f"messages.1.assistant.reasoning_content: {EXTRA}",
        Cure(C.DROP_REASONING_TEXT),
        id="a field of a message",
    ),
    pytest.param(
        ["body", "messages", 0, "user"], "Field required", "messages.0.user: Field required", None,
        id="what has no cure",
    ),
    pytest.param("seed", EXTRA, EXTRA, None, id="a place that is no list"),
    pytest.param([], EXTRA, EXTRA, None, id="no place"),
    pytest.param(["body", "seed"], None, "", None, id="no message"),
]  # fmt: skip


@pytest.mark.parametrize("is_wrapped", [False, True], ids=["bare", "in a message"])
@pytest.mark.parametrize(("place", "message", "said", "cure"), LISTED)
def test_a_list_of_complaints_says_where_each_of_them_is(
    place: object, message: str | None, said: str, cure: Cure | None, *, is_wrapped: bool
) -> None:
    """As Mistral answers, and others whose servers are made with FastAPI."""
    listed: dict[str, Any] = {"detail": [{"type": "extra", "loc": place, "msg": message}]}
    body = {"object": "error", "message": listed} if is_wrapped else listed

    content = json.dumps(body).encode()
    failure = classify_response(422, {}, content, provider=catalog()["mistral"], wire="openai-chat")

    assert (failure.kind, failure.cure) == ("bad_request", cure)
    assert failure.message == (
        said or "answered 422 with no error object, but a body of type unknown"
    )


INNER = {"type": "error", "error": {"type": "invalid_request_error", "message": TEXTS[0][1]}}
GATEWAYS = [
    pytest.param(
        {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": raw}}},
        id=f"OpenRouter, {kind}",
    )
    for kind, raw in {"a string": json.dumps(INNER), "an object": INNER}.items()
] + [
    pytest.param(
        {
            "error": {
                "message": f"litellm.BadRequestError: AnthropicException - {json.dumps(INNER)}",
                "type": None,
                "param": None,
                "code": "400",
            }
        },
        id="LiteLLM",
    ),
    pytest.param({"detail": json.dumps(INNER)}, id="a detail"),
    pytest.param(f"Error code: 400 - {json.dumps(INNER)}", id="an SDK's text"),
]


@pytest.mark.parametrize("body", GATEWAYS)
def test_a_gateway_may_wrap_it(body: object) -> None:
    assert find_cure(read_reports(body)) == Cure(C.DROP_REASONING)


def test_the_code_of_a_wrapped_body_counts() -> None:
    inner = {"error": {"message": "No.", "code": "invalid_encrypted_content"}}
    body = {"error": {"message": f"OpenAIException - {json.dumps(inner)}", "code": "400"}}

    assert find_cure(read_reports(body)) == Cure(C.DROP_REASONING)


# What is recorded.

CAPTURES: list[dict[str, Any]] = [
    json.loads(file.read_text("utf-8"))
    for file in sorted(files("sidestep").joinpath("fixtures/captures").iterdir(), key=str)
]
REPAIRED = {
    "anthropic_400_bound_conversation": C.DROP_REASONING,
    "anthropic_400_cache_empty_text": C.UNMARK,
    "anthropic_400_cache_five_blocks": C.UNMARK,
    "anthropic_400_invalid_signature": C.DROP_REASONING,
    "anthropic_400_thinking_modified": C.DROP_REASONING,
    "anthropic_400_tool_pairing": C.CLOSE_CALLS,
    "deepseek_400_reasoning_missing": C.ADD_REASONING,
    "gemini_400_corrupted_signature": C.DROP_REASONING,
    "gemini_400_missing_signature": C.SIGN_CALLS,
    "kimi_400_reasoning_missing": C.ADD_REASONING,
    "openai_400_invalid_encrypted_content": C.DROP_REASONING,
    "openai_400_reasoning_without_item": C.DROP_REASONING,
    "openai_400_tool_id_too_long": C.REWRITE_IDS,
}
WIRES: dict[str, Wire] = {
    "anthropic": "anthropic",
    "gemini": "gemini",
    "openai-responses": "openai-responses",
}


def refused(capture: dict[str, Any]) -> Failure:
    return classify_response(
        capture["status"],
        capture["headers"],
        capture["body"].encode(),
        provider=capture["provider"],
        wire=WIRES.get(capture["provider"], "openai-chat"),
    )


def test_every_capture_that_tells_of_a_repair_is_here() -> None:
    assert {c["name"] for c in CAPTURES if "repair" in c["expect"]} == set(REPAIRED)


@pytest.mark.parametrize(
    "capture",
    [capture for capture in CAPTURES if capture["name"] in REPAIRED],
    ids=lambda capture: capture["name"],
)
def test_a_captured_refusal_names_its_cure(capture: dict[str, Any]) -> None:
    assert refused(capture).cure == Cure(REPAIRED[capture["name"]])


def test_there_is_a_wording_for_every_change() -> None:
    named = {change for change, _ in TEXTS} | {cure.change for cure, _ in DETAILS}

    assert named == set(Change) - {C.PLAIN_TEXT, C.LEAVE_OUT_FILTERED}  # the session's own
