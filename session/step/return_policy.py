"""`returnPolicy`: whether a conversation stays on the route that answered it last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..skip_reason import STAYS_FOR_THE_TURN, STAYS_UNTIL_FAILURE

if TYPE_CHECKING:
    from ...provider.route import Route
    from ..plan.plan import Plan
    from .move_policy import MoveHistory


@dataclass(frozen=True, slots=True)
class KeptRoute:
    """The route on which a conversation stays while that route is healthy.

    Args:
        why: Why the requested route is passed over.
    """

    route: Route
    why: str


def kept_route(history: MoveHistory | None, plan: Plan | None) -> KeptRoute | None:
    """Return where a conversation with *history* stays; None: a step starts as usual."""
    if plan is None or history is None or history.route is None:
        return None
    policy = plan.config.return_policy
    if policy == "turn" and history.turn:
        return KeptRoute(history.route, STAYS_FOR_THE_TURN)
    if policy == "session":
        return KeptRoute(history.route, STAYS_UNTIL_FAILURE)
    return None
