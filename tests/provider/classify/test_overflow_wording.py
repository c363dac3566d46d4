"""Sentences of servers that nobody knows: which report an overflow, and what room is left.

Source: the issues named in `overflow_wording`, and the wordings of other servers.
"""

from __future__ import annotations

import pytest

from sidestep.provider.classify.overflow_wording import Room, is_overflow, room_of

TOO_LONG = [
    "Input does not fit in context length. The input has 31430 tokens, but the context length only "
    "supports 30000 tokens.",
    "The input has 31430 tokens, but the context length only supports 30000 tokens.",
    "request (131168 tokens) exceeds the available context size (131072 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size or enable "
    "context shift",
    "Number of tokens (757) exceeded maximum context length (512).",
    "Requested tokens (2285) exceed context window of 2048",
    "Prompt exceeds maximum context length",
    "This model maximum context length is 2048 tokens. However, your messages resulted in over "
    "2407 tokens.",
    "Input length (11680) exceeds model's maximum context length (4096).",
    "ERROR: The prompt size exceeds the context window size and cannot be processed.",
    "prompt token count of 140000 exceeds the limit of 128000",
    "context window of 2048 exceeded by request of 2285 tokens",
    "context length 4096 is smaller than the 5000 tokens of the prompt",
    "max context: 8192, prompt: 9000",
    "input 5000 > max 4096",
    "n_ctx = 4096, prompt needs 5,120 tokens",
    "Prompt has 140,000 tokens; the maximum is 131,072",
    "Context size has been exceeded.",
    "1048576 allowed, 2845475 given for input",
    "maximum prompt length is 131072 but the request contains 537812 tokens",
    "Prompt too long: 12000 tokens exceeds the 8192-token context window",
    "The context holds 8192 tokens at most, 9000 were needed",
    "Prompt length 5000 is greater than max_seq_len 4096",
    "Prompt too long: 40000 tokens exceeds max context window of 32768 tokens",
    "too many tokens in prompt: 9000 (limit 8192)",
    "Your request contains 9000 input tokens but this endpoint allows 8192",
    "Request (9000 tokens) exceeds context 8192",
    "Error code: 400 - The input has 31430 tokens, but the limit is 30000.",
    "model llama 3 has context length 8192, but the prompt has 9000 tokens",
    "context window is too small: 9000 needed, 8192 available",
    "4096 is the max of the context, but 5000 were requested",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 9000",
    "The prompt exceeds the model's context.",
    "maximum context length of 4096 tokens has been exceeded, got 5000",
    "Context length 8192 exceeded (12,345 tokens in the conversation)",
    "requested 12000 tokens, but the context size is 8192",
    # SiliconFlow (langgenius/dify#19394, leookun/cursor-byok#129), Cohere, TensorRT-LLM, Kiro,
    # Doubao (langgenius/dify#4452), DashScope, ds4 (antirez/ds4 pull 150), and others.
    "length of prompt_tokens (57535) must be less than max_seq_len (32768)",
    "number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received "
    "5000. Try using a shorter prompt",
    "Encountered an error in forward function: prompt length (9000) exceeds maximum input "
    "length (8192)",
    "The sum of prompt length (8200.0), query length (0) should not exceed max_num_tokens (8192)",
    "Input is too long.",
    "Prompt tokens too long",
    "Query or prefix prompt is too long",
    "Input prompt is too long for the model: 9000 tokens",
    "Total message token length exceed model limit",
    "Max context length reached",
    "Context limit reached",
    "Failed to process prompt: context full",
    "prompt doesn't fit into context",
    "tokens in request exceed the model's window: 140000/128000",
    "Token indices sequence length is longer than the specified maximum sequence length for "
    "this model (9000 > 8192)",
    "Bad request: the total number of tokens (prompt + completion) 9000 > 8192",
    "Input token length 140000 exceeds 131072",
    "text too long: 9000 tokens, 8192 max",
    "Message exceeds the maximum length of 8192 tokens",
    "The tokens you sent (140000) exceed this model's capacity (131072)",
    "Prompt tokens (9000) exceeds context size (8192)",
    "Too many messages: maximum 2048, received 3000",
    "context_length_exceeded",
    "ContextWindowExceeded: 140000 > 131072",
    "context_window_exceeded: shorten it",
    "prompt_too_long",
    "Prompt超长",
    "输入内容过长, 超过模型最大上下文长度",
    "输入内容过长\uff0c请减少 Prompt 中的 token 数量后重试 (cch_session_id: 1b2f)",
    "消息过长",
    "Prompt tokens too long",
    # Made up.
    "Die Eingabe ist zu lang: 140000 Tokens überschreiten das Kontextfenster von 131072 Tokens.",
    "Der Prompt übersteigt die maximale Kontextlänge.",
    "Votre conversation dépasse la fenêtre de contexte du modèle.",
    "La entrada excede el contexto máximo de 8192 tokens.",
    "当前请求的上下文长度 140000 超过模型上限 131072",
    "Unable to submit request because the input token count is 1200000 but model only "
    "supports up to 1048576. Reduce the input",
]
SOMETHING_ELSE = [
    pytest.param("context deadline exceeded", id="Go's deadline"),
    pytest.param("rate limit: input is longer than the model's context length", id="rate limit"),
    pytest.param("input tokens per minute limit exceeded: 30000, requested 40000", id="a minute"),
    pytest.param("You exceeded your current quota of input tokens, limit 100000", id="money"),
    pytest.param(
        "'max_tokens' is too large: 40000. This model's maximum context length is 32768",
        id="the longest answer",
    ),
    pytest.param(
        "max_output_tokens (200000) exceeds the model's context window 128000", id="likewise"
    ),
    pytest.param(
        "messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > "
        "5242880 bytes",
        id="a picture",
    ),
    pytest.param(
        "Invalid 'input[1].arguments': string too long. Expected a string with maximum length "
        "1048576, but got a string with length 1744000 instead.",
        id="a field",
    ),
    pytest.param("Too many images in the prompt: at most 20 are allowed, 25 given", id="pictures"),
    pytest.param(
        "The input has 3000 tokens, and the context length supports 30000 tokens.", id="it fits"
    ),
    pytest.param("Input nesting exceeds maximum depth of 64", id="depth"),
    pytest.param("upstream timeout: context limit exceeded while waiting", id="timeout"),
    pytest.param("Maximum number of concurrent requests exceeded for this prompt", id="at once"),
    pytest.param("The prompt could not be processed", id="no limit"),
    pytest.param("Input should be less than or equal to 2", id="pydantic"),
    pytest.param("Input validation error: `temperature` must be <= 2, got 3", id="TGI's check"),
    pytest.param("top_p: Input should be at most 1, got 2", id="a parameter of one"),
    pytest.param("GPU memory limit exceeded for this prompt", id="memory"),
    pytest.param("The prompt queue is full: limit of 100 exceeded", id="a queue"),
    pytest.param("input is too large to process, maximum batch size 512", id="a batch"),
    pytest.param("Invalid input: the maximum of top_k is 40, but 50 was given", id="top_k"),
    pytest.param("Error 413: a limit of the prompt template is missing", id="a status"),
    pytest.param("temperature exceeds maximum of 2", id="no prompt"),
    pytest.param(
        "Input token rate exceeds the limit for your tier",
        id="a tier",
    ),
    pytest.param(
        "You have exceeded the maximum number of messages allowed on the free trial",
        id="a trial",
    ),
    pytest.param(
        "Account limit on prompts exceeded, contact sales",
        id="an account",
    ),
    pytest.param(
        "prompt rejected: safety score exceeds the limit",
        id="safety",
    ),
    pytest.param(
        'Failed to parse messages.3.content: "Error: the input is too long for the context window"',
        id="quoted",
    ),
    pytest.param(
        "1 validation error for Message: Input should be a valid string [type=string_type, "
        "input_value={'e': 'context limit exceeded'}, input_type=dict]",
        id="pydantic's input",
    ),
    pytest.param(
        'messages.2.content.0.tool_result: invalid json: {"error":"context length exceeded, '
        'maximum 4096"}',
        id="quoted JSON",
    ),
    pytest.param(
        "Input audio exceeds the maximum duration of 25 seconds in context",
        id="audio",
    ),
    pytest.param(
        "input image exceeds the limit of 4096 tokens",
        id="an image by its tokens",
    ),
    pytest.param(
        "The context file exceeds upload limit",
        id="an upload",
    ),
    pytest.param(
        "Prompt cache limit exceeded: max 4 breakpoints",
        id="cache markers",
    ),
    pytest.param(
        "Too many prompts in flight: limit 32, got 40",
        id="in flight",
    ),
    pytest.param(
        "Model is at capacity: pending prompts exceed limit",
        id="capacity",
    ),
    pytest.param(
        "Request exceeds maximum retry attempts for input",
        id="attempts",
    ),
    pytest.param(
        "context canceled: body limit exceeded",
        id="Go's cancellation",
    ),
    pytest.param(
        "Tool description has 2000 tokens, exceeds maximum of 1024 tokens",
        id="a tool's text",
    ),
    pytest.param(
        "The maximum tokens you requested exceeds the model limit of 8192.",
        id="the answer's tokens",
    ),
    pytest.param(
        "Requested 9000 output tokens, more than 8192 tokens",
        id="likewise, again",
    ),
    pytest.param("context_exceeded: rate limit of a minute", id="a code before a rate limit"),
    pytest.param(
        "invalid_api_key",
        id="a code",
    ),
    pytest.param(
        "input_image_too_large",
        id="a code of an image",
    ),
    pytest.param(
        "超过每分钟输入 token 限制",
        id="a minute, in Chinese",
    ),
    pytest.param("Zu viele Tokens pro Minute.", id="a minute, in German"),
    pytest.param("Ratenlimit überschritten: 90000 Tokens", id="a rate, in German"),
    pytest.param("Kontingent an Tokens überschritten", id="a quota, in German"),
    pytest.param("Le nombre de jetons par minute dépasse la limite", id="a minute, in French"),
    pytest.param("La entrada supera su saldo", id="money, in Spanish"),
    pytest.param(
        "Das Bild der Eingabe ist zu groß",
        id="a picture, in German",
    ),
    pytest.param(
        "输入图片过大",
        id="a picture, in Chinese",
    ),
    pytest.param(
        "账户余额不足, 输入超过限制",
        id="money, in Chinese",
    ),
]
ROOMS = [
    (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease",
        Room(11_760, is_enough=True),
    ),
    (
        "input length and `max_tokens` exceed context limit: 199000 + 21333 > 200000, decrease",
        Room(1_000, is_enough=False),
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context "
        "length is 32768 tokens and your request has 1234 input tokens (40000 > 32768 - 1234)",
        Room(31_534, is_enough=True),
    ),
    (
        "This model's maximum context length is 128000 tokens. However, you requested 65535 output "
        "tokens and your prompt contains at least 62466 input tokens, for a total of at least "
        "128001 tokens.",
        Room(4_096, is_enough=True),
    ),
    (
        "This model's maximum context length is 4097 tokens, however you requested 4116 tokens "
        "(3860 in your prompt; 256 for  the completion)",
        Room(237, is_enough=False),
    ),
    (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about "
        "140000 tokens (100000 of text input, 8000 of tool input, 32000 in the output). Please",
        Room(23_072, is_enough=True),
    ),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 "
        "`max_new_tokens`",
        Room(-807, is_enough=False),
    ),
    (
        "input tokens (3000) + max_tokens (2000) > context length (4096)",
        Room(1_096, is_enough=True),
    ),
    (
        "Prompt tokens (3000) plus max new tokens (2000) exceed context length 4096",
        Room(1_096, is_enough=True),
    ),
    ("prompt is too long: 213462 tokens > 200000 maximum", None),
    ("3000 + 200 of 4096 are used", None),
]


@pytest.mark.parametrize("message", TOO_LONG)
def test_a_sentence_that_names_the_prompt_and_a_limit_reports_an_overflow(message: str) -> None:
    assert is_overflow(message)


@pytest.mark.parametrize("message", SOMETHING_ELSE)
def test_a_sentence_about_something_else_reports_none(message: str) -> None:
    assert not is_overflow(message)


@pytest.mark.parametrize(("message", "room"), ROOMS)
def test_the_room_beside_the_prompt_is_read_from_its_numbers(
    message: str, room: Room | None
) -> None:
    assert room_of(message) == room
