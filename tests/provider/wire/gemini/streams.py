"""What the tests of decode share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sidestep.provider.catalog.provider import Provider
from sidestep.provider.wire.gemini.decode import GeminiDecoder

if TYPE_CHECKING:
    from sidestep.provider.delta import Delta


Event = dict[str, Any]


def chunk(*parts: Event, finish: str | None = None, said: str | None = None) -> Event:
    candidate: Event = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    if said is not None:
        candidate["finishMessage"] = said
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}


def text(piece: str, signature: str | None = None, **fields: Any) -> Event:
    proof = {} if signature is None else {"thoughtSignature": signature}
    return {"text": piece, **proof, **fields}


def thought(piece: str, signature: str | None = None) -> Event:
    return text(piece, signature, thought=True)


def call(name: object = "read", signature: str | None = None, **fields: Any) -> Event:
    proof = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, **fields}, **proof}


STOP = chunk(text(""), finish="STOP")


def decoder() -> GeminiDecoder:
    return GeminiDecoder(Provider("gemini", "gemini", "http://h", None))


def read(reader: GeminiDecoder, events: list[Event]) -> list[Delta]:
    return [delta for event in events for delta in reader.decode(json.dumps(event).encode())]
