"""The metrics of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import convention as name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.metrics import Counter, Histogram, Meter
    from opentelemetry.util.types import AnyValue

    from ..event import AttemptCost

_SECONDS = [0.01 * 2**power for power in range(14)]
_AGENT_SECONDS = [0.1 * 2**power for power in range(13)]
_CALLS = [2**power for power in range(8)]
_TOKENS = [4**power for power in range(14)]
"""The boundaries of the buckets, as the conventions advise."""

_UNKNOWN = {name.MODALITY: "unknown"}
"""No provider says of all its tokens whether they are text."""


class Instruments:
    """Record what steps, tools and turns took, in seconds and in tokens."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.step_seconds = self._histogram(
            "gen_ai.client.inference.duration", "s", "How long a step took", _SECONDS
        ).record
        self.first_output_seconds = self._histogram(
            "gen_ai.client.inference.time_to_first_chunk",
            "s",
            "How long a model took until its first output",
            _SECONDS,
        ).record
        self.turn_seconds = self._histogram(
            "gen_ai.invoke_agent.duration", "s", "How long a turn took", _AGENT_SECONDS
        ).record
        self.inference_calls = self._histogram(
            "gen_ai.invoke_agent.inference_calls", "{inference_call}", "Steps of a turn", _CALLS
        ).record
        self.tool_calls = self._histogram(
            "gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls of a turn", _CALLS
        ).record
        self.tool_seconds = self._histogram(
            "gen_ai.execute_tool.duration", "s", "How long a tool took", _SECONDS
        ).record
        self._input, self._output, self._cache_read, self._cache_write = (
            self._counter(f"gen_ai.client.inference.usage.{kind}_tokens", f"Tokens: {words}")
            for kind, words in _KINDS.items()
        )
        self._input_of_one, self._output_of_one = (
            self._histogram(
                f"gen_ai.client.inference.operation.{kind}_tokens",
                "{token}",
                f"Tokens of one request: {_KINDS[kind]}",
                _TOKENS,
            )
            for kind in ("input", "output")
        )

    def count_tokens(
        self, cost: AttemptCost, attributes: Mapping[str, AnyValue], failed: str | None
    ) -> None:
        """Count the tokens of one attempt; what is only estimated counts as 0.

        Args:
            failed: The kind of its failure; None: it answered.
        """
        input_tokens, output_tokens = (0, 0) if cost.is_estimated else (cost.input, cost.output)
        of_kind = {**attributes, **_UNKNOWN}
        self._input.add(input_tokens, of_kind)
        self._output.add(output_tokens, of_kind)
        self._cache_read.add(cost.cache_read or 0, of_kind)
        self._cache_write.add(cost.cache_write or 0, of_kind)
        of_one = attributes if failed is None else {**attributes, name.ERROR_TYPE: failed}
        self._input_of_one.record(input_tokens, of_one)
        self._output_of_one.record(output_tokens, of_one)

    def _histogram(
        self, called: str, unit: str, description: str, boundaries: Sequence[float]
    ) -> Histogram:
        return self._meter.create_histogram(
            called, unit, description, explicit_bucket_boundaries_advisory=boundaries
        )

    def _counter(self, called: str, description: str) -> Counter:
        return self._meter.create_counter(called, "{token}", description)


_KINDS = {
    "input": "sent, with those read from a cache",
    "output": "written by the model",
    "cache_read.input": "read from a cache",
    "cache_write.input": "written to a cache",
}
