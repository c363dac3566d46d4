"""How large the conversation of a session is: as providers counted it, else as it is estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plan.needs import Counted, Needs

if TYPE_CHECKING:
    from ...provider.conversation import Conversation, Message
    from ...provider.route import Route
    from ..step.middleware import Sidestep
    from .step_requests import Requests
    from .transcript import Transcript


class Sizing:
    """What the steps of a session need, and what was counted of its conversation so far.

    A count holds for the route that made it alone: others have other tokenizers, and are not sent
    the reasoning.

    Args:
        boundary: Where the data of the session may go; None: anywhere.
    """

    def __init__(self, middleware: Sidestep, transcript: Transcript, boundary: str | None) -> None:
        self._middleware = middleware
        self._boundary = boundary
        self._transcript = transcript
        self._counted: dict[Route, Counted] = {}
        self._of = transcript.rewritings

    def needs(self, conversation: Conversation, *, is_own: bool = True) -> Needs | None:
        """Say what a step needs, where that makes a difference to where it may go.

        Args:
            is_own: It begins with what this session said so far.
        """
        plan, boundary = self._middleware.plan, self._boundary
        if boundary is None and (plan is None or not plan.depends_on_needs):
            return None
        counted = self._known() if is_own else {}
        return Needs.of(conversation, boundary=boundary, counted=counted)

    async def count(self, requests: Requests, route: Route) -> int | None:
        """Have the provider of *route* count what a step takes there; None where it does not."""
        tokens = await requests.count(route)
        return None if tokens is None else tokens + requests.longest_answer

    def answered(self, message: Message) -> None:
        """Keep what the provider of *message*, the last one, counted before it, if it did.

        What it counted of the answer itself is of no use: most of its reasoning is not sent again.
        """
        record = message.attempts[-1] if message.attempts else None
        if record is None or record.kind is not None or record.is_estimated:
            return
        if record.input is not None:
            before = len(self._transcript.messages) - 1
            self._known()[record.route] = Counted(record.input, before)

    def _known(self) -> dict[Route, Counted]:
        """Return what was counted; nothing once other messages stand in place of those."""
        if self._of != self._transcript.rewritings:
            self._counted, self._of = {}, self._transcript.rewritings
        return self._counted
