"""The requests of one step: one for each route, repaired if the route refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...provider.client.refused_request import resolved
from ...provider.cure import Change, Cure
from ...provider.failure import FailureKind
from ...provider.route import Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...provider.client.client import Client
    from ...provider.client.rendering import RenderedRequest
    from ...provider.client.reply import Reply
    from ...provider.conversation import Conversation
    from ...provider.failure import Failure

_UNSPEAKABLE = frozenset({Change.LEAVE_OUT_IMAGES, Change.LEAVE_OUT_FILTERED, Change.PLAIN_TEXT})
"""The changes with a detail that no reader understands."""

Cures = dict[Route, tuple[Cure, ...]]


def _known(api_key_env: str | None, rendering: RenderedRequest) -> str | None:
    """Return *api_key_env* if the client's provider has it; the engine may know other providers."""
    return api_key_env if api_key_env in rendering.provider.key_variables else None


class StepRequests:
    """Render and send the requests of one step.

    Args:
        conversation: What every attempt sends; it does not change during the step.
        cures: The cures so far per route; `repair` adds to them. They hold for the whole session,
            because the route would refuse the same again.
        has_tasks: Tools run while the answer is read, and its silence must not cancel them.
        last_key: The variable of the key with which the conversation was answered last.
    """

    def __init__(
        self,
        client: Client,
        conversation: Conversation,
        cures: Cures,
        *,
        has_tasks: bool,
        last_key: str | None = None,
    ) -> None:
        self._is_sheltered = not has_tasks
        self._client = client
        self.conversation = conversation
        self._cures = cures
        self._last_key = last_key
        self._last: RenderedRequest | None = None

    def render(self, route: Route) -> RenderedRequest:
        """Return the request for *route*; a retry sends the same bytes again."""
        if self._last is None or self._last.route != route:
            self._last = None  # freed first, because it may be large
            cures = self._cures.get(route, ())
            self._last = self._client.render(route, self.conversation, cures)
        return self._last

    def send(self, rendering: RenderedRequest, api_key_env: str | None) -> Reply:
        """Send the request that `render` returned, in a task that `run_in_child_task` shelters.

        Args:
            api_key_env: The variable with the key to send; None: the first that is set.
        """
        return self._client.send(
            rendering,
            api_key_env=_known(api_key_env, rendering),
            is_sheltered=self._is_sheltered,
        )

    async def count(self, route: Route) -> int | None:
        """Return the tokens of the request and its longest answer; None: unknown.

        The provider of *route* counts the request.
        """
        rendering = self.render(route)
        key = _known(self._last_key, rendering)
        tokens = await self._client.count(rendering, api_key_env=key)
        longest = self.conversation.settings.max_output_tokens or 0
        return None if tokens is None else tokens + longest

    def repair(self, failure: Failure) -> str | None:
        """Change the request as *failure* asks, and return the change; None: no byte changed."""
        route, cure, refused = failure.route, failure.cure, self._last
        if route is None or cure is None or refused is None or refused.route != route:
            return None
        return self._change(route, resolved(cure, refused.content), refused)

    def send_plain_text(self, failure: Failure) -> str | None:
        """Change the request that was refused last into plain text, as `repair` does.

        None: it is plain text already. A request that is too large must become smaller.
        """
        route, refused = failure.route, self._last
        if route is None or refused is None or refused.route != route:
            return None
        cure = Cure(Change.PLAIN_TEXT, str(len(self.conversation.messages)))
        is_too_large = failure.kind is FailureKind.REQUEST_TOO_LARGE
        return self._change(route, cure, refused, must_be_smaller=is_too_large)

    def leave_out(self, failure: Failure, names: Sequence[str]) -> str | None:
        """Leave out the content of the messages with these *names*; see `message_digest`."""
        route, refused = failure.route, self._last
        if route is None or refused is None or refused.route != route:
            return None
        return self._change(route, Cure(Change.LEAVE_OUT_FILTERED, " ".join(names)), refused)

    def _change(
        self, route: Route, cure: Cure, refused: RenderedRequest, *, must_be_smaller: bool = False
    ) -> str | None:
        cures = (*self._cures.get(route, ()), cure)
        changed = self._client.render(route, self.conversation, cures)
        if changed.content == refused.content:
            return None
        if must_be_smaller and len(changed.content) >= len(refused.content):
            return None
        if not cure.is_for_one_step:
            self._cures[route] = cures
        self._last = changed
        return str(cure.change if cure.change in _UNSPEAKABLE else cure)
