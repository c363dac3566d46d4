"""The form of a drill's file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ...provider.conversation import Effort

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, populate_by_name=True
    )


class Expectation(_Table):
    """What must happen in a turn, as the stub received it and as a listener saw it.

    Args:
        answered: The route that answered; None: the turn failed.
        error: The class of what the turn raised; None: it was answered.
        text: The text that a listener has at the end; None: any.
        requests: ``[route, how many]`` in the order in which the stub received them; None: any.
        keys: The variable of each request's key, in order; None: any.
        at_once: No attempt waits.
        waits: Least seconds between two requests to one route, in order.
        attempts: How many a listener saw; None: as many as the stub received requests.
        retracted: Attempts with a `PartsRetracted`.
        left: Requests with a connection that the client closed before the end of the answer.
        tools: How often each tool ran; None: any.
        steps: The route that answered each step, in order; None: any.
        repaired: How many requests were changed because they were refused.
        patience: Least seconds of each wait for a route to come back, in order.
        cold: How many moves went to a route without a prompt cache; None: any.
    """

    answered: str | None = None
    error: str | None = None
    text: str | None = None
    requests: tuple[tuple[str, int], ...] | None = None
    keys: tuple[str, ...] | None = None
    at_once: bool = False
    waits: tuple[Seconds, ...] = ()
    attempts: int | None = None
    retracted: int = 0
    left: int = 0
    tools: dict[str, int] | None = None
    steps: tuple[str, ...] | None = None
    repaired: int = 0
    patience: tuple[Seconds, ...] = ()
    cold: int | None = None


class DrilledTurn(_Table):
    """One turn of a drill.

    Args:
        pause: Seconds that pass before it.
        expect: None: it must be answered, by any route.
    """

    prompt: str
    pause: Seconds = 0.0
    expect: Expectation | None = None


class Deadlines(_Table):
    """The providers' deadlines, in the drill's own seconds; None leaves the real ones."""

    first_event: Seconds | None = None
    gap: Seconds | None = None


class DrilledTool(_Table):
    """A tool that the drill's agent has.

    Args:
        output: What it returns, whatever its arguments are.
        seconds: How long it takes.
    """

    output: str = "done"
    seconds: Seconds = 0.0


class DrillFile(_Table):
    """What a drill's file holds.

    Args:
        title: What happens, in a sentence.
        route: What the agent asks for: a route, or the name of a chain.
        config: What a coordinator would set; None: *environ* says it.
        environ: Further variables; ``${STUB}/PROVIDER`` in one is the address at which the stub
            plays that provider, or refuses it.
        answers: What the stub answers on each route, as in a scenario.
        counts: How many tokens a route counts in any request, as in a scenario.
        never_sent: Texts that no request may hold.
        strict: The stub refuses what the real APIs refuse.
        tools: The agent's tools, by their names.
        eager: The agent begins a tool as soon as its call is closed.
        reasoning: How much the models think; None: that is left to them.
    """

    title: str
    route: str
    config: dict[str, Any] | None = None
    environ: dict[str, str] = Field(default_factory=dict)
    answers: dict[str, Any]
    counts: dict[str, Any] = Field(default_factory=dict)
    turns: tuple[DrilledTurn, ...] = Field(min_length=1)
    timeouts: Deadlines = Deadlines()
    never_sent: tuple[str, ...] = ()
    strict: bool = False
    tools: dict[str, DrilledTool] = Field(default_factory=dict)
    eager: bool = False
    reasoning: Effort | None = None
