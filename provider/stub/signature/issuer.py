"""The stub's proofs on what it answers: each says by itself whether it stands where it was put."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

KEY = b"the stub of sidestep"
"""The same in every stub, so that an answer depends on its request alone."""

DIGEST = 16  # bytes of each digest in a proof
_UNBOUND = bytes(DIGEST)
_PLAIN_URL = str.maketrans("-_", "+/")


class ProofState(Enum):
    """What a proof turned out to be."""

    VALID = "it was issued for what it stands on"
    FOREIGN = "it was not issued here for this route"
    EDITED = "it was issued for this route, but for other content"
    MOVED = "it was issued for this content, but after another conversation"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The conversation that a proof is bound to.

    Args:
        before: All that came before, but for reasoning; see `digest`.
        last: The proof on the reasoning that came last before it; empty for none.
    """

    before: bytes
    last: str = ""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Makes proofs, and tells its own from others.

    Nothing is remembered: a proof holds digests of what it was issued for, under a code that
    only the same key makes.
    """

    key: bytes = KEY

    def issue(self, route: str, content: object, prefix: Prefix | None = None) -> str:
        """Make the proof on *content*, good on *route* and, with *prefix*, only after it."""
        bound = [_UNBOUND, _UNBOUND]
        if prefix is not None:
            bound = [prefix.before, _short(prefix.last.encode(errors="surrogatepass"))]
        held = digest(content) + b"".join(bound)
        return base64.b64encode(held + self._code(route, held)).decode()

    def verify(
        self, proof: object, route: str, content: object, prefix: Prefix | None = None
    ) -> ProofState:
        """Say whether *proof* was issued on *route* for *content*, after *prefix*.

        Cutting all earlier reasoning leaves a proof good; cutting only the last before it does
        not, nor does putting other reasoning there.
        """
        held = self._held(proof, route)
        if held is None:
            return ProofState.FOREIGN
        if held[:DIGEST] != digest(content):
            return ProofState.EDITED
        before, last = held[DIGEST : 2 * DIGEST], held[2 * DIGEST :]
        if prefix is None or before == _UNBOUND:
            return ProofState.VALID
        previous = _short(prefix.last.encode(errors="surrogatepass"))
        is_chained = not prefix.last or previous == last
        return ProofState.VALID if is_chained and prefix.before == before else ProofState.MOVED

    def is_own(self, proof: object, route: str) -> bool:
        """Say whether *proof* was issued for *route*, whatever it was issued for."""
        return self._held(proof, route) is not None

    def mark(self, route: str, text: str) -> str:
        """Make a short proof on *text*, as part of an id."""
        return self._code(route, text.encode(errors="surrogatepass")).hex()[:8]

    def _held(self, proof: object, route: str) -> bytes | None:
        try:
            raw = base64.b64decode(_padded(str(proof)), validate=True)
        except (ValueError, binascii.Error):
            return None
        held, code = raw[: 3 * DIGEST], raw[3 * DIGEST :]
        return held if hmac.compare_digest(code, self._code(route, held)) else None

    def _code(self, route: str, held: bytes) -> bytes:
        text = route.encode(errors="surrogatepass") + b"\0" + held
        return hmac.new(self.key, text, hashlib.sha256).digest()


def digest(content: object) -> bytes:
    """Return what *content* is known by, the same however its keys are ordered."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return _short(text.encode(errors="surrogatepass"))


def unmarked(value: object) -> object:
    """Return *value* without the cache markers on its blocks, which may move."""
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: unmarked(each) if key == "content" else each
        for key, each in value.items()
        if key != "cache_control"
    }


def _short(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:DIGEST]


def _padded(proof: str) -> bytes:
    """Bring both alphabets of base64 to one; some senders drop the padding."""
    text = proof.translate(_PLAIN_URL).rstrip("=")
    return (text + "=" * (-len(text) % 4)).encode(errors="replace")
