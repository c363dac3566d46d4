"""`movePolicy`: whether a conversation may move to another route."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ...provider.route import Route
from ..plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveHistory:
    """What happened in a conversation before a step, for `movePolicy` and `returnPolicy`.

    Args:
        holds_calls: The conversation holds a tool call or a result.
        tools_run: Names of the tools that ran since the user's last message.
        route: The route that answered last; a conversation that may not move stays there. None:
            no route has answered, and the conversation stays on the requested route.
        turn: *route* answered in the turn that is still running.
        api_key_env: The variable of the key with which that route answered; a step that starts
            there uses it while it is healthy. None: the first key that is healthy.
    """

    holds_calls: bool = False
    tools_run: Sequence[str] | AbstractSet[str] = ()
    route: Route | None = None
    turn: bool = False
    api_key_env: str | None = None

    def __post_init__(self) -> None:
        """Check what would be misread later.

        Raises:
            TypeError: *tools_run* is one text, or holds no names.
            ValueError: *route* is not written ``provider/model``.
        """
        if self.tools_run != ():
            _check_names(self.tools_run)
        if self.route is not None:
            _check_route(self.route)


def _check_route(route: str) -> None:
    if not isinstance(route, Route):
        Route(route)


def _check_names(tools_run: object) -> None:
    is_text = isinstance(tools_run, str)
    if (
        is_text
        or not isinstance(tools_run, Collection)
        or not all(isinstance(name, str) for name in tools_run)
    ):
        raise TypeError(
            f"`tools_run` must be a list of the names of tools, got {tools_run!r}: "
            'write one name as ["read"], and no name as []'
        )


@dataclass(frozen=True, slots=True)
class Pin:
    """Why a conversation may not move.

    Args:
        why: Half a sentence for the person who reads the error.
        tool: The tool that might run twice; None: no single tool is the reason.
    """

    why: str
    tool: str | None = None


def pin(history: MoveHistory | None, plan: Plan | None) -> Pin | None:
    """Return why a conversation with *history* may not move; None: it may."""
    if history is None or plan is None:
        return None
    config = plan.config
    if config.move_policy == "first_call" and history.holds_calls:
        key = plan.spelled("movePolicy")
        return Pin(f"the conversation holds tool calls, and {key} is 'first_call'")
    if config.move_policy == "idempotent":
        for tool in history.tools_run:
            if tool not in config.idempotent_tools:
                key = plan.spelled("idempotentTools")
                return Pin(f"the tool {tool!r} had run and is not in {key}", tool)
    return None
