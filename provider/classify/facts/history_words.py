"""The words in which servers of Chat Completions refuse the order or the pairs of messages.

Source, read on 2026-11-30: DashScope, QwenLM/qwen-code#2360 and #2249; vLLM,
microsoft/autogen#1037 and vllm-project/vllm#6862; llama.cpp, mistralai/mistral-vibe#1006 and
HKUDS/nanobot#2376; LM Studio, lmstudio-ai/lmstudio-bug-tracker#842 and #1586; Mistral,
mistralai/mistral-inference#135 and charmbracelet/crush#279; Baidu, songquanpeng/one-api#305;
DeepSeek, TurixAI/TuriX-CUA#15 and FoundationAgents/OpenManus#23; the chat template of gpt-oss.
Other quotes and other orders of the same words are guessed.
"""

from __future__ import annotations

_Q = r"[`'\"]?"
_CALLS = rf"{_Q}(?:tool[_ ]calls?|function_calls?){_Q}"

BROKEN_HISTORY = (
    # Calls without results, and results without calls.
    rf"An? (?:assistant )?message with {_CALLS} must be followed by tool messages",
    rf"(?:Invalid parameter: )?Messages? with role {_Q}tool{_Q} must be a response to",
    r"(?:The following )?tool_call_ids did not have response messages",
    rf"(?:Each|Every) {_CALLS} must have (?:exactly )?(?:one|a) (?:matching |corresponding )?"
    r"(?:function_call_output|tool (?:message|result|output|response))",
    r"Tool (?:message|result)s? (?:must (?:be preceded by|follow)|has no (?:corresponding|matching)"
    r"|without (?:a )?(?:corresponding|matching))[^\n]{0,40}\btool[_ ]calls?\b",
    r"Not the same number of function calls and responses",
    r"Unexpected tool call id",
    # What a message lacks.
    rf"(?:Invalid a|A)(?:n a)?(?:ssistant )?message: content or {_CALLS} must be set",
    rf"(?:An )?Assistant message must (?:have|contain) either content or {_CALLS}",
    # The order of roles.
    r"Unexpected role (?:'\w{1,20}'|RoleEnum\.\w{1,20})",
    r"Expected last role ",
    r"The length of messages must be an odd number",
)

_RENDERING = (
    r"(?:\s*-{3,}[\s\S]{0,700}?Jinja Exception: |Error rendering prompt with jinja template: \W?"
    r"|\W?messages\W? in request are illegal: )?"
)
REFUSED_BY_TEMPLATE = tuple(
    _RENDERING + text
    for text in (
        r"(?:After the optional system message, )?Conversation roles must alternate",
        r"Cannot have 2 or more assistant messages at the end",
        r"Cannot pass both content and thinking in an assistant message with tool calls",
        r"No user query found in messages",
        r"Message has tool role, but there was no previous assistant message with a tool call",
    )
)
"""What the chat template of a model refuses; some servers report it with a 500."""
