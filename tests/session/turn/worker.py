"""A model that has jobs done by a tool, each until the conversation says so, and its session.

The model reads in the conversation which jobs were called, and goes on from there, so that a lost
record shows: its job is done twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import anyio.lowlevel
import httpx

from sidestep import Client, Event, FallbackConfig, Route, Session, Sidestep, Tool
from sidestep.provider.catalog.provider import Provider
from sidestep.session.turn.transcript import UNSTARTED

from ...virtual import VirtualClock

A, B = Route("house/model"), Route("other/model")
_JOB = re.compile(r"job-\d+")
_UNSTARTED = re.compile(r"\[[^\n]* -> interrupted]\n" + re.escape(UNSTARTED))


def do(*jobs: int, tool: str = "do") -> list[tuple[str, dict[str, Any]]]:
    """Return calls for *jobs*."""
    return [(tool, {"job": f"job-{number}"}) for number in jobs]


PLAN: Sequence[Sequence[tuple[str, dict[str, Any]]]] = (
    [*do(1, 2, tool="do_beside"), *do(3)],
    [*do(4), *do(5, tool="no_such_tool"), ("do", {"no_such_argument": "job-6"})],
    do(7, 8),
    [*do(9), *do(10, 11, tool="do_beside"), *do(12)],
)
JOBS = [f"job-{number}" for number in (1, 2, 3, 4, 7, 8, 9, 10, 11, 12)]
"""The jobs of the plan that can be done."""
BREAKS_OFF = 2
"""The answer of the plan that breaks off after its first call, once."""


def _event(value: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (str(value["type"]).encode(), json.dumps(value).encode())


def _block(index: int, start: Mapping[str, Any], delta: Mapping[str, Any]) -> Iterator[bytes]:
    yield _event({"type": "content_block_start", "index": index, "content_block": start})
    yield _event({"type": "content_block_delta", "index": index, "delta": delta})
    yield _event({"type": "content_block_stop", "index": index})


def answer(
    text: str, calls: Sequence[tuple[str, dict[str, Any]]] = (), *, breaks_off: bool = False
) -> httpx.Response:
    """Return an answer on Anthropic's wire; *breaks_off*: it ends in an error after a call."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    events = [_event({"type": "message_start", "message": {"model": "m", "usage": usage}})]
    if text:
        events += _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})
    for index, (name, given) in enumerate(calls, 1):
        start = {"type": "tool_use", "id": f"call_{name}_{given}"[:40], "name": name, "input": {}}
        arguments = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        events += _block(index, start, arguments)
        if breaks_off:
            events.append(_event({"type": "error", "error": {"type": "overloaded_error"}}))
            break
    stop = {"stop_reason": "tool_use" if calls else "end_turn"}
    events.append(_event({"type": "message_delta", "delta": stop, "usage": usage}))
    events.append(_event({"type": "message_stop"}))
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, headers=headers, content=b"".join(events))


def _called(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the jobs that were called, but for calls that are said not to have been run."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    results = {b["tool_use_id"]: json.dumps(b) for b in blocks if b["type"] == "tool_result"}
    for block in blocks:
        if block["type"] == "text":
            yield from _JOB.findall(_UNSTARTED.sub("", block["text"]))  # of a summary
        if block["type"] == "tool_use" and UNSTARTED not in results[block["id"]]:
            yield from _JOB.findall(json.dumps(block["input"]))


class Worker:
    """The model, its tools, and a session before them.

    Args:
        options: More arguments of the session.

    Attributes:
        done: The jobs that the tools were asked to do, in order.
        ended: The jobs that they have done.
        requests: The bodies of all requests.
        longest: Messages that a request may have; more are too long for the model.
    """

    def __init__(self, **options: Any) -> None:
        self.done: list[str] = []
        self.ended: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.events: list[Event] = []
        self.in_tool: Callable[[str], None] = lambda _job: None
        self.may_break_off = True
        self.longest = 1_000
        self.options = options
        self.http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        providers = {
            name: Provider(name, "anthropic", "http://h", None) for name in ("house", "other")
        }
        self.client = Client(http=self.http, providers=providers, environ={})
        config = {"fallbackModelsByModel": {A: B, B: A}, "maxUpstreamRetryAttempts": 1}
        self.middleware = Sidestep(FallbackConfig.model_validate(config), clock=VirtualClock())
        self.session = self.open()

    def open(self, **options: Any) -> Session:
        """Return a session on the first route, with *options* beside those of the first session."""
        tools = [Tool(self.do), Tool(self.do, name="do_beside", is_parallel=True)]
        return Session(
            A,
            middleware=self.middleware,
            client=self.client,
            tools=tools,
            system="Do the jobs.",
            on_event=self.events.append,
            **{**self.options, **options},
        )

    async def do(self, job: str) -> str:
        """Do a job."""
        self.done.append(job)
        self.in_tool(job)
        await anyio.lowlevel.checkpoint()
        self.ended.append(job)
        return f"did {job}"

    def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        called = set(_called(body))
        if not body.get("tools"):
            return answer("Called: " + ", ".join(sorted(called)))
        if len(body["messages"]) > self.longest:
            message = "prompt is too long: 210000 tokens > 200000 maximum"
            error = {"type": "invalid_request_error", "message": message}
            return httpx.Response(400, json={"type": "error", "error": error})
        for index, calls in enumerate(PLAN):
            left = [call for call in calls if not called & set(_JOB.findall(json.dumps(call)))]
            if left:
                breaks_off = index == BREAKS_OFF and len(left) == len(calls) and self.may_break_off
                self.may_break_off = self.may_break_off and not breaks_off
                return answer(f"Part {index}.", left, breaks_off=breaks_off)
        return answer("Done.")
