"""The names that OpenTelemetry's GenAI conventions give to what we report.

Source: open-telemetry/semantic-conventions-genai v0.1.0, as docs/gen-ai/client-inference.md (at
024a4f94), model/gen-ai/token-metrics.yaml (at 066d4a7f), model/gen-ai/spans.yaml (at 002c8a6e) and
CHANGELOG.md have it, read on 2026-11-30. ``fixtures/conventions/genai.json`` has the same as a
table, and the tests compare every span and every metric with it. These are the names that
``OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`` asks for. Without that value,
instrumentations that were there before v1.37.0 of the common conventions keep the names they had.
sidestep never had others, so that it uses these whatever the variable says.
"""

from __future__ import annotations

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
MAX_TOKENS = "gen_ai.request.max_tokens"
REASONING_LEVEL = "gen_ai.request.reasoning.level"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens"
MODALITY = "gen_ai.token.modality"
ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
AGENT_NAME = "gen_ai.agent.name"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"

# What may hold anything that a user wrote, and is left out unless it is asked for.
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"

CHAT, INVOKE_AGENT, EXECUTE_TOOL = "chat", "invoke_agent", "execute_tool"

# Our own, for what the conventions have no name for.
ROUTE = "sidestep.route"
FROM_ROUTE = "sidestep.from_route"
ATTEMPT = "sidestep.attempt"
ATTEMPTS = "sidestep.attempts"
SWAPS = "sidestep.swaps"
SECONDS = "sidestep.seconds"
STATUS = "sidestep.status"
REASON = "sidestep.reason"
KEY_VARIABLE = "sidestep.api_key_env"
NEXT_KEY_VARIABLE = "sidestep.next_key_env"
COLD_TOKENS = "sidestep.cold_tokens"
COLD_DOLLARS = "sidestep.cold_dollars"

_PROVIDERS = {
    "openai-chat": "openai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "xai": "x_ai",
}
"""Our names of providers that the conventions name otherwise; they have no name for most others."""


def provider_name(provider: str) -> str:
    """Return the name that the conventions have for *provider*, or *provider* itself."""
    own = provider.removesuffix("-anthropic")
    return _PROVIDERS.get(own, own)
