"""Facts about the errors of unknown servers that imitate OpenAI's API.

The one table with the words of many: vLLM, SGLang, llama.cpp, LM Studio, Ollama, Together,
DashScope, xAI, Copilot, LiteLLM and others.

Source: the sources of vllm, sglang, llama.cpp and ollama on GitHub, github.com/BerriAI/litellm
(exception mapping and issues), github.com/code-yeongyu/oh-my-openagent/issues,
github.com/can1357/oh-my-pi/issues and the npm package @earendil-works/pi-ai 1.6, read on
2026-11-29; lmstudio-ai/lmstudio-bug-tracker#2322, ggml-org/llama.cpp pull 13577,
vllm-project/vllm#5700 and pull 36789, ollama/ollama#17638, #12884, #12064 and #13710, read on
2026-11-30.
"""

from __future__ import annotations

from ...fact import ANY, FactTable, fact, facts
from ...failure import FailureKind as K
from ...failure import Scope
from ..time_text import WAIT
from .anthropic import PLACE, REJECTED_FIELDS
from .anthropic import REJECTED as REJECTED_BY_CLAUDE
from .bedrock import REJECTED as REJECTED_BY_BEDROCK
from .chat_vendors import REASONING
from .gemini import REJECTED as REJECTED_BY_GEMINI
from .history_words import BROKEN_HISTORY, REFUSED_BY_TEMPLATE
from .openai import OVERFLOW, REJECTED, SUSPECTED, TOO_LARGE, WAITS
from .openrouter import NONE_TAKES
from .unknown_words import (
    BROKEN_CALL,
    GONE,
    MALFORMED_CALL,
    NO_KEY,
    NO_MODEL,
    NO_TOOLS,
    USED_UP,
)

_GATEWAY = r"(?:litellm\.\w{1,60}: |\w{1,60}Exception - |<400> |InternalError\.[\w.]{1,60}: ){0,4}"

# These wordings are specific enough to be recognised after a few words of a gateway.
_REJECTED = (*REJECTED, *REJECTED_BY_GEMINI, *REJECTED_BY_BEDROCK, *REJECTED_FIELDS)
_NET = r"(?![^\n]{0,300}(?:rate limit|too many requests|throttl))[^\n]{0,120}?"
_TELLING = (
    r"exceeds the available context size",  # llama.cpp
    r"input length exceeds the context length",  # Ollama
    r"prompt is too long: \d{1,12}, model maximum context length: \d",  # Fireworks
    r"greater than the context length",  # LM Studio
    r"Trying to keep the first \d{1,12} tokens when context the overflows",
    r"prompt (?:is )?too long; exceeded max context length",  # Ollama
    r"is longer than the model's context length",  # Together, SGLang
    r"is longer than the maximum model length",  # vLLM
    r"You passed \d{1,12} input tokens and requested",
    r"`inputs` tokens \+ `max_new_tokens` must be ",  # TGI, Together
    r"Requested token count exceeds the model's maximum context length",  # SGLang
    r"Range of input length should be \[",  # DashScope
    r"maximum prompt length is \d{1,12} but the request contains",  # xAI
    r"exceeds the maximum allowed input length",
    # Volcengine: bytedance/deer-flow#583. Snowflake Cortex: posit-dev/positron#11737.
    r"total tokens of (?:image and )?text exceed max message tokens",
    r"max tokens of \d{1,12} exceeded",
    r"the max input characters is \d",  # Qianfan
)
# These are not: they could be a part of another error.
_TOO_LONG = (
    *OVERFLOW,
    r"Please reduce the length of the messages",
    r"Prompt contains \d{1,12} tokens[^\n]{0,80} too large for model",
    r"Input is too long for requested model",
    r"prompt is too long(?:: \d|\.|\s*\Z)",
    r"input length and `max_tokens` exceed context limit",
    r"The input token count (?:\(\d{1,12}\) )?exceeds the maximum number of tokens",
    r"(?:Invalid request: )?Your request exceeded model token limit",
    r"(?:Your|The) (?:input|prompt|request) exceeds the (?:model's )?(?:maximum )?context "
    r"(?:window|length)",
    r"(?:invalid params, )?context window exceeds limit",
)
_LENGTHS = "400 413 422 500 none"
# A ceiling for the bytes of one request: MoonshotAI/kimi-code#1862, google-gemini/gemini-cli#13776.
TOO_MANY_BYTES = (
    r"total message size \d{1,15} exceeds limit \d",
    r"Maximum request body size \d{1,15} exceeded",
    r"(?:http: )?request (?:body|entity|payload|size) (?:is )?too large",
    r"(?:Request )?payload (?:is )?too large|Request payload size exceeds the limit",
)


GENERIC = FactTable(
    money=(
        *facts(K.QUOTA, *(_GATEWAY + text for text in USED_UP), status="400 402 403 429 none"),
        # DashScope, and who passes on its words.
        fact(K.QUOTA, code="Arrearage"),
        # LiteLLM, never of a provider behind it: docs.litellm.ai/docs/proxy/error_reference. Of a
        # key, a user or a team, unless it names the model.
        fact(K.QUOTA, type="budget_exceeded", budget_of=ANY, scope=Scope.KEY_ON_ROUTE),
        fact(K.QUOTA, type="budget_exceeded", scope=Scope.KEY),
        *facts(K.QUOTA, r"Insufficient (?:account )?(?:balance|credits?)", status="429 403 none"),
    ),
    overflow=(
        *TOO_LARGE,
        fact(K.CONTEXT_OVERFLOW, type="exceed_context_size_error ContextWindowExceededError"),
        fact(K.CONTEXT_OVERFLOW, type="too_many_prompt_tokens"),  # Perplexity
        # Baidu: cloud.baidu.com/doc/qianfan-api/s/Om9b4yj3w for the words. For the numbers of its
        # older API no document was found; public clients read them so.
        fact(K.CONTEXT_OVERFLOW, code="tokens_too_long characters_too_long 336007 336103"),
        # llama.cpp, and vLLM, which subtracts the prompt from the window; no pair of numbers.
        *facts(
            K.CONTEXT_OVERFLOW,
            r"context shift is disabled",
            r"max_(?:completion_)?tokens must be at least 1, got -\d",
            status=_LENGTHS,
        ),
        *facts(K.REQUEST_TOO_LARGE, *TOO_MANY_BYTES, status="400 413 422 500 none"),
        fact(K.CONTEXT_OVERFLOW, code="model_max_prompt_tokens_exceeded"),  # Copilot
        *facts(K.CONTEXT_OVERFLOW, *(_NET + text for text in _TELLING), status=_LENGTHS),
        *facts(K.CONTEXT_OVERFLOW, *(_GATEWAY + text for text in _TOO_LONG), status=_LENGTHS),
        fact(K.CONTEXT_OVERFLOW, text=r"litellm\.ContextWindowExceededError", status=_LENGTHS),
    ),
    history=facts(
        K.HISTORY_REJECTED,
        *(_GATEWAY + text for text in (*_REJECTED, *BROKEN_HISTORY)),
        *(_GATEWAY + PLACE + text for text in REJECTED_BY_CLAUDE),
        REASONING,
        _GATEWAY + r"Tool call id was ",
        status="400 422 none",
    )
    + facts(
        K.HISTORY_REJECTED,
        *(_GATEWAY + text for text in REFUSED_BY_TEMPLATE),
        status="400 422 500 none",
    ),
    filter=(
        fact(K.CONTENT_FILTER, type="ContentPolicyViolationError"),
        fact(K.CONTENT_FILTER, text=_GATEWAY + SUSPECTED),
        fact(K.CONTENT_FILTER, code="data_inspection_failed DataInspectionFailed"),  # DashScope
        # Volcengine: www.volcengine.com/docs/82379/1299023, read on 2026-11-30.
        fact(
            K.CONTENT_FILTER,
            seen={"code": r"(?:(?:In|Out)put[A-Z][a-z]{1,10})?(?:SensitiveContent|Risk)Detect"},
        ),
    ),
    other=(
        fact(K.NOT_FOUND, code="model_not_supported model_not_available_for_integrator"),  # Copilot
        fact(
            K.HISTORY_REJECTED,
            text=f"{_GATEWAY}(?:{NO_TOOLS})",
            status="400 404 422 500 501 none",
            lacks_capacity=True,
        ),
        fact(K.BAD_REQUEST, text=NONE_TAKES, status="404"),
        # llama.cpp refuses a picture with a 500, which no retry changes (ggml-org/llama.cpp#13566).
        *facts(
            K.BAD_REQUEST,
            r"image input is not supported",
            r"(?:This |The )?(?:model|server) does(?: not|n't) support "
            r"(?:images?|vision|multimodal)",
            status="500 501",
        ),
        *facts(K.TOOL_CALL_MALFORMED, _GATEWAY + MALFORMED_CALL, status="400 422 500 502 none"),
        *facts(
            K.TOOL_CALL_MALFORMED, *(_GATEWAY + text for text in BROKEN_CALL), status="500 502 none"
        ),
        *facts(K.NOT_FOUND, *(_GATEWAY + text for text in NO_MODEL), status="400 422 none"),
        *facts(K.NOT_FOUND, *(_GATEWAY + text for text in GONE), status="400 403 404 503 none"),
        # A proxy that has tried all its own accounts: router-for-me/CLIProxyAPI#1655 and #5639.
        fact(K.RATE_LIMIT, code="model_cooldown", scope=Scope.ROUTE),
        # Copilot: github/copilot-cli#793 and #954. It ends by itself, and no money is asked for.
        fact(K.RATE_LIMIT, code="rate_limited"),
        fact(K.RATE_LIMIT, text=r"Sorry, you have exceeded your Copilot token usage"),
        *facts(K.AUTH, *(_GATEWAY + text for text in NO_KEY), status="400 403 422 none"),
        fact(
            K.RATE_LIMIT,
            text=r"(?:Too Many Requests: )?(?:Sorry, )?you've exhausted this model's rate limit",
            lacks_capacity=True,
        ),
        *facts(
            K.OVERLOADED,
            r"(?:The |Our |That |This )?(?:AI )?(?:engine|service|server|servers|model) "
            r"(?:is|are|may be) (?:currently |temporarily )?overloaded",
            status="429 none",
        ),
    ),
    is_of_unknown=True,
    waits=(
        *WAITS,
        rf"(?:\A|[.,:;!]\s|\n)(?:please )?(?:retry (?:in|after)|wait) {WAIT}",
    ),
)
