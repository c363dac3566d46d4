"""A model's name that belongs to another provider than the one that a route asks.

Source: docs.mistral.ai/getting-started/models, mastra.ai/models/providers/mistral (Mistral's labs),
console.groq.com/docs/models, platform.minimaxi.com/docs/guides/text-generation,
api-docs.deepseek.com/guides/anthropic_api (it takes a Claude's name and no other maker's) and
openrouter.ai/anthropic/claude-2.0/overview, read on 2026-11-30. No list of the other owners' models
was read: their names' beginnings are known from the names that people use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...provider.catalog.catalog import catalog
from ...provider.catalog.model import plain_name
from ...provider.catalog.vendor import vendor_of
from .config_warning import ConfigWarning

if TYPE_CHECKING:
    from ...provider.catalog.provider import Provider
    from ...provider.route import Route

_OWNERS = {
    "anthropic": re.compile(r"claude"),
    "openai": re.compile(r"gpt-(?!oss)|chatgpt|codex|o[1-9](?![a-z\d])"),
    "gemini": re.compile(r"gemini"),
    "xai": re.compile(r"grok"),
    "zai": re.compile(r"glm-"),
    "moonshot": re.compile(r"kimi|moonshot"),
    "deepseek": re.compile(r"deepseek"),
    "minimax": re.compile(r"minimax"),
    "mistral": re.compile(
        r"(?:open-|labs-)?(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)"
    ),
}
"""The beginnings of the names of each owner's models. An owner serves only its own models."""

_CLOSED = frozenset({"anthropic", "openai", "gemini", "xai"})
"""Owners that let no other company host their models."""

_HOSTS_OF_OPEN_MODELS = frozenset({"groq", "cerebras"})


def owner_warning(route: Route, provider: Provider) -> ConfigWarning | None:
    """Return a warning if *provider* does not know the model of *route* by this name; else None.

    There is no warning for a provider at an unusual address, such as a gateway.
    """
    vendor, name = _vendor_at_home(provider), plain_name(route.model)
    is_facade = vendor != "anthropic" and provider.wire == catalog()["anthropic"].wire
    owner = next((each for each, begins in _OWNERS.items() if begins.match(name)), None)
    if vendor is None or owner is None:
        return None
    if vendor == "openrouter" and not is_facade and "/" not in route.model:
        message = f"{str(route)!r} has no maker before its model, as OpenRouter's names have"
        return ConfigWarning("C026", message, 'write it as "openrouter/maker/model"')
    if vendor in _OWNERS and vendor == owner and "/" in route.model:
        message = f"{str(route)!r} has the name that an aggregator gives a model"
        plain = route.model.rpartition("/")[2]
        return ConfigWarning("C026", message, f"write it as '{route.provider}/{plain}'")
    takes = is_facade and owner == "anthropic"
    is_foreign = vendor in _OWNERS and vendor != owner and not takes
    if is_foreign or (vendor in _HOSTS_OF_OPEN_MODELS and owner in _CLOSED):
        message = (
            f"{str(route)!r} names a model of {owner!r}, which {route.provider!r} does not offer"
        )
        return ConfigWarning("C026", message, _fix(route, vendor, owner))
    return None


def _fix(route: Route, vendor: str, owner: str) -> str:
    facade = f"{vendor}-anthropic"
    if owner == "anthropic" and facade in catalog():
        return f"ask its facade {facade!r}, which takes a Claude's name, or name another model"
    return f"ask {owner!r} for it, or name a model of {route.provider!r}"


def _vendor_at_home(provider: Provider) -> str | None:
    """Return the vendor of *provider* if it is at the vendor's usual address; None: it is not."""
    host = urlsplit(provider.base_url).hostname
    known = (each for each in catalog().values() if urlsplit(each.base_url).hostname == host)
    return next(map(vendor_of, known), None)
