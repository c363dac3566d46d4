"""The differences between a request and the settings and tools that it was made from.

The encoded body itself is read, so that every difference is found, whatever its cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..json_value import listed, mapping
from .note import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..conversation import Settings, ToolSpec

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
_NEAREST = "it is the nearest that is taken here"
_NOT_TAKEN = "it is not taken here"
_CHOICES = {"any": "required", "ANY": "required", "AUTO": "auto", "NONE": "none"}


def settings_diff(
    settings: Settings,
    tools: Sequence[ToolSpec],
    body: Mapping[str, Any],
    *,
    renamed: Mapping[str, str],
    thinks: bool,
) -> Iterator[Note]:
    """Return a note for each setting and tool that differs in *body*.

    Args:
        renamed: Names of tools that differ in *body*: its name to the agent's own.
        thinks: The model can think.
    """
    sent = {**body, **mapping(body.get("generationConfig"))}
    limit = next((sent[name] for name in _LIMITS if name in sent), None)
    yield from _number("max_output_tokens", settings.max_output_tokens, limit)
    yield from _number("temperature", settings.temperature, sent.get("temperature"))
    yield from _number("top_p", settings.top_p, sent.get("top_p", sent.get("topP")))
    yield from _effort(settings, sent, thinks=thinks)
    if settings.cache_key is not None and "prompt_cache_key" not in body:
        yield Note("dropped", "cache_key", _NOT_TAKEN)
    yield from _tools(settings, tools, body, renamed)


def _number(name: str, setting: float | None, sent: float | None) -> Iterator[Note]:
    if setting is None or setting == sent:
        return
    if sent is None:
        yield Note("dropped", f"{name} {setting}", _NOT_TAKEN)
    else:
        yield Note("changed", f"{name} {setting} to {sent}", _NEAREST)


def _effort(settings: Settings, sent: Mapping[str, Any], *, thinks: bool) -> Iterator[Note]:
    setting, in_body = settings.reasoning, _sent_effort(sent)
    if setting is None or setting == in_body or (setting == "none" and not thinks):
        return
    if in_body is None:
        yield Note("dropped", f"effort {setting!r}", _NOT_TAKEN)
    elif setting == "none" or in_body != "budget":
        yield Note("changed", f"effort {setting!r} to {in_body!r}", _NEAREST)


def _sent_effort(sent: Mapping[str, Any]) -> str | None:
    """Return in one word the effort that *sent* asks for; None: it asks for none."""
    thinking, config = mapping(sent.get("thinking")), mapping(sent.get("thinkingConfig"))
    reasoning = mapping(sent.get("reasoning"))
    if thinking.get("type") == "disabled" or reasoning.get("enabled") is False:
        return "none"
    for effort in (
        mapping(sent.get("output_config")).get("effort"),
        sent.get("reasoning_effort"),
        reasoning.get("effort"),
        config.get("thinkingLevel"),
    ):
        if isinstance(effort, str):
            return effort.lower()
    if "thinkingBudget" in config:
        return "budget" if config["thinkingBudget"] else "none"
    if thinking:
        return "budget" if "budget_tokens" in thinking else str(thinking.get("type"))
    return None


def _tools(
    settings: Settings,
    tools: Sequence[ToolSpec],
    body: Mapping[str, Any],
    renamed: Mapping[str, str],
) -> Iterator[Note]:
    declared = dict(_declared_tools(body))
    if tools and not declared:
        yield Note("dropped", "the tools", "this is the only way to forbid calls")
        return
    sent_names = {own: name for name, own in renamed.items()}
    for tool in {tool.name: tool for tool in tools}.values():
        name = sent_names.get(tool.name, tool.name)
        if name != tool.name:
            yield Note("changed", f"name {tool.name!r} to {name!r}", "so it may stand here")
        if name in declared and declared[name] != tool.input_schema:
            yield Note("changed", f"schema of tool {tool.name!r}", "it has another form here")
    if not declared:
        return
    choice = settings.tool_choice
    if choice is not None and (sent := _choice(body)) not in {choice, sent_names.get(choice)}:
        yield Note("changed", f"tool_choice {choice!r} to {sent!r}", _NEAREST)
    if settings.parallel_tool_calls is False and not _is_one_by_one(body):
        yield Note("dropped", "parallel_tool_calls", _NOT_TAKEN)


def _declared_tools(body: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Return the tools in *body* with the schemas of their arguments."""
    for tool in listed(body.get("tools")):
        functions = listed(mapping(tool).get("functionDeclarations"))
        for each in functions or [mapping(tool).get("function", tool)]:
            names = ("input_schema", "parameters", "parametersJsonSchema")
            schema = next((each[name] for name in names if name in each), None)
            yield each["name"], schema


def _choice(body: Mapping[str, Any]) -> str:
    """Return the tool choice in *body*, in the words of the settings."""
    config = mapping(mapping(body.get("toolConfig")).get("functionCallingConfig"))
    if config:
        names = listed(config.get("allowedFunctionNames"))
        return str(names[0]) if names else _CHOICES[str(config["mode"])]
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, str):
        return choice
    named = choice.get("name") or mapping(choice.get("function")).get("name")
    kind = str(choice["type"])
    return str(named) if named else _CHOICES.get(kind, kind)


def _is_one_by_one(body: Mapping[str, Any]) -> bool:
    choice = mapping(body.get("tool_choice"))
    is_disabled = bool(choice.get("disable_parallel_tool_use")) or choice.get("type") == "none"
    return is_disabled or body.get("parallel_tool_calls") is False
