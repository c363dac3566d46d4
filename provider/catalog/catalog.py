"""The known providers, and how a configuration adds or changes one."""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..env_value import named_path, read_variable
from ..error import ConfigError
from ..json_value import read_json
from ..wire_name import WIRES
from .provider import Provider

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .settings import ProviderSettings

VARIABLE = "SIDESTEP_PROVIDERS"

_GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"

# Source: each provider's API reference, read on 2026-11-29. A name that ends in ``-anthropic`` is
# the facade of another provider that speaks Anthropic's wire.
_KNOWN = (
    Provider("anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    Provider("openai", "openai-responses", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider("gemini", "gemini", _GEMINI_URL, "GEMINI_API_KEY"),
    Provider("openai-chat", "openai-chat", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider("openrouter", "openai-chat", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider("groq", "openai-chat", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("cerebras", "openai-chat", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    Provider("mistral", "openai-chat", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    Provider("deepseek", "openai-chat", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    Provider("zai", "openai-chat", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    Provider("moonshot", "openai-chat", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    Provider("minimax", "openai-chat", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    # Source: docs.x.ai/api (the address), docs.x.ai/developers/quickstart (the variable), read on
    # 2026-11-30.
    Provider("xai", "openai-chat", "https://api.x.ai/v1", "XAI_API_KEY"),
    # Servers on this computer, on their default ports. Source: ollama/ollama
    # docs/api/openai-compatibility.mdx, lmstudio.ai/docs/api/openai-api, docs.memberjunction.org
    # (llama.cpp), docs.boundaryml.com/ref/llm-client-providers/vllm, read on 2026-11-30.
    Provider("ollama", "openai-chat", "http://localhost:11434/v1", None),
    Provider("lmstudio", "openai-chat", "http://localhost:1234/v1", None),
    Provider("llamacpp", "openai-chat", "http://localhost:8080/v1", None),
    Provider("vllm", "openai-chat", "http://localhost:8000/v1", None),
    *(
        Provider(f"{vendor}-anthropic", "anthropic", base_url, f"{vendor.upper()}_API_KEY")
        for vendor, base_url in (
            ("openrouter", "https://openrouter.ai/api"),
            ("deepseek", "https://api.deepseek.com/anthropic"),
            ("zai", "https://api.z.ai/api/anthropic"),
            ("moonshot", "https://api.moonshot.ai/anthropic"),
            ("minimax", "https://api.minimax.io/anthropic"),
        )
    ),
)


def catalog(*overrides: Mapping[str, ProviderSettings]) -> dict[str, Provider]:
    """Return the known providers, changed and extended by *overrides* in order.

    Raises:
        ConfigError: A new provider has no wire or no base URL, or a name that no route can have.
    """
    providers = {provider.name: provider for provider in _KNOWN}
    for name, settings in (item for each in overrides for item in each.items()):
        existing = providers.get(name)
        providers[name] = _with_settings(existing or _new_provider(name, settings), settings)
    return providers


def providers_from_env(environ: Mapping[str, str] | None = None) -> dict[str, ProviderSettings]:
    """Return the settings in ``SIDESTEP_PROVIDERS``: JSON, or ``@path`` of a file with JSON.

    Args:
        environ: None: `os.environ`.

    Raises:
        ConfigError: The variable cannot be read, or has a wrong value in it.
    """
    environ = os.environ if environ is None else environ
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return {}
    try:
        value = read_json(read_variable(text))
    except ConfigError as error:
        raise ConfigError(f"{VARIABLE} ({named_path(text)}): {error}") from None
    except ValueError:
        # The parser's message could quote the value, and so could the exception's.
        raise ConfigError(f'{VARIABLE} is not JSON: write an object, or "@path" of one') from None
    from .settings import provider_settings  # at first use, because its models cost 50 ms

    return provider_settings(value, where=VARIABLE)


def unknown_provider(name: str, known: Collection[str]) -> str:
    """Return the message that *name* is none of the *known* providers, and what to write."""
    return (
        f"{name!r} is no provider that sidestep knows{_near(name, known)}: take one of "
        f"{', '.join(sorted(known))}, or add it to {VARIABLE}"
    )


def _near(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _new_provider(name: str, settings: ProviderSettings) -> Provider:
    if not name or "/" in name or any(c.isspace() for c in name):
        raise ConfigError(
            f"providers[{name!r}] cannot stand before the slash of a route: "
            "take a name without slashes and white space"
        )
    if settings.wire is None or settings.base_url is None:
        missing = "wire" if settings.wire is None else "baseUrl"
        near = _near(name, [each.name for each in _KNOWN])
        raise ConfigError(
            f"providers[{name!r}] has no {missing}{near}: a provider that sidestep does not know "
            f"needs `wire` (one of {', '.join(WIRES)}) and `baseUrl`, in the configuration's "
            f"`providers` or in {VARIABLE}"
        )
    return Provider(name, settings.wire, settings.base_url, None)


def _with_settings(provider: Provider, settings: ProviderSettings) -> Provider:
    changes: dict[str, Any] = {
        name: getattr(settings, name)
        for name in ("wire", "base_url", "boundary", "context_window")
        if getattr(settings, name) is not None
    }
    if settings.capabilities is not None:
        changes["capabilities"] = frozenset(settings.capabilities)
    if settings.failures:
        changes["failures"] = tuple(failure.fact() for failure in settings.failures)
    if "api_key_env" in settings.model_fields_set:
        changes["api_key_env"] = settings.api_key_env
    if settings.timeouts is not None:
        seconds = settings.timeouts.model_dump(exclude_none=True)
        changes["timeouts"] = replace(provider.timeouts, **seconds)
    return replace(provider, **changes)
