"""Routing rules: the plans that they make, and what is wrong in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import pytest
from pydantic import NonNegativeInt, PositiveInt, StringConstraints

from sidestep import ConfigError, FallbackConfig, Route
from sidestep.session.plan.chain_entry import ChainEntry

from ...other_words import pydantic_goes_on, tomllib_says
from .routing_rules import A, B, C, read, rule


@dataclass(frozen=True)
class Read:
    """A candidate's lines, and its entry or the end of what the error says."""

    id: str
    lines: str
    entry: ChainEntry | None = None
    error: str = ""
    codes: tuple[str, ...] = ()


FILLED = Annotated[str, StringConstraints(min_length=1)]


def ours(text: str) -> str:
    """Return why *text* is no TOML, with the line of its end as we give it."""
    return tomllib_says(text).replace("at end of document", "at the end, line 2")


UNENDED = '[[rules]]\nx = "'
MISSPELT = "[[rules]]\nx y\n"
CUT = "[[rules]]\nx = "
ALL = frozenset({"tool_calling", "streaming", "structured_output", "images", "reasoning"})
BARE = ChainEntry(route=A)

CANDIDATES = [
    Read("nothing said", "", BARE),
    Read(
        "a table",
        "capabilities = {tool_calling = true, images = false, context_window_tokens = 8000}",
        replace(BARE, capabilities=frozenset({"tool_calling"}), context_window=8000),
    ),
    Read(
        "a table that says only false",
        "capabilities = {images = false}",
        replace(BARE, capabilities=ALL - {"images"}),
    ),
    Read(
        "a table that says only how much fits",
        "capabilities = {context_window_tokens = 8000}",
        replace(BARE, context_window=8000),
    ),
    Read(
        "a table of its own",
        "[rules.candidates.capabilities]\nreasoning = true",
        replace(BARE, capabilities=frozenset({"reasoning"})),
    ),
    Read("an empty table", "capabilities = {}", BARE),
    Read(
        "a list, and how much fits beside it",
        'capabilities = ["images", "streaming"]\ncontext_window_tokens = 8000',
        replace(BARE, capabilities=frozenset({"images", "streaming"}), context_window=8000),
    ),
    Read("an empty list", "capabilities = []", replace(BARE, capabilities=frozenset())),
    Read(
        "an unknown word in a list",
        'capabilities = ["tools"]',
        replace(BARE, capabilities=frozenset({"tools"})),
        codes=("C053",),
    ),
    Read(
        "an unknown word in a table",
        "capabilities = {tools = false, images = false}",
        replace(BARE, capabilities=ALL - {"images"}),
        codes=("C053",),
    ),
    Read("a boundary", 'boundary = "eu"', replace(BARE, boundary="eu")),
    Read(
        "a word that is a number",
        "capabilities = {images = 1}",
        error=f".capabilities.images is wrong, got 1: {pydantic_goes_on(bool, 1)}: "
        "write true or false",
    ),
    Read(
        "a list with a number",
        'capabilities = ["images", 1]',
        error=".capabilities is wrong, got a list: must be a list of words; write some of "
        "tool_calling, streaming, structured_output, images, reasoning",
    ),
    Read(
        "capabilities in a string",
        'capabilities = "images"',
        error=".capabilities must be a table of settings, got a string: "
        'write capabilities = ["tool_calling", "images"]',
    ),
    Read(
        "a size that is true",
        "context_window_tokens = true",
        error=f".context_window_tokens is wrong, got True: {pydantic_goes_on(int, True)}: "
        "write context_window_tokens = 200000",
    ),
    Read(
        "a size of nothing",
        "capabilities = {context_window_tokens = 0}",
        error=f"got 0: {pydantic_goes_on(PositiveInt, 0)}: write context_window_tokens = 200000",
    ),
    Read(
        "a size in two places",
        "context_window_tokens = 1\ncapabilities = {context_window_tokens = 1}",
        error="`context_window_tokens` is set beside `capabilities` and in it; write it once",
    ),
    Read(
        "a boundary that is empty",
        'boundary = ""',
        error=f".boundary is wrong, got a string: {pydantic_goes_on(FILLED, '')}: "
        'write boundary = "eu"',
    ),
    Read(
        "a boundary that is misspelt and would be open",
        'boundry = "eu"',
        error=".boundry is not a setting: use one of provider, model, capabilities, "
        "context_window_tokens, boundary",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CANDIDATES, ids=lambda case: case.id)
def test_a_candidate_is_read(case: Read) -> None:
    text = rule(B, f"{A} {case.lines}")

    if case.entry is None:
        with pytest.raises(ConfigError) as caught:
            read(text)
        assert str(caught.value).startswith("rules[0].candidates[1]")
        assert str(caught.value).endswith(case.error)
    else:
        plan = read(text)
        assert plan.chains == {"coding": (ChainEntry(route=B), case.entry)}
        assert [warning.code for warning in plan.warnings] == list(case.codes)


def test_what_a_candidate_leaves_out_is_taken_from_its_provider() -> None:
    plan = read(rule(C, f'{Route("gemini/d")} boundary = "eu"\ncontext_window_tokens = 10'))

    assert plan.chains["coding"] == (
        ChainEntry(route=C, boundary="us", context_window=9_000),
        ChainEntry(route=Route("gemini/d"), boundary="eu", context_window=10),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "rules is missing: write [[rules]], and below it its keys", id="empty"),
        pytest.param(
            "rules = []", "at least 1 item after validation, not 0: write [[rules]], and below it",
            id="an empty list",
        ),
        pytest.param("[rules]\n", "write [[rules]], with two brackets", id="one table"),
        pytest.param(
            "rules = [1]", "rules[0] must be a table of settings, got 1: write [[rules]]",
            id="a list of numbers",
        ),
        pytest.param(
            '[[rules]]\ntask_class = "a"\n[rules.candidates]\n',
            "rules[0].candidates is wrong, got a dict: must be a list of tables; "
            "write [[rules.candidates]], with two brackets",
            id="one candidate in one table",
        ),
        pytest.param(
            "[[rules]]\n", 'rules[0].task_class is missing: write task_class = "coding"',
            id="a rule of no class",
        ),
        pytest.param(
            "[[rules]]\ntask_class = 1\n",
            f"rules[0].task_class is wrong, got 1: {pydantic_goes_on(str, 1)}: "
            'write task_class = "coding"',
            id="a class that is a number",
        ),
        pytest.param(
            rule(A, of="a/b"),
            "rules[0].task_class is wrong, got a string: must be a word without slashes and white "
            "space, unlike 'a/b'; write it as",
            id="a class that is a route",
        ),
        pytest.param(
            rule(A) + rule(B),
            "rules[1].task_class is 'coding', as in an earlier rule: write one rule",
            id="two rules of one class",
        ),
        pytest.param(
            rule(A) + '[[rules.candidates]]\nprovider = "anthropic"\n',
            'rules[0].candidates[1].model is missing: write model = "claude-sonnet-5"',
            id="no model",
        ),
        pytest.param(
            rule(A) + '[[rules.candidates]]\nprovider = "anthropic"\nmodel = 5\n',
            f"rules[0].candidates[1].model is wrong, got 5: {pydantic_goes_on(str, 5)}: write",
            id="a model that is a number",
        ),
        pytest.param(
            rule(A) + '[[rules.candidates]]\nprovider = "a/b"\nmodel = "c"\n',
            "provider is wrong, got a string: must be a name without slashes and white space, "
            "not 'a/b'; write it as",
            id="a provider with a slash",
        ),
        pytest.param(
            rule(A) + '[[rules.candidates]]\nprovider = "a"\nmodel = " "\n',
            "rules[0].candidates[1].model is wrong, got a string: must be a name without white",
            id="a blank model",
        ),
        pytest.param(
            'boundary = "eu"\n' + rule(A, more='boundary = "us"'),
            "rules[0].boundary is 'us', but `boundary` of the whole file is 'eu'",
            id="two boundaries",
        ),
        pytest.param(
            rule(A) + "[limits]\ncooldown_seconds = -1\n",
            f"limits.cooldown_seconds is wrong, got -1: {pydantic_goes_on(NonNegativeInt, -1)}",
            id="a limit below zero",
        ),
        pytest.param(
            rule(A) + "[limits]\ncooldownSeconds = -1\n",
            f"limits.cooldown_seconds is wrong, got -1: {pydantic_goes_on(NonNegativeInt, -1)}",
            id="a limit below zero, in the other spelling",
        ),
        pytest.param(
            rule(A) + "[limits]\ncooldown_seconds = true\n", "limits.cooldown_seconds is wrong",
            id="a limit that is true",
        ),
        pytest.param(
            rule(A) + "[limits]\nidempotent_tools = 'read'\n",
            'limits.idempotent_tools is wrong, got a string: input should be a valid list: write '
            'idempotent_tools = ["read_file"]', id="a tool alone",
        ),
        pytest.param(
            rule(A) + "[limits]\nproviders = {}\n",
            "limits.providers is not a setting: use one of fallback_on_errors, ",
            id="what is no limit",
        ),
        pytest.param(
            rule(A) + "[limits]\nmax_wait_seconds = 1\nmaxWaitSeconds = 1\n",
            "`max_wait_seconds` is written in two spellings; write it once", id="two spellings",
        ),
        pytest.param(
            "idempotent_tools = [1]\n" + rule(A),
            f"idempotent_tools[0] is wrong, got 1: {pydantic_goes_on(str, 1)}: write",
            id="a tool that is a number",
        ),
        pytest.param(UNENDED, f"not TOML: {ours(UNENDED)}: write", id="not TOML"),
        pytest.param(CUT, f"not TOML: {ours(CUT)}: write", id="cut off"),
        pytest.param(MISSPELT, f"not TOML: {ours(MISSPELT)}: write", id="with its line"),
        pytest.param("x = " + "[" * 5_000, "not TOML: ", id="nested without end"),
        pytest.param(b"x = '\xff'", "not UTF-8 (at byte 6): save it as UTF-8", id="not UTF-8"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place_and_what_to_write(
    text: str | bytes, says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)

    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "codes", "says"),
    [
        pytest.param(rule(A, B, C), [], "", id="nothing"),
        pytest.param(
            rule(A, "acme/x", B), ["C050"], "names 'acme/x', but this process has no such provider",
            id="an unknown provider",
        ),
        pytest.param(
            rule(A, B, f"{A} capabilities = []"), ["C051"],
            "rules[0].candidates[2] repeats 'anthropic/a'", id="one route twice",
        ),
        pytest.param(rule(), ["C052"], "rules[0] ('coding') has no candidate", id="none"),
        pytest.param(
            rule(A, f'{B} capabilities = ["vision"]'), ["C053"],
            "rules[0].candidates[1].capabilities has the unknown word 'vision'",
            id="an unknown word",
        ),
        pytest.param(
            rule(f'{A} boundary = "us"', B, f'{C} boundary = "eu"', more='boundary = "us"'),
            ["C054", "C054", "C055"],
            "the boundary of 'openrouter/vendor/b' is unknown", id="outside, and one left",
        ),
        pytest.param(
            'boundary = "us"\n' + rule(C, f'{A} boundary = "us"', f'{B} boundary = "eu"'),
            ["C054"],
            "must stay in 'us', but the boundary of 'openrouter/vendor/b' is 'eu', so it is "
            "never used: name another route there, or remove the candidate",
            id="outside the boundary of the file",
        ),
        pytest.param(
            rule(f'{A} boundary = "us"', B, f'{C} boundary = "eu"'), ["C054", "C054", "C055"],
            "rules[0] ('coding') must stay in 'us', as its first candidate, but the boundary of "
            "'openrouter/vendor/b' is unknown, so it is never used: write its `boundary`, or",
            id="outside what the first candidate declares",
        ),
        pytest.param(
            rule(A, f'{B} boundary = "us"'), [], "", id="declared by another than the first"
        ),
        pytest.param(
            rule(A, B, more='boundary = "us"'), ["C054", "C054", "C052"],
            "rules[0] ('coding') has no candidate that can be used", id="nothing inside",
        ),
        pytest.param(
            rule("acme/x"), ["C050", "C052"], "so each of its steps fails", id="nobody here"
        ),
        pytest.param(
            rule(A), ["C055"], "rules[0] ('coding') has only one candidate that can be", id="one"
        ),
        pytest.param(rule("acme/x", A), ["C050", "C055"], "", id="one of two"),
    ],
)  # fmt: skip
def test_what_does_not_do_what_it_says_is_a_warning(text: str, codes: list[str], says: str) -> None:
    warnings = read(text).warnings

    assert [warning.code for warning in warnings] == codes
    assert says in "; ".join(map(str, warnings))


def test_the_plan_has_the_limits_of_this_source() -> None:
    text = 'idempotent_tools = ["read"]\n' + rule(A, B, C) + rule(A, of="chat")

    plan = read(text + "[limits]\ncooldown_seconds = 5\ncooldown_backoff = 2\n")

    assert plan.source == "routing rules"
    assert list(plan.chains) == ["coding", "chat"]
    assert plan.config == FallbackConfig(
        fallback_models_by_model={},
        fallback_on_errors=(402, 408, 429, 500, 502, 503, 504, 520, 522, 524, 529),
        max_fallback_attempts=2,
        cooldown_seconds=5,
        cooldown_backoff=2,
        move_policy="idempotent",
        idempotent_tools=("read",),
    ).model_copy(update={"warnings": ()})


def test_bytes_with_a_byte_order_mark_are_read() -> None:
    assert read(b"\xef\xbb\xbf" + rule(A).encode()) == read(rule(A))
