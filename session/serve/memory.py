"""The parts of siblings' answers, because a client cannot hold the proofs of another wire.

Only what a model wrote is kept: no prompt, and no output of a tool.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ...provider.conversation import Message, ToolCall
from ...provider.conversation_json import message_to_json, read_message
from ...provider.error import ConfigError
from ...provider.json_value import mapping, read_json, write_json
from .conversation_hash import ConversationHash, calls_of, hash_of, plain_json, text_of
from .history import begins_turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...provider.conversation import Conversation, Part
    from ...provider.route import Route

MOST_KEYS = 4_096
MOST_BYTES = 64 * 1024 * 1024
LARGEST = 4 * 1024 * 1024
"""Bytes of one answer; a larger one is not kept."""
LONG_ID = 16
"""Characters of an id, without the name of its tool: Kimi's ``functions.read:0`` has fewer."""
LONG_TEXT = 200


class MemoryFile(Protocol):
    """A file that keeps what is remembered for the next process."""

    def load(self) -> Iterable[tuple[str, bytes]]:
        """Return all that is kept, the oldest first."""

    def keep(self, rows: Iterable[tuple[str, bytes]], dropped: Iterable[str]) -> bool:
        """Keep *rows*, and forget the keys in *dropped*; False: nothing could be written."""


class AnswerMemory:
    """Remembers answers by their first call, or by their text where they call nothing.

    Some providers number the calls of every conversation alike, and many answers have the same
    short text. So an answer is found by what was said before it as well. A client may shorten that
    later. Then an answer is found only if no other conversation can have the same.

    Args:
        file: Keeps them for the next process; None: nothing does.
    """

    def __init__(self, file: MemoryFile | None = None) -> None:
        self._file = file
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._named: dict[str, set[str]] = {}  # the keys of the answers with each name
        self._size = 0
        # What the file lacks, and what it has and should not, while it cannot be written.
        self._unsaved: dict[str, None] = {}
        self._unforgotten: set[str] = set()
        if file is not None:
            for key, body in file.load():
                self._put(key, body)
            self._shrink()

    @property
    def is_empty(self) -> bool:
        """True if nothing is remembered."""
        return not self._kept

    def keep(
        self, route: Route, asked: Conversation, parts: Sequence[Part], shown: Sequence[Part]
    ) -> None:
        """Remember the *parts* that *route* answered to the conversation *asked*.

        Args:
            shown: Those that the client was sent; its calls may have other ids.
        """
        answer = Message("assistant", [*parts], route=route)
        ids = [call.id for call in calls_of(shown)]
        body = write_json({"message": message_to_json(answer), "ids": ids})
        before = ConversationHash(asked.messages)
        name = _name(shown, before)
        if name is None or len(body) > LARGEST:
            return
        key = f"{name} {before.digest()}"
        self._put(key, body)
        self._save(key, self._shrink())

    def restore(self, conversation: Conversation) -> list[Route]:
        """Put remembered answers in the place of the client's copies.

        Returns:
            The routes of those in the turn that still runs.
        """
        restored = ConversationHash()
        running: list[Route] = []
        answer: Message | None = None
        for run in _runs(conversation.messages):
            if run[0].role != "assistant":
                if begins_turn(run[0], answer):
                    running.clear()
                restored.messages += run
                continue
            found = self._restored(run, restored)
            running += (message.route for message in found if message.route is not None)
            restored.messages += found
            answer = found[-1]
        conversation.messages = restored.messages
        return running

    def _restored(self, run: list[Message], before: ConversationHash) -> list[Message]:
        """Return the messages in place of *run*, which stand between two of the user."""
        joined = Message("assistant", [part for message in run for part in message.parts])
        whole = self._find(joined, before)
        if whole is not None:
            return [whole]
        found = (self._find(message, before) or message for message in run)
        return list(found) if len(run) > 1 else run

    def _find(self, copy: Message, before: ConversationHash) -> Message | None:
        """Return the remembered answer of which *copy* is the client's, with its results."""
        key = self._key(copy, before)
        if key is None:
            return None
        self._kept.move_to_end(key)
        kept = _read(self._kept[key])
        if kept is None or _outline(kept[0].parts, kept[1]) != _outline(copy.parts):
            return None
        answer = kept[0]
        return replace(answer, parts=_with_results(answer.parts, copy.parts))

    def _key(self, copy: Message, before: ConversationHash) -> str | None:
        """Return the key of the answer of which *copy* may be; None: none, or one of several."""
        name = _name(copy.parts, before)
        keys = () if name is None else self._named.get(name, ())
        if not keys:
            return None
        key = f"{name} {before.digest()}"
        if key in keys:
            return key
        return next(iter(keys)) if len(keys) == 1 and _is_unmistakable(copy.parts) else None

    def _save(self, key: str, dropped: Iterable[str]) -> None:
        """Write the answer with *key* into the file, and what it could not take before."""
        if self._file is None:
            return
        unsaved, kept = self._unsaved, self._kept
        unsaved[key] = None
        self._unforgotten.update(each for each in dropped if each not in unsaved)
        self._unforgotten -= kept.keys()
        self._unsaved = unsaved = {each: None for each in unsaved if each in kept}
        if self._file.keep([(each, kept[each]) for each in unsaved], self._unforgotten):
            unsaved.clear()
            self._unforgotten.clear()

    def _put(self, key: str, body: bytes) -> None:
        self._size += len(body) - len(self._kept.pop(key, b""))
        self._kept[key] = body
        self._named.setdefault(key.rpartition(" ")[0], set()).add(key)

    def _shrink(self) -> list[str]:
        """Forget the oldest answers beyond the bounds, and return their keys."""
        dropped = []
        while len(self._kept) > MOST_KEYS or self._size > MOST_BYTES:
            key, body = self._kept.popitem(last=False)
            self._size -= len(body)
            self._forget_name(key)
            dropped.append(key)
        return dropped

    def _forget_name(self, key: str) -> None:
        name = key.rpartition(" ")[0]
        keys = self._named[name]
        keys.discard(key)
        if not keys:
            del self._named[name]


def _read(body: bytes) -> tuple[Message, list[str]] | None:
    """Return the answer in *body*, and the ids that the client has for its calls.

    None: a file held something else there.
    """
    try:
        kept = mapping(read_json(body))
        answer = read_message(kept.get("message"))
    except (ConfigError, ValueError):
        return None
    ids = kept.get("ids")
    if not isinstance(ids, list) or len(ids) != len(calls_of(answer.parts)):
        return None
    return answer, ids


def _runs(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Yield the messages, those of the model that follow each other together.

    Some clients write one answer as several messages.
    """
    run: list[Message] = []
    for message in messages:
        if message.role == "assistant" and not (run and _has_results(run[-1])):
            run.append(message)
            continue
        if run:
            yield run
        run = [message] if message.role == "assistant" else []
        if message.role != "assistant":
            yield [message]
    if run:
        yield run


def _has_results(message: Message) -> bool:
    """True if a result follows *message*, so that the next message is another answer."""
    return any(call.output is not None for call in calls_of(message.parts))


def _name(parts: Sequence[Part], before: ConversationHash) -> str | None:
    """Return the name of an answer of *parts*; None: it has none, because it is empty."""
    calls = calls_of(parts)
    if calls:
        first = calls[0]
        return f"call {hash_of(f'{first.id} {first.name} {plain_json(first.input)}')}"
    text = text_of(parts)
    return f"text {hash_of(f'{before.question()} {text}')}" if text else None


def _is_unmistakable(parts: Sequence[Part]) -> bool:
    """True if no other conversation has an answer of *parts*, as with an id made by chance."""
    calls = calls_of(parts)
    if not calls:
        return len(text_of(parts)) >= LONG_TEXT
    return len(calls[0].id.replace(calls[0].name, "")) >= LONG_ID


def _outline(
    parts: Sequence[Part], ids: Sequence[str] | None = None
) -> tuple[str, list[tuple[str, str, object]]]:
    """Return what must be the same in an answer and in the client's copy of it.

    Args:
        ids: The ids that the client has for the calls; None: their own.
    """
    calls = calls_of(parts)
    ids = [call.id for call in calls] if ids is None else ids
    return text_of(parts), [
        (id_, call.name, call.input) for id_, call in zip(ids, calls, strict=True)
    ]


def _with_results(parts: Sequence[Part], copy: Sequence[Part]) -> list[Part]:
    """Return *parts* with the results of the calls, which only the client knows, in order."""
    results = iter(calls_of(copy))
    return [
        _with_result(part, next(results)) if isinstance(part, ToolCall) else part for part in parts
    ]


def _with_result(call: ToolCall, copy: ToolCall) -> ToolCall:
    return replace(call, state=copy.state, output=copy.output, is_error=copy.is_error)
