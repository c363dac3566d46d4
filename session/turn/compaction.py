"""Shorten a conversation that is too long: a summary replaces its older steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...provider.conversation import Message, Output, Part, Reasoning, Text, ToolCall
from ...provider.error import ProviderError
from ...provider.failure import FailureKind
from ...provider.json_value import write_json
from ..error import BudgetExceeded, ContextOverflow, StepFailed
from ..plan.needs import CHARACTERS_PER_TOKEN, Needs
from .refused import failures_of

if TYPE_CHECKING:
    from .session import Session


ASK = """\
Summarise the work below so that you could go on with it from the summary alone. Keep what the user
asked for, in the user's words; what was decided and why; which files were read or changed, and how;
what failed; and what is still to be done. Leave out what no longer matters.

"""
HEAD = "Summary of the conversation so far, of which the older part is no longer here:\n\n"

# Most characters that the summary is made from:
_OUTPUT = 1_500  # of the output of one call
_INPUT = 500  # of the arguments of one call
_WHOLE = 400_000  # in total; half of it at each further try, if that is too long
_LEAST = 250  # in total; if that is too long as well, there is no summary
_SUMMARY = 1_000
"""Tokens that a summary may take, as estimated; at most a quarter of the room."""
_SHORTEST = 250
"""Tokens that a summary may always take, because a shorter one would say too little."""

_UNWILLING = frozenset({FailureKind.CONTENT_FILTER, FailureKind.REFUSAL})
"""Failures of any summary of a text; the beginning and the end of the text take its place."""


class Summary:
    """Replace older steps by a summary: pass one as `Session(compact=...)`.

    The summary comes from a side call as text, so that nothing signed is in it. The steps that
    stay lose their reasoning, because its signatures do not hold without the older steps.

    Args:
        keep: How many of the last steps stay; fewer if so many do not fit.
        route: The route that summarises; None: the route of the session.

    Raises:
        ValueError: *keep* is negative.
    """

    def __init__(self, *, keep: int = 3, route: str | None = None) -> None:
        if keep < 0:
            raise ValueError(f"`keep` must be a whole number of 0 or more, got {keep!r}")
        self._keep = keep
        self._route = route

    async def __call__(self, session: Session) -> bool:
        """Shorten the conversation of *session*; False: no step can be summarised."""
        split = self._split(session)
        if split is None:
            return False
        summary = _fitting(session, split, await self._summarise(session, split.older))
        await session.transcript.replace(split.with_summary(summary))
        return True

    def _split(self, session: Session) -> _Split | None:
        """Return which messages to summarise, so that the rest fits; None: there are none.

        If no choice fits, return as many messages as possible.
        """
        messages = [message for message in session.transcript.messages if message.parts]
        found = None
        for keep in range(self._keep, -1, -1):
            split = _Split.at(messages, keep)
            if _holds_steps(split.older) or (not keep and _holds_old_prompts(split.older)):
                found = split
                if _has_room(session, split.with_summary("")):
                    break
        return found

    async def _summarise(self, session: Session, older: Sequence[Message]) -> str:
        text = shorten("\n\n".join(_as_text(message) for message in older), _WHOLE)
        while True:
            try:
                return await session.side_call(ASK + text, messages=(), route=self._route)
            except ContextOverflow as error:
                window = _WHOLE if error.window is None else error.window
                size = min(len(text) // 2, window * CHARACTERS_PER_TOKEN)
                if size < _LEAST:
                    raise
                text = shorten(text, size)
            except (ProviderError, StepFailed) as error:
                if not _is_unwilling(error):
                    raise
                return shorten(text, _SUMMARY * CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class _Split:
    """The messages of a conversation: instructions, steps to summarise, and steps that stay."""

    instructions: Sequence[Message]
    older: Sequence[Message]
    kept: Sequence[Message]

    @classmethod
    def at(cls, messages: Sequence[Message], keep: int) -> _Split:
        """Return *messages* split before the last *keep* steps."""
        start = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
        kept_from = _start_of_kept(messages, start, keep)
        return cls(messages[:start], messages[start:kept_from], messages[kept_from:])

    def with_summary(self, summary: str) -> list[Message]:
        """Return the messages with *summary* in place of the older steps; the prompt stays."""
        kept = [_without_reasoning(message) for message in self.kept]
        prompt = [message for message in self.older if message.role == "user"][-1:]
        if any(message.role == "user" for message in kept):
            prompt = []
        first = Message("user", [Text(HEAD + summary)])
        return [*self.instructions, first, *prompt, *kept]


def _is_unwilling(error: ProviderError | StepFailed) -> bool:
    """True if *error* ends every summary of this text."""
    last = failures_of(error)[-1:]
    return any(each.kind in _UNWILLING for each in last) and not isinstance(error, BudgetExceeded)


def _holds_steps(messages: Sequence[Message]) -> bool:
    return any(message.role == "assistant" for message in messages)


def _holds_old_prompts(messages: Sequence[Message]) -> bool:
    """True if the user said something before the last prompt, which stays.

    A prompt that was too long for every route has no answer. It has to go once the user says
    something else.
    """
    return sum(each.role == "user" and not _is_summary(each) for each in messages) > 1


def _is_summary(message: Message) -> bool:
    first = message.parts[0]
    return isinstance(first, Text) and first.text.startswith(HEAD)


def _has_room(session: Session, messages: list[Message]) -> bool:
    """True if *messages* and a summary fit into `session.room`, or if the room is unknown."""
    if session.room is None:
        return True
    return _tokens(session, messages) + min(_SUMMARY, session.room // 4) <= session.room


def _fitting(session: Session, split: _Split, summary: str) -> str:
    """Return *summary*, shortened if a model wrote more than there is room for.

    It then takes half of the room, because the conversation goes on.
    """
    if session.room is None:
        return summary
    room, size = session.room, -(-len(summary) // CHARACTERS_PER_TOKEN)
    left = room - _tokens(session, split.with_summary(""))
    most = max(left // 2, room // 4, _SHORTEST)
    return summary if size <= max(left, most) else shorten(summary, most * CHARACTERS_PER_TOKEN)


def _tokens(session: Session, messages: list[Message]) -> int:
    """Return the estimated tokens of a request with *messages*, and of its longest answer."""
    return Needs.of(replace(session.conversation, messages=messages)).tokens or 0


def shorten(text: str, size: int) -> str:
    """Return the beginning and the end of *text*, about *size* characters together."""
    if len(text) <= size:
        return text
    half = size // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"


def _start_of_kept(messages: Sequence[Message], start: int, keep: int) -> int:
    """Return the index of the first of the last *keep* steps."""
    steps = [i for i in range(start, len(messages)) if messages[i].role == "assistant"]
    if not keep:
        return len(messages)
    return steps[-keep] if len(steps) >= keep else start


def _as_text(message: Message) -> str:
    return f"{message.role}:\n" + "\n".join(_lines(message))


def _lines(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, ToolCall):
            arguments = shorten(write_json(part.input).decode(), _INPUT)
            yield f"[{part.name} {arguments} -> {part.state}]"
            yield shorten(_text(part.output), _OUTPUT)


def _text(output: Output | None) -> str:
    if output is None or isinstance(output, str):
        return output or ""
    return "\n".join(part.text if isinstance(part, Text) else "[an image]" for part in output)


def _without_reasoning(message: Message) -> Message:
    parts: list[Part] = [part for part in message.parts if not isinstance(part, Reasoning)]
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)
