"""Issue signatures for the stub's answers, and check them when they come back."""

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
"""The key of every stub, fixed so that an answer depends on its request alone."""

DIGEST = 16  # bytes of each digest in a proof
_UNBOUND = bytes(DIGEST)
_PLAIN_URL = str.maketrans("-_", "+/")


class ProofState(Enum):
    """The result of checking a proof."""

    VALID = "it was issued for this content"
    FOREIGN = "it was not issued here for this route"
    EDITED = "it was issued for this route, but for other content"
    MOVED = "it was issued for this content, but after another conversation"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The conversation that a proof is bound to.

    Args:
        before: A digest of the conversation so far, without reasoning.
        last: The proof on the last reasoning before it; empty: there is none.
    """

    before: bytes
    last: str = ""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Issues proofs and checks them.

    It stores nothing: a proof holds digests of its content, with a code that only the same key
    can make.
    """

    key: bytes = KEY

    def issue(self, route: str, content: object, prefix: Prefix | None = None) -> str:
        """Return a proof on *content*, valid on *route* and, with *prefix*, only after that."""
        bound = [_UNBOUND, _UNBOUND]
        if prefix is not None:
            bound = [prefix.before, _short(prefix.last.encode(errors="surrogatepass"))]
        held = digest(content) + b"".join(bound)
        return base64.b64encode(held + self._code(route, held)).decode()

    def verify(
        self, proof: object, route: str, content: object, prefix: Prefix | None = None
    ) -> ProofState:
        """Return whether *proof* was issued on *route* for *content*, after *prefix*.

        A proof stays valid when all earlier reasoning is removed. It becomes invalid when only
        the last reasoning before it is removed or replaced.
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
        """True if *proof* was issued on *route*, for any content."""
        return self._held(proof, route) is not None

    def mark(self, route: str, text: str) -> str:
        """Return a short proof on *text*, to be part of an id."""
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
    """Return a digest of *content* that does not depend on the order of keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return _short(text.encode(errors="surrogatepass"))


def without_markers(value: object) -> object:
    """Return *value* without the cache markers on its blocks, because those may move."""
    if isinstance(value, list):
        return [without_markers(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: without_markers(each) if key == "content" else each
        for key, each in value.items()
        if key != "cache_control"
    }


def _short(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:DIGEST]


def _padded(proof: str) -> bytes:
    """Return *proof* in the plain alphabet of base64, with the padding that some senders drop."""
    text = proof.translate(_PLAIN_URL).rstrip("=")
    return (text + "=" * (-len(text) % 4)).encode(errors="replace")
