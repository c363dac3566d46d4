"""Answers of the network before a provider: a challenge, or a block of the caller's address.

Source, read on 2026-11-30 in stored copies. Headers: Cloudflare, cloudflare/cloudflare-docs pull
8590; Vercel, mohamedhiba/smartmenu#45, and ``deny`` in diegosouzapw/OmniRoute pull 7419; AWS WAF,
docs.aws.amazon.com/waf/latest/APIReference/API_ChallengeAction.html and wappalyzer/wappalyzer#6021.
Pages: Cloudflare, run-llama/llama_index#16796 and JohnnyZ93/oai-compatible-copilot#287; Vercel,
elevenlabs/ui#80; CloudFront, labnol/covid19-vaccine-tracker#5; Akamai, hyperion-cs/dpi-checkers#57;
Imperva, ziplokk1/incapsula-cracker-py3#1 and #32. No public report was found of an API of models
behind Akamai or Imperva, nor of Cloudflare's title "Attention Required".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADERS = {
    "cf-mitigated": ("challenge",),
    "x-vercel-mitigated": ("challenge", "deny"),
    "x-amzn-waf-action": ("challenge", "captcha"),
}
_PAGE = re.compile(
    rb"<title>\s*(?:Just a moment|Attention Required|Vercel Security Checkpoint"
    rb"|Pardon Our Interruption)|used Cloudflare to restrict access"
    rb"|/cdn-cgi/challenge-platform|_cf_chl_opt|Sorry, you have been blocked"
    rb"|The request could not be satisfied|errors\.edgesuite\.net|_Incapsula_Resource"
    rb"|Incapsula incident ID",
    re.IGNORECASE,
)
_TEXT = re.compile(rb"\s*error code: 10(?:05|06|07|08|09|10|12|20|23)\s*\Z", re.IGNORECASE)
"""The short text with which Cloudflare blocks a caller.

Source: OpenAgentsInc/openagents#4721, for 1010. The form for the other codes is guessed from it.
"""
_READ = 65_536


def is_of_edge(headers: Mapping[str, str], form: str, body: bytes) -> bool:
    """True if the network before the provider answered, so that the key is not at fault.

    Args:
        form: The form of the body, as `parse_body` has it.
    """
    if any(headers.get(name, "").lower() in words for name, words in _HEADERS.items()):
        return True
    if form == "html":
        return _PAGE.search(body[:_READ]) is not None
    return form == "text" and _TEXT.match(body) is not None
