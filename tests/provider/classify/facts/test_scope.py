"""Whose a failure is: bodies of real answers, and the scope that their words or status mean."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from sidestep import FailureKind
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.classify.classify import classify_error_object, classify_response
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.failure import Scope
from sidestep.provider.route import Route

from .rows import PLAN, K, chat, claude, google, info, minimax, quota, router, wire_of

if TYPE_CHECKING:
    from sidestep.provider.wire_name import Wire

KEY, HERE, ROUTE = Scope.KEY, Scope.KEY_ON_ROUTE, Scope.ROUTE


@dataclass(frozen=True)
class Owned:
    """An answer, and whose failure it is; None: its words do not say."""

    id: str
    provider: str | Provider
    status: int
    body: Any
    scope: Scope | None
    kind: FailureKind = K.QUOTA
    wire: Wire | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def speaks(self) -> Wire:
        if isinstance(self.provider, Provider):
            return self.provider.wire
        return self.wire or wire_of(self.provider)


def unified(**statuses: str) -> dict[str, str]:
    """Return the headers of a Claude subscription, by window."""
    prefix = "anthropic-ratelimit-unified"
    return {f"{prefix}-status": "rejected"} | {
        f"{prefix}-{name[1:]}-status": status for name, status in statuses.items()
    }


def at(base_url: str) -> Provider:
    """Return a provider with a name of its own at *base_url*."""
    return Provider("mine", "openai-chat", base_url, "MY_KEY")


LIMITED = claude("This request would exceed your account's rate limit.", "rate_limit_error")
NO_CREDITS = {
    "code": "The caller does not have permission to execute the specified operation",
    "error": "Your newly created team doesn't have any credits or licenses yet.",
}
USED = "Your team 16f2 has either used all available credits or reached its monthly spending limit."
AFFORD = "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens"
UPSTREAM = "m:free is temporarily rate-limited upstream. Please retry shortly, or add your own key"
KIMI = "You've reached your weekly (7-day) usage limit. Your quota will reset when the window ends."
PLAN_USED = "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used)"
DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
SUSPENDED = "Account acct-a is suspended, possibly due to reaching the monthly spending limit"
BALANCE = "Insufficient balance or no resource package. Please recharge."
AUTH = K.AUTH

OF_VENDORS = [
    Owned("spent quota", "openai", 429, chat(PLAN, "insufficient_quota", "insufficient_quota"),
        KEY),
    Owned("spent credit", "openai", 429, chat("x", "insufficient_quota",
        "credit_balance_exhausted"), KEY),
    Owned("a project's spend limit", "openai", 429, chat("x", "x", "project_spend_limit_reached"),
        KEY),
    Owned("a plan's window", "openai", 429, chat("x", "usage_limit_reached"), KEY),
    Owned("wrong key", "openai", 401, chat("Incorrect API key provided: sk-1.",
        "invalid_request_error", "invalid_api_key"), KEY, AUTH),
    Owned("wrong key, in no known words", "openai", 401, chat("Who are you?"), KEY, AUTH),
    Owned("a project without the model", "openai", 403, chat(
        "Project `p` does not have access to model `gpt-4o`", "invalid_request_error",
        "model_not_found"), HERE, K.NOT_FOUND),
    Owned("a missing model", "openai", 404, chat("x", code="model_not_found"), None, K.NOT_FOUND),
    Owned("a rate", "openai", 429, chat("x", "tokens", "rate_limit_exceeded"), None, K.RATE_LIMIT),
    Owned("an outage", "openai", 500, chat("x", "server_error"), None, K.SERVER_ERROR),
    Owned("another country", "openai", 403, chat(
        "x", code="unsupported_country_region_territory"), None, AUTH),
    Owned("credit too low", "anthropic", 400, claude(
        "Your credit balance is too low to access the Anthropic API."), KEY),
    Owned("billing", "anthropic", 402, claude("x", "billing_error"), KEY),
    Owned("a spend limit", "anthropic", 429, claude(
        "x", "rate_limit_error", "enforced_spend_limit_reached"), KEY),
    Owned("own limit", "anthropic", 400, claude(
        "You have reached your specified workspace API usage limits. You will regain"), KEY),
    Owned("wrong key of Claude", "anthropic", 401, claude(
        "invalid x-api-key", "authentication_error"), KEY, AUTH),
    Owned("an organization that is off", "anthropic", 400, claude(
        "This organization has been disabled."), KEY, AUTH),
    Owned("no permission", "anthropic", 403, claude("x", "permission_error"), None, AUTH),
    Owned("a rate of Claude", "anthropic", 429, LIMITED, None, K.RATE_LIMIT),
    Owned("five hours used up", "anthropic", 429, LIMITED, KEY,
        headers=unified(_5h="rejected", _7d="allowed")),
    Owned("a week used up", "anthropic", 429, LIMITED, KEY, headers=unified(_7d="rejected")),
    Owned("one model's week used up", "anthropic", 429, LIMITED, HERE,
        headers=unified(_5h="allowed", _7d="allowed", _7d_oi="rejected")),
    Owned("windows that allow it", "anthropic", 429, LIMITED, None, K.RATE_LIMIT,
        headers={"anthropic-ratelimit-unified-status": "allowed_warning",
                 "anthropic-ratelimit-unified-overage-status": "rejected"}),
    Owned("out of extra usage", "anthropic", 400, claude("You're out of extra usage. Add more"),
        HERE),
    Owned("wrong key of Gemini", "gemini", 400, google(
        400, "INVALID_ARGUMENT", "API key not valid.", info("API_KEY_INVALID")), KEY, AUTH),
    Owned("leaked key", "gemini", 403, google(403, "PERMISSION_DENIED",
        "Your API key was reported as leaked. Please use another API key."), KEY, AUTH),
    Owned("a model that the key may not use", "gemini", 403, google(
        403, "PERMISSION_DENIED", "Permission denied on resource"), None, AUTH),
    Owned("credits of Gemini", "gemini", 402, google(402, "RESOURCE_EXHAUSTED"), KEY),
    Owned("credits of Gemini, as before", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), KEY),
    Owned("a model's day", "gemini", 429, google(429, "RESOURCE_EXHAUSTED", PLAN, quota(DAY)),
        None),
    Owned("no quota for the model", "gemini", 429, google(
        429, "RESOURCE_EXHAUSTED", f"{PLAN} x, limit: 0"), None),
    Owned("a minute", "gemini", 429, google(429, "RESOURCE_EXHAUSTED", PLAN, quota(
        "GenerateRequestsPerMinutePerProjectPerModel")), None, K.RATE_LIMIT),
    Owned("balance of DeepSeek", "deepseek", 402, chat("Insufficient Balance", "unknown_error",
        "invalid_request_error"), KEY),
    Owned("balance of Moonshot", "moonshot", 429, chat(
        "Your account is suspended, please check your plan", "exceeded_current_quota_error"), KEY),
    Owned("wrong key of Moonshot", "moonshot", 401, chat(
        "Invalid Authentication", "invalid_authentication_error"), KEY, AUTH),
    Owned("Kimi's week, of one model", "moonshot-anthropic", 403, chat(
        KIMI, "access_terminated_error"), HERE, wire="anthropic"),
    Owned("Moonshot's permissions", "moonshot", 403, chat("x", "permission_denied_error"), None,
        AUTH),
    Owned("balance of z.ai", "zai", 429, chat(BALANCE, code="1113"), KEY),
    Owned("z.ai's window", "zai", 429, chat("x", code="1308"), KEY),
    Owned("z.ai's day, of one interface", "zai", 429, chat("x", code="1304"), None),
    Owned("z.ai's account", "zai", 429, chat("x", code="1112"), KEY, AUTH),
    Owned("z.ai's permissions", "zai", 403, chat("x", code="1220"), None, AUTH),
    Owned("z.ai's facade", "zai-anthropic", 429, claude(f"[1113][{BALANCE}][2]",
        "rate_limit_error"), KEY, wire="anthropic"),
    Owned("balance of MiniMax", "minimax", 200, minimax(1008, "insufficient balance"), KEY),
    Owned("MiniMax's plan", "minimax-anthropic", 429, claude(
        f"{PLAN_USED}, resets at 2026-05-15T15:00:00Z (2056)", "rate_limit_error"), KEY,
        wire="anthropic"),
    Owned("MiniMax's rate", "minimax", 200, minimax(1002, "rate limit"), None, K.RATE_LIMIT),
    Owned("Groq's spend limit", "groq", 400, chat("x", code="blocked_api_access"), KEY),
    Owned("Groq's restriction", "groq", 400, chat("x", code="organization_restricted"), KEY, AUTH),
    Owned("Cerebras", "cerebras", 402, {"message": "Payment required to access this resource."},
        KEY),
    Owned("Mistral's subscription", "mistral", 402, {"detail": "x"}, KEY),
    Owned("Mistral's key", "mistral", 401, {"detail": "Unauthorized"}, KEY, AUTH),
    Owned("Mistral's scope of a key", "mistral", 403, {
        "object": "error", "message": "Model labs is not available for API key with scope vibe",
        "type": "api_key_scope_not_allowed", "code": "1912"}, None, AUTH),
    Owned("xAI without credits", "xai", 403, NO_CREDITS, KEY),
    Owned("xAI's credits used", "xai", 429, {"error": USED}, KEY),
    Owned("xAI's key", "xai", 400, {"error": "Incorrect API key provided: xa***."}, KEY, AUTH),
    Owned("xAI under another name", at("https://api.x.ai/v1"), 429, {"error": USED}, KEY),
    Owned("Together", at("https://api.together.xyz/v1"), 402, chat("Credit limit exceeded"), KEY),
    Owned("Together's key", at("https://api.together.xyz/v1"), 401, chat("x"), KEY, AUTH),
    Owned("Fireworks", at("https://api.fireworks.ai/inference/v1"), 412, chat(SUSPENDED), KEY),
    Owned("Fireworks' adapter", at("https://api.fireworks.ai/inference/v1"), 412, chat(
        "failed to load"), None, K.BAD_REQUEST),
    Owned("OpenCode's balance", at("https://opencode.ai/zen/v1"), 401, claude(
        "Insufficient balance. Manage your billing here", "CreditsError"), KEY),
    Owned("OpenCode's plan", "opencode-go", 429, claude("x", "GoUsageLimitError"), KEY),
    Owned("OpenCode's free models", "opencode", 429, claude("x", "FreeUsageLimitError"), HERE),
    Owned("OpenCode's key", "opencode", 401, claude("Invalid API key.", "AuthError"), KEY, AUTH),
    Owned("Copilot's premium models", at("https://api.githubcopilot.com"), 402, chat(
        "You have no quota", code="quota_exceeded"), HERE),
    Owned("Azure's key", at("https://r.openai.azure.com/openai/v1"), 401, chat(
        "Access denied due to invalid subscription key or wrong API endpoint.", code="401"), KEY,
        AUTH),
    Owned("Azure's rate", at("https://r.openai.azure.com/openai/v1"), 429, chat(
        "x", code="429"), None, K.RATE_LIMIT),
    Owned("credits of Weights & Biases", at("https://api.inference.wandb.ai/v1"), 402, chat(PLAN),
        KEY),
    Owned("credits of Hugging Face", at("https://router.huggingface.co/v1"), 402, {
        "error": "You have exceeded your monthly included credits for Inference Providers."}, KEY),
    Owned("a balance behind Hugging Face", at("https://router.huggingface.co/v1"), 402, {
        "error": "NOT_ENOUGH_BALANCE"}, None),
    Owned("DashScope's arrears", at("https://dashscope.aliyuncs.com/v1"), 400, chat(
        "x", code="Arrearage"), KEY),
    Owned("another's arrears, passed on", at("https://opencode.ai/zen/go/v1"), 400, chat(
        "x", code="Arrearage"), None),
    Owned("LiteLLM's budget of a key", "my-proxy", 400, chat(
        "Budget has been exceeded! Current cost: 26.0, Max budget: 0.2", "budget_exceeded",
        "400"), KEY),
    Owned("LiteLLM's budget of a model", "my-proxy", 429, chat(
        "LiteLLM User: u, exceeded budget for model=claude-opus-4-8", "budget_exceeded", "429"),
        HERE),
    Owned("Bedrock's token", "bedrock", 403, {"__type": "x#ExpiredTokenException"}, KEY, AUTH),
    Owned("Bedrock's model", "bedrock", 403, {"__type": "AccessDeniedException"}, HERE, AUTH),
]  # fmt: skip

OF_RESELLERS = [
    Owned("no credits", "openrouter", 402, chat(
        "Insufficient credits. Add more using https://openrouter.ai/settings/credits", code=402),
        KEY),
    Owned("the limit of a key", "openrouter", 402, router(
        402, "x", limit_source="openrouter_key_limit", error_type="payment_required"), KEY),
    Owned("the limit of a key, 403", "openrouter", 403, chat("Key limit exceeded (total)."), KEY),
    Owned("own code", "openrouter", 402, router(402, "x", error_type="payment_required"), KEY),
    Owned("more than is left", "openrouter", 402, router(
        402, f"{AFFORD}, but can only afford 30104.", provider_name=None), HERE),
    Owned("nothing is left", "openrouter", 402, router(
        402, f"{AFFORD}, but can only afford 0.", provider_name=None), KEY),
    Owned("own wrong key", "openrouter", 401, chat("No auth credentials found", code=401), KEY,
        AUTH),
    Owned("somebody's quota, by OpenAI's code", "openrouter", 429, chat(
        PLAN, "insufficient_quota", "insufficient_quota"), None),
    Owned("a budget that comes back by itself", "openrouter", 402, router(
        402, "x", limit_source="openrouter_in_flight_budget"), None, K.RATE_LIMIT),
    Owned("free models, a day", "openrouter", 429, router(
        429, "Rate limit exceeded: free-models-per-day."), HERE),
    Owned("upstream's balance", "openrouter", 402, router(
        402, provider_name="DeepSeek", raw=json.dumps(chat("Insufficient Balance"))), None),
    Owned("upstream's balance, without its words", "openrouter", 402, router(
        402, provider_name="DeepSeek"), None),
    Owned("upstream's balance, by OpenRouter's word for it", "openrouter", 402, router(
        402, provider_name="DeepSeek", error_type="payment_required"), None),
    Owned("upstream's quota", "openrouter", 429, router(
        429, provider_name="OpenAI", raw=json.dumps(chat(PLAN, "insufficient_quota"))), None),
    Owned("upstream's key", "openrouter", 401, router(
        401, provider_name="Darkbloom", is_byok=False, raw=json.dumps(
            chat("invalid API key", "authentication_error", "authentication_error"))), None, AUTH),
    Owned("somebody's balance, who is not named", "openrouter", 402, chat(
        "Provider returned error", code=402), None),
    Owned("somebody's key, who is not named", "openrouter", 401, chat(
        "Provider returned error", code=401), None, AUTH),
    Owned("a provider's key behind Cloudflare",
        at("https://gateway.ai.cloudflare.com/v1/a/g/compat"), 401,
        {"success": False, "error": [{"code": 2009, "message": "Unauthorized"}]}, None, AUTH),
    Owned("a limit that all share", "openrouter", 429, router(
        429, provider_name="Venice", raw=UPSTREAM, is_byok=False), ROUTE, K.RATE_LIMIT),
    Owned("a limit of the own key there", "openrouter", 429, router(
        429, provider_name="OpenAI", raw="x", is_byok=True), HERE, K.RATE_LIMIT),
    Owned("a limit of the account for a model", "openrouter", 429, router(
        429, "x", limit_source="openrouter_shared_capacity"), HERE, K.RATE_LIMIT),
    Owned("a proxy's upstream, by OpenAI's code", "my-proxy", 429, chat(
        PLAN, "insufficient_quota", "insufficient_quota"), None),
    Owned("a proxy's upstream, as LiteLLM wraps it", "my-proxy", 401, chat(
        "litellm.AuthenticationError: AnthropicException - invalid x-api-key", "auth_error"), None,
        AUTH),
    Owned("a 401 before a model of one's own", at("http://localhost:8080/v1"), 401, "Unauthorized",
        None, AUTH),
    Owned("a 402 of nobody", "my-proxy", 402, chat("Payment required"), None),
    Owned("a facade's upstream", "my-proxy", 400, claude(
        "Your credit balance is too low to access the Anthropic API."), None, wire="anthropic"),
    Owned("Vercel's upstream", at("https://ai-gateway.vercel.sh/v1"), 429, chat(
        BALANCE, "AI_APICallError"), None),
    Owned("Vercel's account", at("https://ai-gateway.vercel.sh/v1"), 402, chat(
        "x", "customer_verification_required"), KEY),
    Owned("a proxy that is out of accounts", "my-proxy", 429, chat(
        "All credentials for model m are cooling down", code="model_cooldown"), ROUTE,
        K.RATE_LIMIT),
]  # fmt: skip


@pytest.mark.parametrize("row", [*OF_VENDORS, *OF_RESELLERS], ids=lambda row: row.id)
def test_an_answer_says_whose_the_failure_is(row: Owned) -> None:
    body = row.body if isinstance(row.body, str) else json.dumps(row.body)

    failure = classify_response(
        row.status, row.headers, body.encode(), provider=row.provider, wire=row.speaks
    )

    assert (failure.kind, failure.scope) == (row.kind, row.scope), failure.because


IN_STREAMS = [
    pytest.param("anthropic", claude("x", "authentication_error"), KEY, id="by its type"),
    pytest.param("openai", chat("x", code="insufficient_quota"), KEY, id="by its code"),
    pytest.param("deepseek", chat("Insufficient Balance"), KEY, id="by its words"),
    pytest.param("openrouter", router(402, "Insufficient credits"), KEY, id="by its status"),
    pytest.param("openrouter", router(402, provider_name="X"), None, id="upstream"),
    pytest.param("anthropic", claude("x", "overloaded_error"), None, id="an outage"),
]


@pytest.mark.parametrize(("provider", "value", "scope"), IN_STREAMS)
def test_an_error_in_a_stream_says_whose_it_is(
    provider: str, value: object, scope: Scope | None
) -> None:
    failure = classify_error_object(value, provider=provider, wire=wire_of(provider))

    assert failure.scope is scope


def test_an_exception_of_an_sdk_says_whose_its_response_is() -> None:
    response = httpx.Response(
        402, json=chat("Insufficient Balance"), request=httpx.Request("POST", "http://x")
    )
    error = httpx.HTTPStatusError("x", request=response.request, response=response)

    failure = classify_exception(error, route=Route("deepseek/deepseek-chat"))

    assert (failure.kind, failure.scope) == (K.QUOTA, KEY)


@pytest.mark.parametrize(
    ("said", "scope"),
    [
        pytest.param({"scope": "key"}, KEY, id="the key's"),
        pytest.param({"scope": "route"}, ROUTE, id="the route's"),
        pytest.param({"scope": "key_on_route"}, HERE, id="the key's on the route"),
        pytest.param({}, None, id="not said"),
    ],
)
def test_the_configuration_can_say_whose_a_failure_is(
    said: dict[str, str], scope: Scope | None
) -> None:
    failures = [{"kind": "quota", "code": "house_budget"} | said]
    settings = {"wire": "openai-chat", "baseUrl": "http://x/v1", "failures": failures}
    provider = catalog(provider_settings({"house": settings}, where="x"))["house"]

    body = json.dumps(chat("x", code="house_budget")).encode()
    failure = classify_response(429, {}, body, provider=provider, wire=provider.wire)

    assert (failure.kind, failure.scope) == (K.QUOTA, scope)
