"""A client of Chat Completions, as a person writes one: it knows only its variables.

How it behaves is its argument: ``honest``, or a mistake that clients make.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import httpx

Message = dict[str, Any]


def asked(model: str, messages: list[Message]) -> Iterator[dict[str, Any]]:
    """Ask, and yield each delta of the answer as it comes."""
    body = {"model": model, "stream": True, "messages": messages}
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    with httpx.stream(
        "POST", url, json=body, headers=headers, timeout=600, trust_env=False
    ) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    yield choice["delta"]


def answer(model: str, messages: list[Message]) -> Message:
    """Return one whole answer."""
    text, calls = "", dict[int, Message]()
    for delta in asked(model, messages):
        text += delta.get("content") or ""
        for piece in delta.get("tool_calls") or ():
            call = calls.setdefault(
                piece["index"],
                {"type": "function", "id": "", "function": {"name": "", "arguments": ""}},
            )
            call["id"] = piece.get("id") or call["id"]
            for key, value in piece["function"].items():
                call["function"][key] += value or ""
    message: Message = {"role": "assistant", "content": text}
    return message | ({"tool_calls": [*calls.values()]} if calls else {})


def text(model: str) -> str:
    """Take a turn, and return the text of its last answer; no tool of the drill is there."""
    messages: list[Message] = [{"role": "user", "content": os.environ["SIDESTEP_DRILL_PROMPT"]}]
    if "SYSTEM" in os.environ:
        messages.insert(0, {"role": "system", "content": os.environ["SYSTEM"]})
    while True:
        messages.append(said := answer(model, messages))
        calls = said.get("tool_calls")
        if calls is None:
            return str(said["content"])
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": "There is no such tool."}
            for call in calls
        ]


def main(behaviour: str) -> None:
    model = os.environ["SIDESTEP_DRILL_MODEL"]
    if behaviour == "asks for a title":
        text("claude-haiku")
    if behaviour == "asks another":
        model = "claude-haiku"
    try:
        shown = text(model)
    except httpx.HTTPStatusError:
        if behaviour == "asks again after a failure":
            main("honest")
        sys.exit(behaviour != "hides failures")
    if behaviour == "asks twice":
        shown = text(model)
    sys.stdout.write("Done." if behaviour == "tells nothing" else shown)
    sys.exit(3 if behaviour == "ends badly" else 0)


if __name__ == "__main__":
    main(sys.argv[1])
