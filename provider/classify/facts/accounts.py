"""What some providers say of an account: its credits, its limits and its keys.

Little else is known of them, so that the words of unknown servers count for the rest. Each needs
a fact of its own, because most servers that nobody knows pass on the errors of others.

Source, read on 2026-11-30. xAI: continuedev/continue#12670 and #10373, warpdotdev/warp#14868;
docs.x.ai/docs/key-information/debugging (a wrong key is a 400). Together:
docs.together.ai/docs/error-codes ("the account associated with the API key"). Weights & Biases:
docs.wandb.ai/inference/api-reference/errors. Azure, whose key is of a resource with all its
deployments: SciSharp/BotSharp#386. Hugging Face: huggingface/agents-course#386; it passes on the
words of others (huggingface/hub-docs#2392). Fireworks:
docs.fireworks.ai/guides/inference-error-codes. Copilot: github/copilot-cli#730 and #3431; models
that the plan includes still answer (earendil-works/pi#3643). OpenCode: packages/console of
anomalyco/opencode (routes/zen/util/error.ts), anomalyco/opencode#37161 and #48602. Vercel:
vercel.com/changelog/budgets-for-api-keys-on-ai-gateway, 0xzr/freellmpool pull 117; it passes on the
words of others (vercel/ai#9290). DashScope: 1Panel-dev/MaxKB#5297 and QwenLM/qwen-code#54; others
pass on the same words (anomalyco/opencode#22994).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ...fact import FactTable, fact, facts
from ...failure import FailureKind as K
from ...failure import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY = Scope.KEY
_OF_KEYS = {401: _KEY, 402: _KEY}

_XAI = FactTable(
    money=facts(
        K.QUOTA,
        r"Your (?:newly created )?teams? [^\n]{0,120}"
        r"(?:doesn't have any credits|used all available)",
        scope=_KEY,
        status="402 403 429 none",
    ),
    other=facts(K.AUTH, r"Incorrect API key", scope=_KEY, status="400 401 403 none"),
    scopes=_OF_KEYS,
)

_FIREWORKS = FactTable(
    # It has the same status for an adapter that was not loaded.
    money=facts(
        K.QUOTA, r"Account (?:\S{1,100} )?is suspended", scope=_KEY, status="402 403 412 none"
    ),
    scopes=_OF_KEYS,
)

_COPILOT = FactTable(
    money=(
        fact(K.QUOTA, code="quota_exceeded", scope=Scope.KEY_ON_ROUTE),
        *facts(
            K.QUOTA,
            r"You have (?:no quota|exceeded your premium request allowance)",
            scope=Scope.KEY_ON_ROUTE,
            status="402 403 429 none",
        ),
    ),
    scopes={401: _KEY},
)

_OPENCODE = FactTable(
    money=(
        # It answers a spent balance with 401.
        fact(K.QUOTA, type="CreditsError MonthlyLimitError UserLimitError", scope=_KEY),
        fact(K.QUOTA, type="GoUsageLimitError SubscriptionUsageLimitError", scope=_KEY),
        fact(K.QUOTA, type="FreeUsageLimitError", scope=Scope.KEY_ON_ROUTE),
    ),
    other=(
        fact(K.AUTH, type="AuthError", scope=_KEY),
        fact(K.NOT_FOUND, type="ModelError"),
    ),
)

_VERCEL = FactTable(
    money=(fact(K.QUOTA, type="customer_verification_required", scope=_KEY),),
    other=(fact(K.AUTH, type="authentication_error", status="401", scope=_KEY),),
)

_DASHSCOPE = FactTable(
    money=(fact(K.QUOTA, code="Arrearage", scope=_KEY),),
    other=(fact(K.AUTH, code="invalid_api_key InvalidApiKey", scope=_KEY),),
    scopes=_OF_KEYS,
)

_HUGGING_FACE = FactTable(
    money=facts(
        K.QUOTA,
        r"You have (?:exceeded|reached|depleted) your monthly (?:included )?credits",
        scope=_KEY,
        status="402 429 none",
    ),
)

ACCOUNTS: Mapping[str, FactTable] = MappingProxyType(
    {
        "azure": FactTable(scopes={401: _KEY}),
        "dashscope": _DASHSCOPE,
        "huggingface": _HUGGING_FACE,
        "xai": _XAI,
        "together": FactTable(scopes=_OF_KEYS),
        "fireworks": _FIREWORKS,
        "copilot": _COPILOT,
        "github-copilot": _COPILOT,
        "opencode": _OPENCODE,
        "opencode-go": _OPENCODE,
        "vercel": _VERCEL,
        "wandb": FactTable(scopes=_OF_KEYS),
    }
)
"""The tables by vendor, or by the name that agents give it."""
