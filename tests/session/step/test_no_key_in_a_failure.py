"""What an agent's own SDK says of a failure may quote a key, which no event and no log shows."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import httpx
import pytest

from sidestep import Attempt, Event, Failure, FailureKind, ProviderError, Sidestep, StepFailed

from ...virtual import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio

PLANTED = {
    "ONE": "planted.one/0123456789",
    "TWO": "planted.two/0123456789",
    "K": "third:0123456789",
    "OF_ANOTHER": "fourth:9876543210",
}
QUOTED = " ".join(PLANTED.values())


def answered(status: int) -> Exception:
    """Return the exception of httpx for an answer that quotes every key."""
    body = {"error": {"message": f"no key: {QUOTED}", "code": PLANTED["ONE"]}}
    response = httpx.Response(
        status, json=body, headers={"x-request-id": PLANTED["TWO"]},
        request=httpx.Request("POST", "http://h"),
    )  # fmt: skip
    return httpx.HTTPStatusError(
        f"{status} for {QUOTED}", request=response.request, response=response
    )


def named(status: int) -> Exception:
    """Return an exception with a failure that the agent names itself."""
    failure = Failure(kind=FailureKind.AUTH, message=QUOTED, status=status, code=PLANTED["ONE"])
    return ProviderError(failure)


@pytest.mark.parametrize("exception", [answered, named], ids=["of an SDK", "of the agent"])
@pytest.mark.parametrize("status", [401, 402, 429, 503])
@pytest.mark.parametrize(
    ("variables", "hidden"),
    [
        pytest.param(["ONE", "TWO", "K"], ["ONE", "TWO", "K"], id="several"),
        pytest.param(["ONE"], ["ONE"], id="a list of one"),
        pytest.param("TWO", ["TWO"], id="one"),
        pytest.param(None, ["OF_ANOTHER"], id="none: that of another provider, by mistake"),
    ],
)
async def test_no_event_log_or_journal_shows_a_key_of_the_provider(
    variables: object,
    hidden: list[str],
    status: int,
    exception: Callable[[int], Exception],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "sidestep")
    house = {"wire": "openai-chat", "baseUrl": "http://h", "apiKeyEnv": variables}
    journal, events = tmp_path / "journal", list[Event]()
    other = {"wire": "openai-chat", "baseUrl": "http://o", "apiKeyEnv": "OF_ANOTHER"}
    environ = PLANTED | {
        "SIDESTEP_PROVIDERS": json.dumps({"house": house, "other": other}),
        "SIDESTEP_FALLBACK_CONFIG": '{"fallbackModelsByModel": {"house/a": "house/b"}}',
        "SIDESTEP_JOURNAL": str(journal),
    }
    middleware = Sidestep.from_env(environ, clock=VirtualClock(), on_event=events.append)

    async def call(_: Attempt) -> None:
        raise exception(status)

    step = middleware.step("house/a")
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the agent's own, or ours
        await step.run(call)

    ours = [str(caught.value)] if isinstance(caught.value, StepFailed) else []
    shown = "\n".join([*map(repr, events), *map(repr, step.attempts), caplog.text, *ours])
    shown += journal.read_text() + repr(middleware.active)
    assert "[key]" in shown
    assert not any(PLANTED[name] in shown for name in hidden)


async def test_a_short_key_hides_no_word() -> None:
    """A key that is made up for a stub, such as ``k``, could be part of any word."""
    house = {"wire": "openai-chat", "baseUrl": "http://h", "apiKeyEnv": ["ONE", "TWO"]}
    environ = {"SIDESTEP_PROVIDERS": json.dumps({"house": house}), "ONE": "k", "TWO": "no"}
    events: list[Event] = []
    middleware = Sidestep.from_env(environ, clock=VirtualClock(), on_event=events.append)

    async def call(_: Attempt) -> None:
        raise ProviderError(Failure(kind=FailureKind.AUTH, message="no key", status=401))

    step = middleware.step("house/a")
    with pytest.raises(ProviderError):
        await step.run(call)

    assert [attempt.failure and attempt.failure.message for attempt in step.attempts] == [
        "no key"
    ] * 2
