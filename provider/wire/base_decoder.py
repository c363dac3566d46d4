"""The frame that the decoders of all wires share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic_core import from_json

from ..classify.fact_lookup import kind_of_stop
from ..conversation import Usage
from ..failure import FailureKind
from ..json_value import read_json
from . import stream_error
from .stop_word import is_broken, is_malformed_call, is_proper_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..catalog.provider import Provider
    from ..delta import Delta
    from ..error import ProviderError
    from ..wire_name import Wire


class BaseDecoder:
    """The base of every `Decoder`: it parses an event, and leaves the meaning to `_event`."""

    wire: ClassVar[Wire]

    def __init__(self, provider: Provider) -> None:
        self.model: str | None = None
        self.request_id: str | None = None
        self.usage = Usage()
        self.assumed: list[str] = []
        self.is_done = False
        self.max_output_tokens: int | None = None
        self.follows_results = False
        self.silent_output = 0
        self.unread = 0
        self.stop_count = 0
        self._provider = provider
        self._stop: str | None = None

    @property
    def stop(self) -> str | None:
        """Why the model stopped, in the provider's own word; None: it has not stopped yet."""
        return self._stop

    @property
    def has_reached_limit(self) -> bool:
        """True if the answer has exactly as many tokens as the request allows.

        Some servers, such as vLLM, report a call that was cut so as a finished one.

        Source: github.com/vllm-project/vllm/issues/53269 and /issues/58228.
        """
        return self.max_output_tokens is not None and self.usage.output == self.max_output_tokens

    def _refuse_empty(self, stop: str | None) -> None:
        """Refuse an answer with neither text nor a call, which ended with the word *stop*.

        Right after results of tools such an answer is whole if the model itself ended it.
        """
        if self.assumed or not (self.follows_results and is_proper_end(stop)):
            raise stream_error.empty_answer(stop)

    def decode(self, data: bytes, event: bytes = b"") -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error, or cannot be read.
        """
        try:
            value = from_json(data)
        except ValueError:
            value = self._reread(data)
        try:
            return self._event(value, event, data)
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            raise stream_error.unexpected_shape(
                value, error, provider=self._provider, wire=self.wire
            ) from error

    def take(self, value: Any) -> Sequence[Delta]:
        """Return the deltas of *value*, an event that was read already.

        Raises:
            ProviderError: The event is an error, or cannot be read.
        """
        try:
            return self._event(value, b"", b"")
        except (AttributeError, KeyError, TypeError, IndexError) as error:
            raise stream_error.unexpected_shape(
                value, error, provider=self._provider, wire=self.wire
            ) from error

    def _event(self, value: Any, name: bytes, data: bytes) -> Sequence[Delta]:
        """Return the deltas of *value*, an event parsed from *data*.

        It may raise what reading JSON of an unexpected shape raises.
        """
        raise NotImplementedError

    def _reread(self, data: bytes) -> Any:
        """Return what the strict parser refused; for ``[DONE]`` an empty object.

        Raises:
            ProviderError: It is not JSON.
        """
        if data.strip() == b"[DONE]":  # some servers end with it in wires that do not know it
            self._take_done()
            return {}
        try:
            return read_json(data)
        except ValueError:
            raise stream_error.unreadable(data, self._provider, self.wire) from None

    def _take_done(self) -> None:
        """Note that nothing more comes; this alone does not prove the answer whole."""
        self.is_done = True

    def _skip(self) -> None:
        """Count a piece of output that is not kept; an answer with such a piece is not empty."""
        self.unread += 1
        self.silent_output += 1

    def _take_usage(self, usage: Usage) -> None:
        """Keep the latest count, unless it counts neither input nor output and an earlier did."""
        earlier = self.usage
        counts = usage.input is not None or usage.output is not None
        if counts or (earlier.input is None and earlier.output is None):
            self.usage = usage

    def _error(self, value: object) -> ProviderError:
        """Return the error that the event *value* reports."""
        return stream_error.error_event(value, provider=self._provider, wire=self.wire)

    def _failure_of(self, stop: str | None) -> FailureKind | None:
        """Return the failure that the stop reason *stop* means; None: it means none."""
        if is_malformed_call(stop):
            return FailureKind.TOOL_CALL_MALFORMED
        kind = kind_of_stop(stop, provider=self._provider, wire=self.wire)
        return FailureKind.SERVER_ERROR if kind is None and is_broken(stop) else kind
