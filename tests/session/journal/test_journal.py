"""The file of what happened: what stands in it, what never does, and that no turn ends of it."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sidestep import (
    AttemptFailed,
    ConfigError,
    Event,
    Failure,
    FailureKind,
    Journal,
    ProviderError,
    Route,
    Session,
    Sidestep,
    StepEnded,
    StepStarted,
    Summary,
    TextDelta,
    ToolCallEnded,
    ToolRunEnded,
    TurnEnded,
)
from sidestep.session.journal.line import LONGEST

from ...other_words import IS_A_DIRECTORY, NO_ROOM, NO_SUCH_FILE
from ...virtual import VirtualClock
from ..forked_process import forked_while_held
from ..turn.outage import A, B, Outage

EPOCH = 1_700_000_000.25
AT = "2023-11-14T22:13:20.250Z"
KEY = "sk-" + "a1" * 20


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines() if line]


def told(path: Path) -> list[tuple[int | None, int | None, int | None, str]]:
    """Say of each line but the heads its turn, its step, its attempt and its event."""
    return [
        (line["turn"], line["step"], line["attempt"], line["event"])
        for line in lines(path)
        if "journal" not in line and line["event"] != "AttemptCost"
    ]


def journal(path: Path, **options: Any) -> Journal:
    return Journal(path, wall_clock=lambda: EPOCH, **options)


def failed(
    message: str, kind: FailureKind = FailureKind.SERVER_ERROR, **more: Any
) -> AttemptFailed:
    failure = Failure(kind=kind, message=message, **more)
    return AttemptFailed(step=1, attempt=1, route=A, failure=failure, seconds=1.5)


async def read(path: str) -> str:
    """Read a file."""
    return f"the words in {path}"


@pytest.mark.asyncio
async def test_a_turn_is_on_the_record_with_the_numbers_that_join_its_events(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    calls = {"tool_calls": [{"name": "read", "input": {"path": "a.py"}}]}
    async with Outage({A: [calls, {"status": 503}], B: {"text": "Done."}},
                      session={"tools": [read]}) as outage:  # fmt: skip
        outage.middleware.journal = journal(path, clock=outage.clock)
        await outage.session.turn("Mend it.")

    head, *entries = lines(path)
    session = head["session"]
    assert head == {"journal": 1, "session": session, "at": AT}
    assert {entry["session"] for entry in entries} == {session}
    assert told(path) == [
        (1, 1, None, "StepStarted"),
        (1, 1, 1, "AttemptStarted"),
        (1, 1, 1, "ToolCallEnded"),
        (1, 1, 1, "StepEnded"),
        (1, 1, 1, "ToolRunStarted"),
        (1, 1, 1, "ToolRunEnded"),
        (1, 2, None, "StepStarted"),
        (1, 2, 1, "AttemptStarted"),
        (1, 2, 1, "AttemptFailed"),
        (1, 2, 1, "RouteDegraded"),
        (1, 2, 1, "Swapped"),
        (1, 2, 2, "AttemptStarted"),
        (1, 2, 2, "StepEnded"),
        (1, None, None, "TurnEnded"),
    ]
    swapped = next(entry for entry in entries if entry["event"] == "Swapped")
    assert list(swapped)[:6] == ["at", "session", "turn", "step", "attempt", "event"]
    assert (swapped["from_route"], swapped["route"]) == (A, B)
    assert swapped["failure"]["message"].startswith("No available model provider")
    assert entries[-1] == {
        "at": AT, "session": session, "turn": 1, "step": None, "attempt": None,
        "event": "TurnEnded", "route": B, "requested": A, "error": None, "characters": 5,
        "seconds": 0.0,
    }  # fmt: skip


@pytest.mark.asyncio
async def test_a_side_call_is_written_with_the_turn_that_it_is_made_in(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    async def ask() -> str:
        """Ask aside."""
        return await outage.session.side_call("Is it done?")

    answers = [{"tool_calls": [{"name": "ask", "input": {}}]}, {"text": "Yes."}]
    async with Outage({A: answers, B: {"text": "."}}, session={"tools": [ask]}) as outage:
        outage.middleware.journal = journal(path)
        await outage.session.turn("Mend it.")
        await outage.session.side_call("And now?")

    assert [entry[:2] for entry in told(path) if entry[3] == "StepStarted"] == [
        (1, 1), (1, 2), (1, 3), (None, 4),
    ]  # fmt: skip
    assert (1, 1, 1, "ToolRunEnded") in told(path)


@pytest.mark.asyncio
async def test_a_conversation_made_shorter_and_a_turn_that_fails_are_on_the_record(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    too_long = {
        "status": 400,
        "body": {"error": {"message": "This endpoint's maximum context length is 8 tokens",
                           "code": 400}},
    }  # fmt: skip
    answers = [{"text": "One."}, too_long, {"text": "Summary."}, {"status": 401}]
    async with Outage({A: answers, B: {"status": 401}}, maxFallbackAttempts=0,
                      session={"compact": Summary(keep=0)}) as outage:  # fmt: skip
        outage.middleware.journal = journal(path)
        await outage.session.turn("First.")
        with pytest.raises(ProviderError):
            await outage.session.turn("Second.")

    assert (2, None, None, "Compacted") in told(path)
    ended = lines(path)[-1]
    assert (ended["event"], ended["error"], ended["characters"]) == (
        "TurnEnded",
        "ProviderError",
        0,
    )


@pytest.mark.asyncio
async def test_an_agent_of_ones_own_has_its_steps_on_the_record(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    heard: list[Event] = []
    middleware = Sidestep(journal=path, on_event=heard.append, clock=VirtualClock())

    async def call(attempt: object) -> str:
        return "fine"

    await middleware.step(A).run(call)
    assert middleware.journal is not None
    middleware.journal.close()
    await middleware.step(A).run(call)

    assert told(path) == [
        (None, 1, None, "StepStarted"), (None, 1, 1, "AttemptStarted"), (None, 1, 1, "StepEnded"),
    ]  # fmt: skip
    assert len(heard) == 6


def test_nothing_that_was_said_is_written(tmp_path: Path) -> None:
    path, said = tmp_path / "journal.jsonl", "the words"
    error = {"class": "ValueError", "message": said}
    bug = failed(f"ValueError: {said}", FailureKind.UNKNOWN, cause=ValueError(said))
    with journal(path) as write:
        for event in (
            TextDelta(said), ToolCallEnded("1", "read", {"path": said}), bug,
            ToolRunEnded("1", "read", "completed", said), TurnEnded(said, A, A, error),
            StepEnded(1, A, A, 1, 0, f"ValueError: {said}"),
        ):  # fmt: skip
            write(event)

    assert said not in path.read_text()
    assert [entry["event"] for entry in lines(path)[1:]] == [
        "ToolCallEnded", "AttemptFailed", "ToolRunEnded", "TurnEnded", "StepEnded",
    ]  # fmt: skip
    assert lines(path)[2]["failure"]["message"] == "ValueError"
    assert [line["error"] for line in lines(path)[-2:]] == ["ValueError", "ValueError"]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        pytest.param("bad key hunter22-of-mine", "bad key [key]", id="one in the environment"),
        pytest.param("bad key hunter22-of…", "bad key [key]", id="the beginning of it"),
        pytest.param(f"Illegal header 'Bearer {KEY}'", "Illegal header 'Bearer [key]'", id="any"),
        pytest.param("bad key hunter33-of-mine", "bad key [key]", id="the second of some"),
        pytest.param("bad key hunter44-of-mine", "bad key [key]", id="a password, for short"),
        pytest.param("the model is busy", "the model is busy", id="none"),
    ],
)
def test_no_key_is_written(message: str, written: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    environ = {
        "HOUSE_API_KEY": "hunter22-of-mine", "EMPTY_KEY": "", "SHORT_KEY": "key",
        "HOUSE_API_KEY_2": "hunter33-of-mine", "DB_PASSWD": "hunter44-of-mine",
    }  # fmt: skip
    with journal(path, environ=environ) as write:
        write(failed(message))

    assert lines(path)[1]["failure"]["message"] == written


@pytest.mark.asyncio
async def test_a_real_turn_writes_neither_prompt_nor_tool_output_nor_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_API_KEY", "hunter22-of-mine")
    path = tmp_path / "journal.jsonl"
    calls = {"reasoning": "a thought", "tool_calls": [{"name": "read", "input": {"path": "a.py"}}]}
    refusal = {"status": 401, "body": {"error": {"message": "no such key hunter22-of-mine"}}}
    async with Outage({A: [calls, refusal], B: {"text": "an answer"}}, fallbackOnErrors=[401],
                      session={"tools": [read], "system": "be good"}) as outage:  # fmt: skip
        outage.middleware.journal = Journal(path)
        await outage.session.turn("the prompt")

    written = path.read_text()
    assert "no such key [key]" in written
    for said in ("the prompt", "the words", "a.py", "an answer", "a thought", "be good", "hunter"):
        assert said not in written


def test_a_line_that_is_too_long_is_cut_in_its_texts_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with journal(path) as write:
        write(failed("é" * 5000, code="c" * 5000))
        write(StepStarted(1, Route(f"a/{'m' * 9000}"), B))

    written = path.read_bytes().splitlines(keepends=True)[1:]
    first, second = map(json.loads, written)
    assert all(len(line) <= LONGEST for line in written)
    assert (first["cut"], first["failure"]["kind"], first["session"]) == (
        True, "server_error", write.session,
    )  # fmt: skip
    assert first["failure"]["message"].endswith("é…")
    assert (second["cut"], second["route"]) == (True, B)


def test_what_json_cannot_hold_is_written_as_what_it_can(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with journal(path) as write:
        write(failed("half a pair: \ud83d, and\na line", retry_after=float("inf")))

    failure = lines(path)[1]["failure"]
    assert (failure["message"], failure["retry_after"]) == ("half a pair: ?, and\na line", None)


def test_a_journal_is_its_owners_and_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for _ in range(2):
        with journal(path) as write:
            write(StepStarted(1, A, A))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first, second = (line["session"] for line in lines(path) if "journal" in line)
    assert first != second
    assert len(lines(path)) == 4


def test_nothing_is_written_before_something_happens(tmp_path: Path) -> None:
    journal(tmp_path / "journal.jsonl").close()

    assert (tmp_path / "journal.jsonl").read_bytes() == b""


def test_a_line_that_a_crash_cut_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"at": "20')
    with journal(path) as write:
        write(StepStarted(1, A, A))

    assert [line[:8] for line in path.read_text().splitlines()] == [
        '{"at": "',
        '{"journa',
        '{"at":"2',
    ]


def test_a_fork_has_a_part_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    with journal(path) as write:
        write(StepStarted(1, A, A))
        monkeypatch.setattr(os, "getpid", lambda: -1)
        write(StepStarted(1, A, A))

    assert len({line["session"] for line in lines(path)}) == 2
    assert ["journal" in line for line in lines(path)] == [True, False, True, False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
def test_a_fork_writes_though_a_thread_of_its_parent_was_writing(tmp_path: Path) -> None:
    with journal(path := tmp_path / "journal.jsonl") as write:
        write(StepStarted(1, A, A))
        write._is_writing = True
        assert forked_while_held(write._lock, lambda: write(StepStarted(2, A, A)) is None)  # type: ignore[func-returns-value]
        write._is_writing = False

    assert ["journal" in line for line in lines(path)] == [True, False, True, False]


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_threads_may_share_a_journal(tmp_path: Path, whole: bool) -> None:
    """Without a lock 19 of 60 journals had two heads."""
    threads, steps = 8, 20

    def write(to: Journal, barrier: threading.Barrier, first: int) -> None:
        barrier.wait()
        for number in range(first, first + steps):
            to(StepStarted(number, A, A))

    for each in range(60 if whole else 20):
        path, barrier = tmp_path / f"{each}.jsonl", threading.Barrier(threads)
        with journal(path) as to, ThreadPoolExecutor(threads) as pool:
            for thread in range(threads):
                pool.submit(write, to, barrier, thread * steps)

        head, *rest = lines(path)
        assert "journal" in head
        assert sorted(line["step"] for line in rest) == list(range(threads * steps))
        assert {line["session"] for line in rest} == {head["session"]}
        for thread in range(threads):
            own = [line["step"] for line in rest if line["step"] // steps == thread]
            assert own == sorted(own)


def test_an_event_that_comes_up_while_a_line_is_written_is_written_after_it(
    tmp_path: Path,
) -> None:
    """The collector may end a step at any moment, and so in the middle of a line."""
    path = tmp_path / "journal.jsonl"

    def time() -> float:
        if len(nested) < 2:
            nested.append(True)
            write(StepEnded(len(nested), A, A, 1, 0, None))
        return EPOCH

    nested: list[bool] = []
    with Journal(path, wall_clock=time) as write:
        write(StepStarted(9, A, A))

    head, *rest = lines(path)
    assert "journal" in head
    assert [(line["event"], line["step"]) for line in rest] == [
        ("StepStarted", 9), ("StepEnded", 1), ("StepEnded", 2),
    ]  # fmt: skip


WRITER = """
import sys
from sidestep import Journal, Route, StepStarted
with Journal(sys.argv[1]) as journal:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(1, 501):
        journal(StepStarted(number, Route("a/" + "m" * 900), Route("b/" + "n" * 900)))
"""


def test_two_processes_may_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]  # fmt: skip
    for each in writers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in writers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [(each.communicate(timeout=60), each.returncode)[1] for each in writers] == [0, 0]

    sessions = {line["session"] for line in lines(path)}
    steps = [
        [x["step"] for x in lines(path) if x["session"] == s and "step" in x] for s in sessions
    ]
    assert steps == [list(range(1, 501))] * 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
@pytest.mark.asyncio
async def test_a_full_disk_is_logged_once_and_ends_no_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Outage({A: {"text": "Done."}}) as outage:
        outage.middleware.journal = Journal("/dev/full")
        ended = await outage.session.turn("Mend it.")

    assert ended.text == "Done."
    (record,) = [each for each in caplog.records if "journal" in each.getMessage()]
    assert record.levelno == logging.ERROR
    assert f"'/dev/full' cannot be written ({NO_ROOM})" in record.getMessage()


def test_lines_that_were_lost_are_counted_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write_to = tmp_path / "journal.jsonl", os.write
    with journal(path) as write:
        write(StepStarted(1, A, A))
        monkeypatch.setattr(os, "write", lambda file, data: write_to(file, data[:9]))
        write(StepStarted(2, A, A))
        monkeypatch.setattr(os, "write", refuse(OSError(errno.ENOSPC, NO_ROOM)))
        write(StepStarted(3, A, A))
        monkeypatch.setattr(os, "write", write_to)
        write(StepStarted(4, A, A))

    *_, cut, lost, last = path.read_text().splitlines()
    assert len(cut) == 9
    assert (json.loads(lost)["event"], json.loads(lost)["lines"]) == ("LinesLost", 2)
    assert json.loads(last)["step"] == 4


def refuse(error: Exception) -> Callable[..., int]:
    def write(*_: object) -> int:
        raise error

    return write


def test_a_pipe_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    with pytest.raises(ConfigError, match=os.strerror(errno.ENXIO)):
        Journal(path)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param(".", IS_A_DIRECTORY, id="a folder"),
        pytest.param("none/journal.jsonl", NO_SUCH_FILE, id="in no folder"),
        pytest.param("a\0b", ".", id="no name"),
        pytest.param("", IS_A_DIRECTORY, id="no name at all"),
    ],
)
def test_a_file_that_cannot_be_opened_is_told_at_once(
    name: str, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"{tmp_path}/{name}"

    with pytest.raises(ConfigError, match=rf"cannot be opened \(.*{why}.*\): name a file"):
        Sidestep.from_env({}, journal=path)

    assert Sidestep.from_env({"SIDESTEP_JOURNAL": path}).journal is None
    assert "SIDESTEP_JOURNAL is ignored: the journal" in caplog.text


@pytest.mark.parametrize(
    ("variables", "given", "used"),
    [
        pytest.param({}, None, None, id="neither"),
        pytest.param({"SIDESTEP_JOURNAL": " "}, None, None, id="an empty variable"),
        pytest.param({"SIDESTEP_JOURNAL": "a"}, None, "a", id="the variable"),
        pytest.param({"SIDESTEP_JOURNAL": "~/a"}, None, "a", id="at home"),
        pytest.param({"SIDESTEP_JOURNAL": "a"}, "b", "b", id="the argument goes before it"),
    ],
)
def test_where_the_journal_is(
    variables: dict[str, str], given: str | None, used: str | None, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    middleware = Sidestep.from_env(variables, journal=given)

    assert (None if middleware.journal is None else Path(middleware.journal.path).name) == used
    assert [path.name for path in tmp_path.iterdir()] == ([] if used is None else [used])


@pytest.mark.asyncio
async def test_a_session_without_a_journal_writes_nothing(tmp_path: Path) -> None:
    async with Outage({A: {"text": "Done."}}) as outage:
        assert isinstance(outage.session, Session)
        await outage.session.turn("Mend it.")

    assert outage.middleware.journal is None
