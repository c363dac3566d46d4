"""Which signatures the stub accepts as its own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.stub.signature.anthropic import prefix_of, reasoning_of
from sidestep.provider.stub.signature.issuer import Issuer, ProofState
from sidestep.provider.stub.signature.openai_responses import (
    is_own_reasoning,
    item_id,
    needed_reasoning,
)

ROUTE = "anthropic/claude-fable-5-1"
ISSUER = Issuer()
ASKED = {"role": "user", "content": "Read a.py"}


@pytest.mark.parametrize(
    ("route", "content", "want"),
    [
        pytest.param(ROUTE, "thought", ProofState.VALID, id="on the route that issued it"),
        pytest.param(ROUTE, "thought!", ProofState.EDITED, id="on other content"),
        pytest.param("anthropic/claude-3", "thought", ProofState.FOREIGN, id="on another route"),
    ],
)
def test_a_proof_is_good_where_it_was_issued(route: str, content: str, want: ProofState) -> None:
    proof = ISSUER.issue(ROUTE, "thought")

    assert ISSUER.verify(proof, route, content) is want


@pytest.mark.parametrize("proof", ["", "EqQB", "ä", "\ud83d", None, 1, [], ISSUER.issue("", "")])
def test_what_was_not_issued_here_is_foreign(proof: object) -> None:
    assert ISSUER.verify(proof, ROUTE, "thought") is ProofState.FOREIGN
    assert not ISSUER.is_own(proof, ROUTE)


def test_another_key_issues_other_proofs() -> None:
    proof = Issuer(b"another").issue(ROUTE, "thought")

    assert ISSUER.verify(proof, ROUTE, "thought") is ProofState.FOREIGN


@given(content=st.text(st.characters()), route=st.text(min_size=1))
def test_a_proof_survives_the_other_alphabet_of_base64(content: str, route: str) -> None:
    proof = ISSUER.issue(route, content)

    changed = proof.replace("+", "-").replace("/", "_").rstrip("=")

    assert ISSUER.verify(changed, route, content) is ProofState.VALID


def history(*, steps: int) -> dict[str, Any]:
    """Return a turn of *steps* steps, each with thinking that is bound to all before it."""
    body: dict[str, Any] = {"system": "Be brief.", "tools": [{"name": "ls"}], "messages": [ASKED]}
    for number in range(steps):
        text = f"thought {number}"
        signature = ISSUER.issue(ROUTE, text, prefix_of(body))
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "ls", "input": {}}
        thinking = {"type": "thinking", "thinking": text, "signature": signature}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "a.py"}
        body["messages"] += [
            {"role": "assistant", "content": [thinking, call]},
            {"role": "user", "content": [result]},
        ]
    return body


def proofs(body: dict[str, Any]) -> list[ProofState]:
    return [
        ISSUER.verify(each.block["signature"], ROUTE, each.block["thinking"], each.prefix)
        for each in reasoning_of(body)
    ]


V, M = ProofState.VALID, ProofState.MOVED


def cut(body: dict[str, Any], *steps: int) -> None:
    for step in steps:
        del body["messages"][1 + 2 * step]["content"][0]


def marked(body: dict[str, Any]) -> None:
    body["messages"][2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    body["system"] = [{"type": "text", "text": "Be brief.", "cache_control": {}}]
    body["tools"][0]["cache_control"] = {"type": "ephemeral"}


BOUND = [
    pytest.param(lambda body: None, [V, V, V], id="as it was"),
    pytest.param(marked, [V, V, V], id="cache markers moved"),
    pytest.param(lambda body: cut(body, 0), [V, V], id="the oldest thinking cut"),
    pytest.param(lambda body: cut(body, 0, 1), [V], id="a leading run cut"),
    pytest.param(lambda body: cut(body, 1), [V, M], id="thinking in the middle cut"),
    pytest.param(lambda body: body.update(system="Be long."), [M, M, M], id="system changed"),
    pytest.param(lambda body: body.update(tools=[]), [M, M, M], id="tools changed"),
    pytest.param(
        lambda body: body["messages"][2]["content"][0].update(content="b.py"),
        [V, M, M],
        id="an earlier result changed",
    ),
    pytest.param(
        lambda body: body["messages"][0].update(content=[{"type": "text", "text": "Read a.py"}]),
        [V, V, V],
        id="a string spelled as a block",
    ),
]


@pytest.mark.parametrize(("change", "want"), BOUND)
def test_bound_thinking_is_good_only_after_what_it_came_after(change: Any, want: Any) -> None:
    """Source: platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1, 2026-11-29."""
    body = history(steps=3)

    change(body)

    assert proofs(body) == want


def test_an_item_says_which_reasoning_it_came_with() -> None:
    nonce = "0123456789abcdef01234567"
    reasoning = item_id(ISSUER, "openai/o3", "rs", nonce, 0)
    after = item_id(ISSUER, "openai/o3", "fc", nonce, 1, is_after=True)
    free = item_id(ISSUER, "openai/o3", "fc", nonce, 1)

    assert needed_reasoning(ISSUER, "openai/o3", after) == reasoning
    assert needed_reasoning(ISSUER, "openai/o4", after) is None
    assert needed_reasoning(ISSUER, "openai/o3", free) is None
    assert needed_reasoning(ISSUER, "openai/o3", "fc_1") is None
    assert is_own_reasoning(ISSUER, "openai/o3", reasoning)
    assert not is_own_reasoning(ISSUER, "openai/o4", reasoning)
