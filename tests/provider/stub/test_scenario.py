"""Which scenario files are read, and the errors of those that are not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from sidestep.provider.conversation import ToolCall, Usage
from sidestep.provider.error import ConfigError
from sidestep.provider.route import Route
from sidestep.provider.stub.answer import (
    Abort,
    CaptureAnswer,
    ConnectionReset,
    Cut,
    ModelAnswer,
    RefusedConnection,
    Stall,
    StatusAnswer,
    StreamError,
)
from sidestep.provider.stub.capture import capture_names, load_capture
from sidestep.provider.stub.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

ROUTE = Route("anthropic/x")
HERE = "answers['anthropic/x']"


@dataclass(frozen=True)
class Case:
    """One answer as a file writes it; *want* is the answer that is read, or a part of the error."""

    id: str
    answer: object
    want: object


ANSWERS = [
    Case("text", {"text": "hi"}, ModelAnswer(text="hi")),
    Case("empty text", {"text": ""}, ModelAnswer()),
    Case(
        "everything",
        {
            "text": "t",
            "reasoning": "r",
            "signature": "s",
            "stop": "max_tokens",
            "chunk": 1,
            "pace": 0.5,
            "delay": 2,
            "comments": 3,
            "tool_calls": [{"id": "a", "name": "ls", "input": {"p": 1}}, {"name": "pwd"}],
            "usage": {"input": 5, "cache_read": 0},
        },
        ModelAnswer(
            text="t",
            reasoning="r",
            signature="s",
            stop="max_tokens",
            chunk=1,
            pace=0.5,
            delay=2.0,
            comments=3,
            tool_calls=(ToolCall("a", "ls", {"p": 1}), ToolCall("", "pwd", {})),
            usage=Usage(input=5, cache_read=0),
        ),
    ),
    Case("error by status", {"error": 503}, ModelAnswer(fault=StreamError(503))),
    Case(
        "error by type",
        {"error": "overloaded_error", "after": 0},
        ModelAnswer(fault=StreamError(529), after=0),
    ),
    Case("error in full", {"error": {"type": "x"}}, ModelAnswer(fault=StreamError({"type": "x"}))),
    Case("cut", {"text": "a", "cut": True}, ModelAnswer(text="a", fault=Cut())),
    Case("abort", {"abort": True}, ModelAnswer(fault=Abort())),
    Case("reset", {"reset": True, "after": 2}, ModelAnswer(fault=ConnectionReset(), after=2)),
    Case("stall", {"stall": True}, ModelAnswer(fault=Stall())),
    Case("stall with comments", {"stall": True, "keepalive": 1}, ModelAnswer(fault=Stall(1.0))),
    Case("a fault that is off", {"text": "a", "cut": False}, ModelAnswer(text="a")),
    Case("status", {"status": 503}, StatusAnswer(status=503)),
    Case(
        "status in full",
        {"status": 429, "headers": {"Retry-After": 7}, "body": {"error": 1}, "delay": 0.5},
        StatusAnswer(status=429, headers={"retry-after": "7"}, body={"error": 1}, delay=0.5),
    ),
    Case("status with text", {"status": 502, "body": ""}, StatusAnswer(status=502, body="")),
    Case(
        "capture",
        {"capture": "openrouter_stream_error", "delay": 1},
        CaptureAnswer(load_capture("openrouter_stream_error"), 1.0),
    ),
    Case("refuse", {"refuse": True}, RefusedConnection()),
    Case("a typo", {"txt": "hi"}, f"{HERE}[0] has an unknown key 'txt' (did you mean 'text'"),
    Case("what it may be", {"x": 1}, "allowed here are text, reasoning, signature"),
    Case("a key of another kind", {"status": 500, "text": "a"}, "unknown key 'text'"),
    Case("no answer", {}, f"{HERE}[0] answers nothing: give it `text`"),
    Case("not an object", 503, f"{HERE}[0] must be an object, got 503"),
    Case("text of a wrong type", {"text": 1}, f"{HERE}[0].text must be a string, got 1"),
    Case("two faults", {"cut": True, "error": 500}, "has error and cut: an answer takes one"),
    Case("after without a fault", {"text": "a", "after": 1}, f"{HERE}[0].after says when a fault"),
    Case("after below 0", {"cut": True, "after": -1}, "must be a whole number, 0 or more, got -1"),
    Case("after by halves", {"cut": True, "after": 1.5}, "must be a whole number"),
    Case("after as a flag", {"cut": True, "after": True}, "must be a whole number"),
    Case("keepalive without a stall", {"text": "a", "keepalive": 1}, "goes only with `stall`"),
    Case("keepalive of 0", {"stall": True, "keepalive": 0}, "must be seconds above 0"),
    Case("chunk of 0", {"text": "a", "chunk": 0}, "must be a whole number, 1 or more, got 0"),
    Case("pace below 0", {"text": "a", "pace": -1}, "must be seconds, 0 or more, got -1"),
    Case("pace without end", {"text": "a", "pace": float("inf")}, "must be seconds"),
    Case("pace of no number", {"text": "a", "pace": float("nan")}, "must be seconds"),
    Case("a flag of a wrong type", {"cut": "yes"}, "must be true, or be left out, got 'yes'"),
    Case("a status of success in a stream", {"error": 200}, "a status from 400 to 599"),
    Case("an error that is true", {"error": True}, f"{HERE}[0].error must be an error object"),
    Case("an unknown type", {"error": "overloaded"}, "did you mean 'overloaded_error'"),
    Case("tool calls in no list", {"tool_calls": {}}, 'must be a list of {"id", "name", "input"}'),
    Case("a call of nothing", {"tool_calls": [{}]}, f"{HERE}[0].tool_calls[0].name is missing"),
    Case("usage in another's words", {"text": "", "usage": {"output_tokens": 1}}, "allowed here"),
    Case("a status of no response", {"status": 101}, "a whole number, from 200 to 599, got 101"),
    Case("a status without a body", {"status": 204}, "a status that may have a body, got 204"),
    Case("a body of a wrong type", {"status": 500, "body": []}, "must be an object or a string"),
    Case("a body of null", {"status": 500, "body": None}, "or be left out, got None"),
    Case("a header of ours", {"status": 500, "headers": {"Content-Length": 1}}, "leave it out"),
    Case("a header with a line end", {"status": 500, "headers": {"a": "b\r\nc: d"}}, "printable"),
    Case("a header's name", {"status": 500, "headers": {"a b": "c"}}, "is no name of a header"),
    Case("a capture's typo", {"capture": "openrouter_stream_eror"}, "'openrouter_stream_error'"),
    Case("a capture's path", {"capture": "../captures/x"}, "there is no capture"),
    Case("refuse that is off", {"refuse": False}, "must be true, or be left out, got False"),
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.id)
def test_parse_answer(case: Case) -> None:
    if isinstance(case.want, str):
        with pytest.raises(ConfigError) as caught:
            Scenario.parse({"answers": {"anthropic/x": [case.answer]}})
        assert case.want in str(caught.value)
    else:
        scenario = Scenario.parse({"answers": {"anthropic/x": [case.answer]}})
        assert scenario.answers == {ROUTE: (case.want,)}


SCENARIOS = [
    Case("nothing", {}, "`answers` is missing"),
    Case("a typo", {"anwers": {}}, "the scenario has an unknown key 'anwers' (did you mean"),
    Case("a title of a wrong type", {"answers": {}, "title": 1}, "title must be a string"),
    Case("answers in a list", {"answers": []}, "answers must be an object, got []"),
    Case("no route", {"answers": {"x": {"text": ""}}}, "answers['x']: a route is written"),
    Case("no answers", {"answers": {"a/x": []}}, "at least one, got []"),
    Case(
        "which of several", {"answers": {"a/x": [{"text": ""}, {"txt": ""}]}}, "answers['a/x'][1]"
    ),
    Case("counts in a list", {"answers": {}, "counts": [1]}, "counts must be an object, got [1]"),
    Case("a count of no route", {"answers": {}, "counts": {"x": 1}}, "counts['x']: a route is"),
    Case(
        "a count in words",
        {"answers": {}, "counts": {"a/x": "many"}},
        "counts['a/x'] must be a number of tokens, or false, got 'many'",
    ),
    Case("true", {"answers": {}, "counts": {"a/x": True}}, "counts.a/x must be a whole number"),
    Case("fewer than none", {"answers": {}, "counts": {"a/x": -1}}, "got -1"),
    Case("never", {"answers": {"a/x": {"text": "", "times": 0}}}, "from 1 to 10000, got 0"),
    Case(
        "a refusal among answers",
        {"answers": {"a/x": [{"refuse": True}, {"text": "hi"}]}},
        "answers['a/x'] refuses the connection, but answers['a/x'] plays an answer",
    ),
    Case(
        "a refusal beside a route of the same provider",
        {"answers": {"a/x": {"refuse": True}, "b/x": {"text": ""}, "a/y": {"text": "hi"}}},
        "answers['a/x'] refuses the connection, but answers['a/y'] plays an answer",
    ),
]


def test_a_route_counts_what_it_is_told_to_or_not_at_all() -> None:
    scenario = Scenario.parse({"answers": {}, "counts": {"a/x": 9, "a/y": False}})

    assert scenario.counts == {Route("a/x"): 9, Route("a/y"): None}


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case.id)
def test_a_scenario_that_cannot_be_played_says_why(case: Case) -> None:
    assert isinstance(case.answer, dict)
    with pytest.raises(ConfigError) as caught:
        Scenario.parse(case.answer)
    assert str(case.want) in str(caught.value)


def test_answers_are_played_in_order_and_the_last_one_for_ever() -> None:
    scenario = Scenario.parse(
        {"answers": {"anthropic/x": [{"status": 503, "times": 2}, {"text": "hi"}]}}
    )

    played = [scenario.answer(ROUTE, number) for number in (1, 2, 3, 4, 50)]

    down, up = StatusAnswer(status=503), ModelAnswer(text="hi")
    assert played == [down, down, up, up, up]


def test_a_route_that_a_scenario_leaves_out_has_no_answer() -> None:
    scenario = Scenario.parse({"answers": {"anthropic/x": {"text": "hi"}}})

    assert scenario.answer(Route("anthropic/y"), 1) is None


def test_an_empty_scenario_answers_every_route_by_its_name() -> None:
    answer = Scenario().answer(Route("any/one"), 7)

    assert isinstance(answer, ModelAnswer)
    assert "any/one" in answer.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "drill.json",
            json.dumps({"title": "t", "turns": [1], "answers": {"a/x": {"text": "hi"}}}),
            id="JSON",
        ),
        pytest.param(
            "drill.toml",
            'title = "t"\nturns = [1]\n[answers]\n"a/x" = [{text = "hi"}]\n',
            id="TOML",
        ),
    ],
)
def test_a_scenario_is_read_from_a_drill(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")

    scenario = Scenario.load(tmp_path / name)

    assert scenario == Scenario({Route("a/x"): (ModelAnswer(text="hi"),)}, title="t")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        pytest.param("a.json", None, "cannot be read", id="no file"),
        pytest.param("a.json", b"{", "if it holds TOML", id="not JSON"),
        pytest.param("a.toml", b"{", "if it holds JSON", id="not TOML"),
        pytest.param("a.json", b"\xff", "not UTF-8", id="not UTF-8"),
        pytest.param("a.json", b"[]", "must hold an object", id="not an object"),
        pytest.param("a.json", b'{"answer": {}}', "a.json: the scenario has", id="a typo"),
    ],
)
def test_a_file_that_holds_no_scenario_is_named(
    tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(ConfigError, match=says) as caught:
        Scenario.load(tmp_path / name)

    assert str(tmp_path / name) in str(caught.value)


def test_every_capture_can_be_played() -> None:
    captures = [load_capture(name) for name in capture_names()]

    assert captures
    assert all(200 <= capture.status < 600 for capture in captures)


WANTED = [
    pytest.param("gemini/a", "named", id="a named route"),
    pytest.param("gemini/b", "its provider's", id="another of the provider"),
    pytest.param("gemini/b/c", "its provider's", id="a name with a slash"),
    pytest.param("groq/a", "any", id="another provider"),
]


@pytest.mark.parametrize(("route", "text"), WANTED)
def test_the_answers_of_the_nearest_name_are_played(route: str, text: str) -> None:
    names = {"*": "any", "gemini/*": "its provider's", "gemini/a": "named"}
    answers = {name: [{"status": 503}, {"text": text}] for name, text in names.items()}
    scenario = Scenario.parse({"answers": answers})

    played = [scenario.answer(Route(route), number) for number in (1, 2, 3)]

    assert isinstance(played[0], StatusAnswer)
    assert played[1:] == [ModelAnswer(text=text)] * 2


def test_a_provider_s_other_routes_are_not_those_of_another() -> None:
    scenario = Scenario.parse({"answers": {"gemini/*": {"text": "a"}}})

    assert scenario.answer(Route("groq/x"), 1) is None
    assert scenario.providers == ("gemini",)


REFUSING = [
    pytest.param({"*": {"refuse": True}}, "name the provider", id="any route"),
    pytest.param({"groq/*": {"refuse": True}, "groq/x": {"text": "a"}}, "refuses the connection",
                 id="all of a provider but one"),
    pytest.param({"*/x": {"text": "a"}, "**": {"text": "a"}}, "a route is written", id="two stars"),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "says"), REFUSING)
def test_a_name_for_many_routes_is_checked_as_one_for_one(
    answers: dict[str, object], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        Scenario.parse({"answers": answers})


def test_all_routes_of_a_provider_may_refuse() -> None:
    scenario = Scenario.parse({"answers": {"groq/*": {"refuse": True}, "*": {"text": "a"}}})

    assert scenario.refused == {"groq"}
