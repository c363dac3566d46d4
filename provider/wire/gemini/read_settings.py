"""The parameters of a client's Gemini request, beside its contents and tools."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ...conversation import Settings
from ...json_value import listed
from ..effort import effort_of_budget
from ..read_request import RequestError, snake_case
from .thinking_level import BUDGETS, LEAST_OF_PRO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...conversation import Effort
    from ..read_request import Fields

_TEXT = "text/plain"
_READ = ("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model")
_READ_CONFIG = (
    *("maxOutputTokens", "temperature", "topP", "thinkingConfig", "stopSequences"),
    *("responseMimeType", "responseSchema", "responseJsonSchema", "candidateCount"),
    *("responseModalities", "responseLogprobs", "_responseJsonSchema"),
)
_LEVELS: Mapping[str, Effort] = MappingProxyType(
    {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high"}
)
_MODES: Mapping[str, str] = MappingProxyType(
    {"AUTO": "auto", "NONE": "none", "ANY": "required", "VALIDATED": "auto"}
)


def note_other_parameters(fields: Fields) -> None:
    """Note every parameter that a conversation does not hold."""
    if fields.get("cachedContent"):
        fields.report.cannot_move("content that only the provider has", "cachedContent")
    fields.leave_out(*_others(fields, (*_READ, "cachedContent")))
    config = fields.object("generationConfig")
    config.leave_out(*_others(config, _READ_CONFIG))
    for name, what in (
        ("stopSequences", "words at which the answer must stop"),
        ("responseSchema", "a schema for the answer"),
        ("responseJsonSchema", "a schema for the answer"),
        ("_responseJsonSchema", "a schema for the answer"),
        ("responseLogprobs", "probabilities of tokens"),
    ):
        if config.get(name):
            fields.report.cannot_move(what, config.place(name))
    if config.get("responseMimeType") not in (None, _TEXT):
        fields.report.cannot_move("a schema for the answer", config.place("responseMimeType"))
    if (config.number("candidateCount") or 1) > 1:
        fields.report.cannot_move("several answers at once", config.place("candidateCount"))
    if any(str(kind).upper() != "TEXT" for kind in listed(config.get("responseModalities"))):
        what = "something else than text as the answer"
        fields.report.cannot_move(what, config.place("responseModalities"))


def _others(fields: Fields, known: Iterable[str]) -> list[str]:
    """Return the names of what is not *known*, in either spelling."""
    spelled = {*known, *map(snake_case, known)}
    return [name for name in fields.names() if name not in spelled]


def read_settings(fields: Fields) -> Settings:
    """Return the settings of a request."""
    config = fields.object("generationConfig")
    return Settings(
        max_output_tokens=config.limit("maxOutputTokens"),
        reasoning=_effort(config.object("thinkingConfig")),
        temperature=config.number("temperature"),
        top_p=config.number("topP"),
        tool_choice=_choice(fields.object("toolConfig").object("functionCallingConfig")),
    )


def _effort(thinking: Fields) -> Effort | None:
    """Return how much the model should think; None: it decides itself."""
    level = thinking.string("thinkingLevel")
    if level is not None:
        return _LEVELS.get(level.upper())
    tokens = thinking.number("thinkingBudget")
    if tokens is None or tokens < 0:
        return None
    return "none" if tokens <= LEAST_OF_PRO else effort_of_budget(int(tokens), BUDGETS)


def _choice(config: Fields) -> str | None:
    mode = config.string("mode")
    names = listed(config.get("allowedFunctionNames"))
    if mode is None:
        return None
    if mode.upper() not in _MODES:
        raise RequestError(config.place("mode"), f"must be one of {', '.join(_MODES)}")
    if mode.upper() == "ANY" and len(names) == 1:
        return str(names[0])
    if names:
        config.leave_out("allowedFunctionNames")
    return _MODES[mode.upper()]
