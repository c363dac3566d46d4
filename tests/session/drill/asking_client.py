"""A client of Chat Completions, as a person writes one: it knows only its variables.

How it behaves is its argument: ``honest``, or a mistake that clients make.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import httpx


def text(model: str) -> Iterator[str]:
    """Ask, and yield the answer as it comes."""
    prompt = os.environ["SIDESTEP_DRILL_PROMPT"]
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": prompt}]}
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    with httpx.stream(
        "POST", url, json=body, headers=headers, timeout=600, trust_env=False
    ) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    yield choice["delta"].get("content") or ""


def main(behaviour: str) -> None:
    model = os.environ["SIDESTEP_DRILL_MODEL"]
    if behaviour == "asks for a title":
        list(text("claude-haiku"))
    if behaviour == "asks another":
        model = "claude-haiku"
    try:
        answer = "".join(text(model))
    except httpx.HTTPStatusError:
        sys.exit(behaviour != "hides failures")
    if behaviour == "asks twice":
        answer = "".join(text(model))
    sys.stdout.write("Done." if behaviour == "tells nothing" else answer)
    sys.exit(3 if behaviour == "ends badly" else 0)


if __name__ == "__main__":
    main(sys.argv[1])
