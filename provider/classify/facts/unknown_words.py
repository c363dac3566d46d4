"""Words of unknown servers for spent money, wrong keys, missing models and broken calls.

Source: BerriAI/litellm#22726, #14144 and #4208 (budgets), QuantumNous/new-api#982,
songquanpeng/one-api#2223 and new-api's middleware/distributor.go (channels), ollama/ollama#17638
and #12064, ggml-org/llama.cpp pull 9639 (``--jinja``), vllm-project/vllm
(``--enable-auto-tool-choice``), read on 2026-11-30. Words that none of these has are guessed from
them, and from the words of providers that have tables of their own.
"""

from __future__ import annotations

_NAMES = r"(?:[\w`'\"./:@-]{1,200} ){0,3}?"
_PERIOD = r"(?:daily|weekly|monthly|session|usage|plan|plan's|5-hour)"

USED_UP = (
    rf"(?:Too Many Requests: )?(?:Sorry, )?(?:you|{_NAMES}[\w-]{{1,40}})(?:['\u2019]ve| have| has) "
    rf"(?:exceeded|reached|hit|exhausted|used up) (?:your|its|the) [^.]{{0,40}}"
    rf"(?:{_PERIOD} limit|premium requests|credits)",
    # Claude Code: anthropics/claude-code#26775. Codex: codex-rs/core/src/error.rs of openai/codex.
    r"You['\u2019](?:ve hit your limit [\u00b7\u2219\u2022]|re out of extra usage)",
    r"(?:Your workspace is out of credits|You hit your spend cap)\b",
    r"(?:The |Your )?(?:[\w-]{1,20} ){0,2}usage limit (?:has been |was )?(?:reached|exceeded)",
    rf"(?:The |Your )?(?:{_PERIOD} ){{1,2}}(?:\w{{1,20}} )?(?:quota|limit|budget|usage) "
    r"(?:has been |is |was )?(?:reached|exceeded|exhausted|used up)",
    r"Free usage exceeded",
    r"(?:You |you |Your account )?(?:have |has )?(?:run out of|out of|no more|exhausted \w{1,10}) "
    r"(?:\w{1,20} )?credits",
    r"(?:Your )?credits? (?:balance )?(?:is |are |have been |has been )?"
    r"(?:exhausted|depleted|used up)",
    r"(?:Your )?account (?:has|is|balance is) (?:an )?(?:insufficient|overdue|in arrears)",
    r"(?:\w{1,20} ){0,4}?spend(?:ing)? limit (?:has been |is |was )?(?:exceeded|reached)",
    # LiteLLM
    r"(?:ExceededBudget|Budget has been exceeded|No deployments available - crossed budget)",
    r"LiteLLM [^\n]{1,200}? exceeded budget\b",
    r"Payment required\b",
    # OpenAI, behind a gateway. Gemini begins so too, and goes on with the rate that was exceeded.
    r"(?:429 )?You exceeded your current quota, please check your plan and billing details"
    r"(?![\s\S]{0,900}(?:ai\.google\.dev|retry in|Quota exceeded for))",
    r"[^\n]{0,20}?(?:余额不足|欠费|额度(?:不足|已?用[完尽]))",
    # xAI
    r"Your (?:newly created )?teams? [^\n]{0,120}(?:doesn't have any credits|used all available)",
    r"Your credit balance is too low to access",  # Anthropic, behind a gateway
)

NO_TOOLS = (
    rf"{_NAMES}does(?: not|n't) support (?:the )?(?:tools|tool call\w*|tool[ -]use"
    r"|function[ -]call\w*)\b"
    r"|[`'\"]?(?:tools?|tool[ _-](?:call\w*|use)|function[ _-]call\w*)[`'\"]? (?:is|are) not "
    r"(?:supported|enabled|available)"
    r"|\"auto\" tool choice requires --enable-auto-tool-choice"
    r"|tools param requires --jinja|No endpoints found that support tool use"
)
"""A route that cannot take what every step holds."""

MALFORMED_CALL = (
    r"(?:\w{1,20}:? ){0,4}?(?:error|fail\w*|unable|could not|cannot|invalid)"
    r"(?: to| while| in| when)?:? "
    r"?pars(?:e|ing) (?:\S{1,40} ){0,3}?(?:tool|function)[ _-]?calls?\b"
)
BROKEN_CALL = (
    rf"{_NAMES}(?:invalid|malformed|incomplete) (?:tool|function)[ _-]?calls?\b",
    r"(?:tool|function) call validation failed",
    r"Failed to call a function",
    r"Failed to parse input at pos \d",  # llama.cpp
    r"XML syntax error on line \d",  # Ollama, for a call of a Qwen
)
"""What only a server's own failure means; a refusal with such words is about the history."""

NO_MODEL = (
    r"(?:The |This |Requested |The requested )?(?:model|engine|deployment)[: ]{0,2}"
    r"(?:[`'\"]?[^\s`'\"]{1,200}[`'\"]?:? )?"
    r"(?:is |was |does |could |has )?(?:not|n't)(?: been| be)? "
    r"(?:found|exist|supported|available|loaded)"
    r"(?! (?:for|with|in) (?:tool|image|vision))",
    r"(?:The |This |Requested |The requested )?model (?:[`'\"]\S{1,200}[`'\"] "
    r"|\S{0,100}[\d/:-]\S{0,100} )?(?:has been|is|was) (?:\w{1,20} )?"
    r"(?:deprecated|decommissioned|retired|shut down|removed|disabled|discontinued|unavailable)",
    r"(?:Unknown|No such|Invalid) model\b(?! (?:output|response|parameter|input))",
    r"model_not_(?:found|supported|available)\b|模型不存在",
)
GONE = (
    # SiliconFlow (666ghj/BettaFish#349); new-api and one-api, for a model that no channel offers.
    r"Model (?:is |has been )?disabled\b",
    r"No available channel for model\b",
    r"(?:当前)?分组 ?\S{1,60} ?下(?:对于)?模型[^\n]{0,200}无可用渠道",
)
"""A model that is not there, whatever the status."""
NO_KEY = (
    r"(?:Incorrect|Invalid|Missing|Malformed|Wrong|Expired|No|Bad)(?: or \w{1,20})? API[ _-]?key",
    r"(?:The |Your )?(?:provided )?API[ _-]?key (?:you provided |provided )?(?:is |was |has )?"
    r"(?:not valid|invalid|incorrect|expired|missing|required|not found|doesn't exist)",
    r"You (?:didn't|did not) provide an API[ _-]?key",
    r"(?:Invalid|Missing|No|Incorrect) (?:x-api-key|auth\w*|bearer|credentials|access token"
    r"|subscription key)\b",
    r"Invalid token\s*\Z|Token (?:has )?expired|Unauthorized\b|Authentication (?:fails|failed)\b",
    r"Authorization (?:header )?(?:is )?(?:missing|required|invalid)",
    r"Access denied: invalid subscription key|无效的令牌",
)
