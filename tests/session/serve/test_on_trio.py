"""The local address on trio."""

from __future__ import annotations

import anyio
import pytest

from .served import CLAUDE, SIBLING, serving

HALF = {"text": "Half an answer", "chunk": 4, "after": 2, "error": 529}


@pytest.mark.parametrize("hold", ["whole", "first"])
def test_a_turn_goes_on_at_the_sibling_on_trio_too(hold: str) -> None:
    async def main() -> None:
        answers = {CLAUDE: [{"text": "Hello."}, HALF], SIBLING: {"text": "From the sibling."}}
        async with serving(answers, siblings={CLAUDE: SIBLING}, hold=hold) as served:
            first = await served.ask(CLAUDE)
            second = await served.ask(CLAUDE)
            third = await served.ask(CLAUDE)
            await served.serve.drain()

            assert "Hello." in first.text
            assert ("From the" in second.text) is (hold == "whole")
            assert "From the" in third.text

    anyio.run(main, backend="trio")
