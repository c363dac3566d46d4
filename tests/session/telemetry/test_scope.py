"""A scope and its span, beside those that steps and turns make."""

from __future__ import annotations

import contextvars
import gc

import pytest
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode

from sidestep.session.telemetry.scope import Scope, TaskScope, outer_context

from .seen import Seen


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_the_span_of_a_task_that_was_dropped_ends(seen: Seen) -> None:
    """As of a turn that runs when its event loop is closed."""
    task = contextvars.copy_context()
    task.run(TaskScope(seen.tracer.start_span("turn"), context.get_current()).enter)
    assert seen.open == 1

    del task
    gc.collect()

    assert seen.open == 0


def test_what_is_reported_to_a_scope_goes_to_its_span_until_that_ends(seen: Seen) -> None:
    with seen.tracer.start_as_current_span("outer"):
        scope = Scope(seen.tracer.start_span("inner"), outer_context())
        report(scope, "first")
        scope.leave()
        report(scope, "second")

    inner, outer = seen.only("inner"), seen.only("outer")
    for span, word in ((inner, "first"), (outer, "second")):
        assert span.attributes == {"one": word, "two": word}
        assert [event.name for event in span.events] == [word, "exception"]
        assert span.status.status_code is StatusCode.ERROR


def report(span: trace.Span, word: str) -> None:
    assert span.is_recording()
    span.set_attribute("one", word)
    span.set_attributes({"two": word})
    span.add_event(word)
    span.record_exception(OSError(word))
    span.set_status(StatusCode.ERROR)


def test_only_the_scope_itself_ends_its_span(seen: Seen) -> None:
    scope = Scope(seen.tracer.start_span("inner"), outer_context()).enter()
    trace.get_current_span().end()
    trace.get_current_span().update_name("renamed")

    scope.leave()
    scope.leave()

    assert [span.name for span in seen.spans] == ["renamed"]


def test_a_scope_that_ends_elsewhere_changes_no_context_there(seen: Seen) -> None:
    elsewhere = contextvars.copy_context()
    scope = Scope(seen.tracer.start_span("inner"), outer_context())
    elsewhere.run(scope.enter)
    with seen.tracer.start_as_current_span("here"):
        before = context.get_current()
        scope.leave()

        assert context.get_current() is before

    assert elsewhere.run(outer_context) is scope.outer


def test_what_the_agent_left_attached_in_a_scope_goes_with_it(seen: Seen) -> None:
    before = context.get_current()
    scope = Scope(seen.tracer.start_span("inner"), outer_context()).enter()
    context.attach(trace.set_span_in_context(seen.tracer.start_span("forgotten")))

    scope.leave()

    assert context.get_current() is before
