"""What `check` warns of in the base URL of a provider.

Source for the forms: vellum-ai/vellum-assistant pull 25930, fredrikburmester/streamystats#491,
JohnnyZ93/oai-compatible-copilot#110 (``/v1/v1``), bytedance/UI-TARS-desktop#568 (a whole endpoint),
read on 2026-11-30.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...provider.catalog.catalog import catalog
from .config_warning import ConfigWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...provider.catalog.provider import Provider
    from ...provider.wire_name import Wire

_PATHS: Mapping[Wire, tuple[str, ...]] = {
    "anthropic": ("/v1/messages", "/messages", "/v1"),
    "openai-chat": ("/chat/completions", "/completions", "/models"),
    "openai-responses": ("/responses", "/models"),
    "gemini": (":streamGenerateContent", ":generateContent", "/models"),
}
"""The ends of an address that the wire appends itself; see `Encoder.path`."""
_SHARED = frozenset({"/v1", "/models", "/messages"})
"""Ends that an address of another wire can have."""
_TWICE = re.compile(r"/(v\d\w*)/\1\Z")
_OF_ONE_MODEL = re.compile(r"/models/[^/]+\Z")


def address_warnings(provider: Provider) -> Iterator[ConfigWarning]:
    """Warn of a base URL that no API of the wire has."""
    found = _wrong_address(provider)
    if found is not None:
        what, cure = found
        yield ConfigWarning("C027", f"`baseUrl` of {provider.name!r} {what}", cure)


def _wrong_address(provider: Provider) -> tuple[str, str] | None:
    """Return what is wrong with the base URL of *provider*, and its cure; None: nothing."""
    address = urlsplit(provider.base_url)
    path = address.path.rstrip("/")
    end = next((end for end in _PATHS[provider.wire] if path.endswith(end)), None)
    if end is not None:
        again = "which is appended to it in each request, so that the address has it twice"
        return f"ends in {end!r}, {again}", f"write it without {end!r}"
    for wire, ends in _PATHS.items():
        end = next((end for end in ends if path.endswith(end) and end not in _SHARED), None)
        if end is not None:
            cure = f"set `wire` to {wire!r} if it is that API, and write it without {end!r}"
            return f"ends in {end!r}, which is of the wire {wire!r}", cure
    if (doubled := _TWICE.search(path)) is not None:
        return f"has {doubled[1]!r} twice", "write it once"
    model = _OF_ONE_MODEL.search(path) if provider.wire == "gemini" else None
    if model is not None:
        return f"ends in {model[0]!r}, which is of one model", f"write it without {model[0]!r}"
    return _without_path(provider, address.netloc) if not path else None


def _without_path(provider: Provider, host: str) -> tuple[str, str] | None:
    """Return what is wrong if the API of *provider*, on a host that is known, has a path."""
    known = [
        each.base_url
        for each in catalog().values()
        if each.wire == provider.wire and urlsplit(each.base_url).netloc == host
    ]
    if not known or any(not urlsplit(each).path.rstrip("/") for each in known):
        return None
    return "has no path, but the API of that host has one", f"write {known[0]}"
