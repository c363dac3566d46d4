"""The size of a session's conversation in tokens, counted by providers or estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plan.needs import Counted, Needs

if TYPE_CHECKING:
    from ...provider.conversation import Conversation, Message
    from ...provider.route import Route
    from ..step.middleware import Sidestep
    from .transcript import Transcript


class ConversationSize:
    """Return what the steps of a session need, with the counts of providers so far.

    A count holds only for the route that made it, because other routes have other tokenizers
    and are not sent the reasoning.

    Args:
        boundary: Where the data of the session may go; None: anywhere.
    """

    def __init__(self, middleware: Sidestep, transcript: Transcript, boundary: str | None) -> None:
        self._middleware = middleware
        self._boundary = boundary
        self._transcript = transcript
        self._counted: dict[Route, Counted] = {}
        self._counted_at = transcript.replacements

    def needs(self, conversation: Conversation, *, is_own: bool = True) -> Needs | None:
        """Return the needs of a step; None: the plan does not depend on them.

        Args:
            is_own: The conversation begins with the messages of this session.
        """
        plan, boundary = self._middleware.plan, self._boundary
        if boundary is None and (plan is None or not plan.depends_on_needs):
            return None
        counted = self.counts if is_own else {}
        return Needs.of(conversation, boundary=boundary, counted=counted)

    def answered(self, message: Message) -> None:
        """Record the input tokens of *message*, the last answer, as its provider counted them.

        The count of the answer is not used, because most of the reasoning is not sent again.
        """
        record = message.attempts[-1] if message.attempts else None
        if record is None or record.kind is not None or record.is_estimated:
            return
        if record.input is not None:
            before = len(self._transcript.messages) - 1
            self.counts[record.route] = Counted(record.input, before)

    @property
    def counts(self) -> dict[Route, Counted]:
        """The last count of each provider; none once the counted messages have been replaced."""
        if self._counted_at != self._transcript.replacements:
            self._counted, self._counted_at = {}, self._transcript.replacements
        return self._counted
