"""The part of a program in which a span of ours is the current one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import SpanContext
    from opentelemetry.util.types import AnyValue, Attributes

S = TypeVar("S", bound="Scope")

_KEY = context.create_key("sidestep-scope")
(_SPAN_KEY,) = trace.set_span_in_context(trace.INVALID_SPAN, Context())
"""The key of the current span, so that a context is copied once and not for each key."""


class Scope(Span):
    """A span that is the current one until it ends; afterwards the one around it is, everywhere.

    Code of an agent may hold on to the context of an attempt: its generator yields in the attempt,
    and is left, or is closed in another task, so that nobody can put the former context back. What
    is current there is this object. It stands for its span while that is open, and then for the
    span around it, so that no later span gets a parent that has ended.

    Args:
        span: It ends with the scope.
        outer: The context around it, which is put back.
    """

    def __init__(self, span: Span, outer: Context) -> None:
        self.span = span
        self.outer = outer
        self.is_over = False

    def enter(self) -> Self:
        """Make this the current span in the context that runs."""
        context.attach(self.around(self.outer))
        return self

    def around(self, outer: Context) -> Context:
        """Return *outer* with this as the current span."""
        return Context({**outer, _SPAN_KEY: self, _KEY: self})

    def leave(
        self,
        attributes: Mapping[str, AnyValue] | None = None,
        *,
        failed: str | None = None,
        at: int | None = None,
    ) -> None:
        """End the span, and put the former context back where this scope is the current one.

        Args:
            failed: Why the operation failed, in words; None: it did not fail.
            at: Nanoseconds since the epoch.
        """
        if self.is_over:
            return
        self.is_over = True
        if context.get_current().get(_KEY) is self:
            context.attach(self.outer)
        if attributes or failed is not None:
            end_span(self.span, attributes, failed=failed, at=at)
        else:
            self.span.end(at)  # nearly every attempt

    @property
    def _standing_for(self) -> Span:
        return trace.get_current_span(self.outer) if self.is_over else self.span

    def end(self, end_time: int | None = None) -> None:
        """Do nothing, because the scope ends the span."""

    def get_span_context(self) -> SpanContext:
        return self._standing_for.get_span_context()

    def set_attributes(self, attributes: Mapping[str, AnyValue]) -> None:
        self._standing_for.set_attributes(attributes)

    def set_attribute(self, key: str, value: AnyValue) -> None:
        self._standing_for.set_attribute(key, value)

    def add_event(
        self, name: str, attributes: Attributes = None, timestamp: int | None = None
    ) -> None:
        self._standing_for.add_event(name, attributes, timestamp)

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        self._standing_for.add_link(context, attributes)

    def update_name(self, name: str) -> None:
        self._standing_for.update_name(name)

    def is_recording(self) -> bool:
        return self._standing_for.is_recording()

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        self._standing_for.set_status(status, description)

    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        self._standing_for.record_exception(exception, attributes, timestamp, escaped)


def end_span(
    span: Span,
    attributes: Mapping[str, AnyValue] | None = None,
    *,
    failed: str | None = None,
    at: int | None = None,
) -> None:
    """End *span* with *attributes*, even if one of them is refused; see `Scope.leave`."""
    try:
        if attributes:
            span.set_attributes(attributes)
        if failed is not None:
            span.set_status(Status(StatusCode.ERROR, failed))
    finally:
        span.end(at)


class TaskScope(Scope):
    """The scope of a task, which ends with it even if the event loop has dropped the task."""

    def __del__(self) -> None:
        if not self.is_over:
            self.is_over = True
            self.span.end()


def outer_context() -> Context:
    """Return the context that runs, without scopes that are over."""
    present = context.get_current()
    while (scope := scope_in(present)) is not None and scope.is_over:
        if trace.get_current_span(present) is not scope:
            break  # a span of the agent's own is around
        present = scope.outer
    return present


def scope_in(present: Context) -> Scope | None:
    """Return the scope that *present* is in; None: it is in none."""
    # Without `isinstance`, which takes long for an abstract class: only scopes have this key.
    found: Scope | None = present.get(_KEY)  # type: ignore[assignment]
    return found


def scope_of(kind: type[S], present: Context) -> S | None:
    """Return the nearest scope of *kind* that *present* is in; None: it is in none."""
    scope = scope_in(present)
    while scope is not None:
        if type(scope) is kind and not scope.is_over:
            return scope
        scope = scope_in(scope.outer)
    return None
