"""The patterns of all facts: none matches too much, and none takes long."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from sidestep.provider.classify.fact_tables import tables_of
from sidestep.provider.classify.facts.accounts import ACCOUNTS
from sidestep.provider.classify.report import Report
from sidestep.provider.fact import PREFIX, Fact

if TYPE_CHECKING:
    pass


from ....property import examples


def every_fact() -> list[Fact]:
    names = ["anthropic", "openai", "openrouter", "gemini", "groq", "cerebras", "mistral"]
    names += ["deepseek", "moonshot", "zai", "minimax", "bedrock", "nobody's"]
    names += ACCOUNTS
    tables = {id(t): t for name in names for t in tables_of(name, "openai-chat")}
    sections = ("money", "overflow", "history", "filter", "other")
    return [fact for t in tables.values() for name in sections for fact in getattr(t, name)]


@given(st.text(alphabet="aA1.,:;`'[]{}() \n-_<>", max_size=3_000))
@examples(20)
def test_no_pattern_fits_noise_or_takes_long(noise: str) -> None:
    for fact in every_fact():
        if fact.text is not None:
            said = {name: tuple(words) for name, words in fact.exact.items()}
            assert not fact.matches(Report(message=noise, words=said)), fact


def test_no_pattern_can_match_nothing_and_none_looks_past_its_prefix() -> None:
    for fact in every_fact():
        said = {name: tuple(words) for name, words in fact.exact.items()}
        assert fact.text is None or not fact.matches(Report(message="", words=said))
        assert fact.text is None or re.match(fact.text, "x" * PREFIX) is None
        assert fact.exact or fact.patterns or fact.text
