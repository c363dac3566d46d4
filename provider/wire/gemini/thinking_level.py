"""Gemini's thinking levels and budgets, for each effort.

Source: ai.google.dev/gemini-api/docs/generate-content/thinking, read on 2026-11-29. A model
refuses a level that it does not have: github.com/bolna-ai/bolna/pull/956,
github.com/dzivkovi/video-intel/releases/tag/v2.7.1, github.com/heyhuynhgiabuu/proxypal/issues/170.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from ...catalog.model import gemini_version, plain_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...conversation import Effort

Level = Literal["MINIMAL", "LOW", "MEDIUM", "HIGH"]

_LEVELS: Mapping[Effort, Level] = MappingProxyType(
    {
        "none": "MINIMAL",
        "minimal": "MINIMAL",
        "low": "LOW",
        "medium": "MEDIUM",
        "high": "HIGH",
        "xhigh": "HIGH",
        "max": "HIGH",
    }
)
BUDGETS: Mapping[Effort, int] = MappingProxyType(
    {
        "none": 0,
        "minimal": 512,
        "low": 1024,
        "medium": 8192,
        "high": 24576,
        "xhigh": 24576,
        "max": 24576,
    }
)
"""All models of 2.5 take each of these budgets, except that a Pro does not take 0."""
LEAST_OF_PRO = 128
"""The fewest thinking tokens of a Pro, which always thinks."""


def level(model: str, effort: Effort) -> Level:
    """Return the level nearest to *effort* (Gemini 3 and later); no level switches thinking off."""
    name, level = plain_name(model), _LEVELS[effort]
    if level == "MINIMAL" and not _has_minimal(name):
        return "LOW"
    if level == "MEDIUM" and "pro" in name and gemini_version(model) == (3, 0):
        return "HIGH"
    return level


def budget(model: str, effort: Effort) -> int:
    """Return the thinking tokens of a Gemini 2.5; 0 switches thinking off, except on a Pro."""
    level = BUDGETS[effort]
    return max(level, LEAST_OF_PRO) if "pro" in plain_name(model) else level


def _has_minimal(name: str) -> bool:
    """True if the model has the lowest level; of the newer models only those named Lite do."""
    return "flash-lite" in name or ("flash" in name and gemini_version(name) < (3, 7))
