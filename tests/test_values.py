"""What people do with the values, events and errors that sidestep hands them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
import re
import subprocess
import sys
import threading
import tomllib
import typing
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pydantic
import pytest

import sidestep
from sidestep import Failure, FailureKind, RecordedCause, Route
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.cure import Change, Cure

ROOT = Path(__file__).parents[1]
A, B = Route("openrouter/anthropic/claude-sonnet-5"), Route("anthropic/claude-sonnet-5")
KEY = "sk-test-1234567890abcdef"
Copy = Callable[[typing.Any], typing.Any]


class Unpicklable(Exception):
    """As the errors of several SDKs: it holds a response, and so a lock."""

    def __init__(self, text: str, *, response: object) -> None:
        super().__init__(text)
        self.response = response


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def failure(cause: BaseException | None = None) -> Failure:
    return Failure(
        kind=FailureKind.OVERLOADED,
        message="busy",
        status=529,
        reset_at=datetime(2026, 12, 1, tzinfo=UTC),
        route=A,
        cure=Cure(Change.OMIT, "top_p"),
        cause=cause,
    )


def attempts() -> list[sidestep.AttemptSummary]:
    cause = Unpicklable(f"529 with {KEY}", response=threading.Lock())
    return [
        sidestep.AttemptSummary(route=A, number=1, failure=failure(cause), seconds=1.5, waited=0.0),
        sidestep.AttemptSummary(route=B, number=2, failure=failure(), seconds=0.5, waited=2.0),
    ]


EVENTS = [
    sidestep.StepStarted(1, A, B),
    sidestep.AttemptStarted(1, 1, A),
    sidestep.AttemptFailed(1, 1, A, failure(), 1.5),
    sidestep.PartsRetracted(1, 1, A),
    sidestep.Waiting(1, 2, A, 2.0, failure()),
    sidestep.PatienceStarted(
        1, 2, 60.0, 3600.0, (sidestep.UnavailableRoute(A, "server_error 503", 60.0),), failure()
    ),
    sidestep.PatienceWaiting(1, 2, 30.0),
    sidestep.Repaired(1, 2, A, "leave out top_p", failure()),
    sidestep.RouteDegraded(1, A, 60.0, failure()),
    sidestep.CandidateSkipped(1, B, "degraded"),
    sidestep.Swapped(1, A, B, failure(), 1, 2),
    sidestep.KeyChanged(1, A, "KEY", "KEY_2", failure()),
    sidestep.ProbeStarted(1, 1, A),
    sidestep.ProbeEnded(1, 1, A, "healthy"),
    sidestep.StepEnded(1, A, B, 2, 1, None),
    sidestep.ToolRunStarted("call_1", "read"),
    sidestep.ToolRunEnded("call_1", "read", "completed", [sidestep.Text("x")]),
    sidestep.Compacted(10, 2),
    sidestep.AttemptCost(1, 1, A, 10, 2, None, None, 0.1, is_estimated=False),
    sidestep.TurnEnded("done", B, A, None),
    sidestep.TextDelta("a"),
    sidestep.ReasoningDelta("a"),
    sidestep.ToolCallStarted("call_1", "read"),
    sidestep.ToolCallEnded("call_1", "read", {"path": "a.py"}),
]
MESSAGE = sidestep.Message(
    "assistant",
    [
        sidestep.Reasoning("hm", signature="sig"),
        sidestep.Text("hello"),
        sidestep.Image("image/png", "AAAA"),
        sidestep.ToolCall("call_1", "read", {"path": "a.py"}, output="x"),
    ],
    route=B,
)
VALUES: list[typing.Any] = [
    A,
    failure(),
    attempts()[1],
    sidestep.FallbackConfig.model_validate({"fallbackModelsByModel": {A: B}}),
    sidestep.RetryPolicy(retries=2),
    sidestep.UnavailableRoute(A, "rate_limit 429", None, "KEY_2"),
    sidestep.Budget(attempts=4),
    sidestep.Cost(),
    sidestep.Needs(tokens=10, counted={A: 12}),
    sidestep.MoveHistory(tools_run=("read",)),
    MESSAGE,
    sidestep.Usage(input=10, output=2, cache_read=4),
    sidestep.Settings(max_output_tokens=100, reasoning="high"),
    sidestep.ToolSpec("read", "Read a file.", {"type": "object", "properties": {}}),
    sidestep.Conversation(
        [sidestep.Message("user", [sidestep.Text("hi")])], [sidestep.ToolSpec("read")]
    ),
    catalog()["anthropic"],
]
COPIES = [
    pytest.param(lambda value: pickle.loads(pickle.dumps(value)), id="pickle"),  # noqa: S301
    pytest.param(copy.copy, id="copy"),
    pytest.param(copy.deepcopy, id="deepcopy"),
]


def name_of(value: object) -> str:
    return type(value).__name__


def public_classes() -> list[type]:
    return [cls for name in sidestep.__all__ if inspect.isclass(cls := getattr(sidestep, name))]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("value", [*EVENTS, *VALUES], ids=name_of)
def test_a_value_can_be_copied_and_stays_equal(value: object, copied: Copy) -> None:
    assert copied(value) == value


@pytest.mark.parametrize("value", [*EVENTS, *VALUES], ids=name_of)
def test_a_value_stands_in_a_pydantic_model(value: object) -> None:
    model = pydantic.create_model("Report", value=(type(value), ...))

    made = model(value=value)
    read = model.model_validate_json(made.model_dump_json())

    assert made.value == value  # type: ignore[attr-defined]
    # JSON has no tuples, so what was one is a list now.
    assert read.model_dump_json() == made.model_dump_json()
    assert type(read.value) is type(value)  # type: ignore[attr-defined]
    assert model.model_json_schema()


def test_every_public_dataclass_is_tried() -> None:
    tried = {type(value) for value in [*EVENTS, *VALUES, *attempts()]} | {
        type(part) for part in MESSAGE.parts
    }

    assert [
        cls for cls in public_classes() if dataclasses.is_dataclass(cls) and cls not in tried
    ] == []


def errors() -> list[sidestep.SidestepError]:
    story: dict[str, typing.Any] = {"requested": A, "attempts": attempts()}
    return [
        sidestep.SidestepError("root"),
        sidestep.ConfigError("wrong"),
        sidestep.InstallError("no data"),
        sidestep.StoreError("no room"),
        sidestep.ProviderError(failure(Unpicklable("x", response=threading.Lock()))),
        sidestep.Truncated("no finish_reason"),
        sidestep.StepFailed("failed", **story),
        sidestep.FallbackExhausted("exhausted", **story),
        sidestep.ContextOverflow("too long", **story),
        sidestep.BudgetExceeded("spent", **story),
        sidestep.FallbackUnsafe("unsafe", tool="shell", **story),
        sidestep.StreamInterrupted("cut", emitted="half an", **story),
    ]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("error", errors(), ids=name_of)
def test_an_error_can_be_copied_with_what_it_says(
    error: sidestep.SidestepError, copied: Copy
) -> None:
    error.__cause__ = Unpicklable(f"503 with {KEY}", response=threading.Lock())
    error.__notes__ = ["a note"]

    other: typing.Any = copied(error)

    assert [type(other)] == [type(error)]
    assert str(other) == str(error)
    assert other.__notes__ == ["a note"]
    assert str(other.__cause__) == f"{__name__}.Unpicklable: 503 with [key]"
    if isinstance(error, sidestep.StepFailed):
        assert other.requested == A
        assert [(each.route, each.number) for each in other.attempts] == [(A, 1), (B, 2)]
        assert [(each.seconds, each.waited) for each in other.attempts] == [(1.5, 0.0), (0.5, 2.0)]
        assert other.failure == error.failure
    if isinstance(error, sidestep.FallbackUnsafe):
        assert other.tool == "shell"
    if isinstance(error, sidestep.StreamInterrupted):
        assert other.emitted == "half an"


@pytest.mark.parametrize("error", errors(), ids=name_of)
def test_an_error_stands_in_a_pydantic_model(error: sidestep.SidestepError) -> None:
    model = pydantic.create_model("Report", error=(type(error), ...))

    made = model(error=error)

    assert made.error is error  # type: ignore[attr-defined]
    assert str(error) in json.loads(made.model_dump_json())["error"]


def test_every_public_error_is_tried() -> None:
    kinds = {cls for cls in public_classes() if issubclass(cls, sidestep.SidestepError)}

    assert kinds == {type(error) for error in errors()}


CAUSES = [
    pytest.param(ValueError("bad"), "ValueError: bad", id="one of Python's own"),
    pytest.param(
        Unprintable(), "tests.test_values.Unprintable: (its text cannot be read)", id="no text"
    ),
    pytest.param(OSError("x" * 9_000), "OSError: " + "x" * 2_000, id="very long"),
    pytest.param(
        RecordedCause("openai.APIError", "x"), "openai.APIError: x", id="a record already"
    ),
]


@pytest.mark.parametrize(("cause", "text"), CAUSES)
def test_a_copied_failure_has_a_record_in_place_of_its_cause(cause: Exception, text: str) -> None:
    copied = copy.copy(failure(cause)).cause

    assert isinstance(copied, RecordedCause)
    assert str(copied) == text


def test_the_cause_of_a_failure_is_neither_shown_nor_compared() -> None:
    """What an SDK's exception says may hold a key."""
    one, other = failure(ValueError(KEY)), failure(KeyError("x"))

    assert KEY not in repr(one)
    assert KEY not in repr(sidestep.AttemptFailed(1, 1, A, one, 1.5))
    assert one == other == copy.copy(one)


def test_output_that_cannot_be_pickled_leaves_its_text() -> None:
    error = sidestep.StreamInterrupted(
        "cut", emitted=threading.Lock(), requested=A, attempts=attempts()
    )

    assert "lock" in str(copy.copy(error).emitted)


def test_an_error_of_an_agents_own_kind_can_be_pickled() -> None:
    copied = copy.copy(OwnError("x", code=7))

    assert (str(copied), copied.code) == ("x", 7)


class OwnError(sidestep.SidestepError):
    def __init__(self, text: str, *, code: int) -> None:
        super().__init__(text)
        self.code = code


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_the_source_and_the_hints_of_a_public_class_are_there(cls: type) -> None:
    assert f"class {cls.__name__}" in inspect.getsource(cls)
    assert isinstance(typing.get_type_hints(cls), dict)
    assert inspect.signature(cls) is not None
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and (method.__module__ or "").startswith("sidestep"):
            assert "return" in typing.get_type_hints(method), name


def test_the_version_is_said_once() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", sidestep.__version__)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]


def test_help_is_there_without_docstrings() -> None:
    command = [sys.executable, "-OO", "-m", "sidestep", "drill", "--help"]

    ran = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "Rehearse an outage" in ran.stdout
