"""What the options of the command take, and what they say of anything else."""

from __future__ import annotations

import click
import pytest

from sidestep import Budget
from sidestep.session.command.option import Duration, budget_option


def _parsed(*told: str) -> Budget | None:
    @click.command()
    @budget_option("--budget", help="")
    def command(budget: Budget | None) -> Budget | None:
        return budget

    arguments = [word for each in told for word in ("--budget", each)]
    parsed: Budget | None = command.main(arguments, standalone_mode=False)
    return parsed


@pytest.mark.parametrize(
    ("told", "budget"),
    [
        pytest.param([], None, id="none"),
        pytest.param(["attempts=40"], Budget(attempts=40), id="one"),
        pytest.param(
            ["input-tokens=400_000", "output_tokens=1e6", "money=0.5", "seconds=900.5"],
            Budget(input_tokens=400_000, output_tokens=1_000_000, money=0.5, seconds=900.5),
            id="every other, in either spelling",
        ),
        pytest.param(["money=10"], Budget(money=10), id="whole dollars"),
    ],
)
def test_the_limits_of_a_budget_are_given_one_by_one(
    told: list[str], budget: Budget | None
) -> None:
    assert _parsed(*told) == budget


@pytest.mark.parametrize(
    ("told", "message"),
    [
        pytest.param(["attempts"], "'attempts' has no =: write KEY=VALUE", id="no value"),
        pytest.param(
            ["token=4"], "'token' is nothing that a budget limits: take one of attempts, input-to",
            id="an unknown key",
        ),
        pytest.param(["output=4"], "(did you mean 'output-tokens'?)", id="a key that is near one"),
        pytest.param(["=4"], "'' is nothing that a budget limits", id="no key"),
        pytest.param(
            ["attempts=many"], "'many' is no number: write `attempts=40` or the like", id="a word"
        ),
        pytest.param(["money=$5"], "'$5' is no number", id="a currency"),
        pytest.param(["attempts="], "'' is no number", id="an empty value"),
        pytest.param(
            ["attempts=-1"], "`attempts` must be a whole number above 0, got -1; for no limit",
            id="negative",
        ),
        pytest.param(["input-tokens=0"], "`input_tokens` must be a whole number", id="nothing"),
        pytest.param(["output_tokens=1.5"], "above 0, got 1.5", id="half a token"),
        pytest.param(["money=-0.5"], "`money` must be a finite number above 0", id="a debt"),
        pytest.param(["seconds=nan"], "above 0, got nan", id="not a number"),
        pytest.param([f"seconds={'9' * 5000}"], "above 0, got inf", id="beyond any number"),
        pytest.param(
            ["attempts=4", "attempts=5"], "`attempts` is given twice, as 4 and as 5: keep one",
            id="twice",
        ),
        pytest.param(
            ["input-tokens=5", "money=1", "input_tokens=5"], "`input_tokens` is given twice",
            id="twice, in both spellings",
        ),
    ],
)  # fmt: skip
def test_what_is_no_limit_is_refused_with_a_cure(told: list[str], message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        _parsed(*told)

    assert caught.value.exit_code == 2
    assert message in caught.value.format_message()
    assert "--budget" in caught.value.format_message()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("45s", 45.0, id="seconds"),
        pytest.param("90m", 5400.0, id="minutes"),
        pytest.param("4h", 14_400.0, id="hours"),
        pytest.param("2d", 172_800.0, id="days"),
        pytest.param("1h30m", 5400.0, id="hours and minutes"),
        pytest.param("1H 30M", 5400.0, id="capitals and a space"),
        pytest.param("0.5h", 1800.0, id="half an hour"),
        pytest.param("3600", 3600.0, id="a bare number is seconds"),
        pytest.param("0", 0.0, id="none"),
        pytest.param("4 hours", None, id="a word"),
        pytest.param("h", None, id="a unit alone"),
        pytest.param("-4h", None, id="negative"),
        pytest.param("4h30", None, id="a number without its unit"),
        pytest.param("30m1h", None, id="the smaller unit first"),
        pytest.param("1h1h", None, id="a unit twice"),
        pytest.param("1e3s", None, id="an exponent"),
        pytest.param("inf", None, id="for ever"),
        pytest.param("", None, id="nothing"),
        pytest.param("9" * 400 + "d", None, id="longer than a float"),
    ],
)
def test_a_duration_has_units(text: str, seconds: float | None) -> None:
    if seconds is None:
        with pytest.raises(click.BadParameter, match="is no duration: write it as 45s, 90m"):
            Duration().convert(text, None, None)
    else:
        assert Duration().convert(text, None, None) == seconds
