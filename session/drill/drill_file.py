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
    """What a turn must come to, as the stub received it and as a listener saw it.

    Args:
        answered: The route whose answer it was; None after an error.
        error: The class of what the turn raised; None after an answer.
        text: What a listener is left with; None does not matter.
        requests: ``[route, how many]`` in the order in which the stub received them; None does
            not matter.
        waits: Seconds that must lie at the least between two requests to one route, in order.
        attempts: How many a listener was told of; None: as many as requests were received.
        retracted: Attempts whose parts a listener was told to take back.
        left: Requests whose connection was closed before their answer had ended.
        tools: How often each tool ran; None does not matter.
        steps: The route that answered each step, in order; None does not matter.
        repaired: How many requests were changed because they were refused.
    """

    answered: str | None = None
    error: str | None = None
    text: str | None = None
    requests: tuple[tuple[str, int], ...] | None = None
    waits: tuple[Seconds, ...] = ()
    attempts: int | None = None
    retracted: int = 0
    left: int = 0
    tools: dict[str, int] | None = None
    steps: tuple[str, ...] | None = None
    repaired: int = 0


class DrilledTurn(_Table):
    """One turn of a drill.

    Args:
        pause: Seconds that pass before it.
        expect: None: it must be answered, by whichever route.
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
        output: What it says, whatever it is asked for.
        seconds: How long it takes.
    """

    output: str = "done"
    seconds: Seconds = 0.0


class DrillFile(_Table):
    """What a drill's file holds.

    Args:
        title: What happens, in a sentence.
        route: What the agent asks for: a route, or the name of a chain.
        config: What a coordinator would set; None where *environ* says it.
        environ: Variables to set beside that; ``${STUB}/PROVIDER`` in one is where the stub plays
            that provider, or refuses it.
        answers: What the stub answers on each route, as in a scenario.
        counts: How many tokens a route counts in any request, as in a scenario.
        never_sent: Texts that no request may hold.
        strict: The stub refuses what the real APIs refuse.
        tools: What the agent's tools say, by their names.
        eager: The agent begins a tool as soon as its call is closed.
        reasoning: How much the models are to think; None leaves it to them.
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
