"""Chains of causes, slips while handling, and groups."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl

import httpcore
import httpx
import pytest

from sidestep import FailureKind, ProviderError
from sidestep.provider.classify.exception import classify_exception
from sidestep.provider.failure import Failure, Stage

from .exceptions import REFUSED, K, SdkError, caused, raised_while_handling


class ClientOSError(OSError):
    """Python makes no `BrokenPipeError` of a subclass, whatever its number."""


CHAINS = [
    pytest.param(
        [httpx.ConnectError(""), httpcore.ConnectError(""), REFUSED], "refused", id="refused"
    ),
    pytest.param(
        [httpx.ConnectError(""), OSError("all failed"), ExceptionGroup("", [REFUSED])],
        "refused",
        id="refused by every address",
    ),
    pytest.param([httpx.ConnectError(""), socket.gaierror(-2, "x")], "no_such_host", id="no host"),
    pytest.param(
        [httpx.ConnectError(""), ssl.SSLCertVerificationError("x")], "tls", id="certificate"
    ),
    pytest.param([httpx.ReadError(""), ssl.SSLError("x")], "tls", id="TLS while reading"),
    pytest.param([httpx.ReadError(""), ConnectionResetError()], "reset", id="reset"),
    pytest.param([httpx.WriteError(""), BrokenPipeError()], "reset", id="broken pipe"),
    pytest.param(
        [SdkError("Connection error."), httpx.ConnectError(""), REFUSED], "refused", id="SDK"
    ),
    pytest.param([REFUSED], "refused", id="bare refused"),
    pytest.param([ConnectionAbortedError()], "reset", id="bare aborted"),
    pytest.param([OSError(errno.ENETUNREACH, "x")], None, id="no network"),
    pytest.param([OSError(errno.ECONNREFUSED, "x")], "refused", id="by its number"),
    pytest.param([ClientOSError(errno.EPIPE, "x")], "reset", id="a number on a class of its own"),
    pytest.param([ExceptionGroup("", [REFUSED, REFUSED])], "refused", id="a group of addresses"),
]


@pytest.mark.parametrize(("chain", "code"), CHAINS)
def test_the_system_says_why_a_connection_failed(
    chain: list[BaseException], code: str | None
) -> None:
    failure = classify_exception(caused(*chain))

    assert (failure.kind, failure.code) == (K.NETWORK, code)
    assert failure.is_unreachable is (code in {"refused", "no_such_host"})


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("is_wrapped", [True, False], ids=["of a client", "bare"])
def test_a_limit_of_this_process_is_no_failure_of_a_route(number: int, *, is_wrapped: bool) -> None:
    full = OSError(number, "Too many open files")
    failure = classify_exception(caused(httpx.ConnectError("x"), full) if is_wrapped else full)

    assert (failure.kind, failure.status) == (K.UNKNOWN, None)
    assert "ulimit -n" in failure.message


def test_the_error_of_an_earlier_attempt_is_not_taken_for_this_one() -> None:
    def fail() -> None:
        try:
            raise caused(httpx.ConnectError(""), REFUSED)
        except httpx.ConnectError:
            raise httpx.RemoteProtocolError("disconnected") from None

    with pytest.raises(httpx.RemoteProtocolError) as caught:
        fail()

    assert classify_exception(caught.value).code == "reset"


def test_our_own_error_keeps_its_failure() -> None:
    failure = Failure(kind=K.TRUNCATED, message="cut", stage=Stage.END)

    assert classify_exception(caused(RuntimeError(), ProviderError(failure))) is failure


@pytest.mark.parametrize(("links", "kind"), [(15, K.TIMEOUT), (16, K.UNKNOWN)])
def test_sixteen_links_of_a_chain_are_followed(links: int, kind: FailureKind) -> None:
    wrappers = [RuntimeError() for _ in range(links)]

    assert classify_exception(caused(*wrappers, httpx.ReadTimeout("x"))).kind is kind


def test_a_circle_of_causes_ends() -> None:
    first, second = KeyError(), ValueError()
    first.__cause__, second.__cause__ = second, first

    assert classify_exception(first).kind is K.UNKNOWN


def test_what_was_suppressed_is_not_followed() -> None:
    error = KeyError()
    error.__context__, error.__suppress_context__ = REFUSED, True

    assert classify_exception(error).kind is K.UNKNOWN


def test_an_exception_that_resists_is_unknown() -> None:
    class Stubborn(Exception):
        def __str__(self) -> str:
            raise RuntimeError

        @property
        def status_code(self) -> int:
            raise RuntimeError

    assert classify_exception(Stubborn()).message == "Stubborn"


class AgentError(Exception):
    """An agent's own."""


class UnknownRouteError(KeyError):
    """An agent's own, though it is a `KeyError`."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(AgentError("failed"), K.TIMEOUT, id="a wrapper that forgot its `from`"),
        pytest.param(RuntimeError("failed"), K.TIMEOUT, id="a plain wrapper"),
        pytest.param(UnknownRouteError("x"), K.TIMEOUT, id="a class of its own"),
        pytest.param(KeyError("x"), K.UNKNOWN, id="a missing key"),
        pytest.param(AttributeError("x"), K.UNKNOWN, id="a missing attribute"),
        pytest.param(TypeError("x"), K.UNKNOWN, id="a wrong type"),
        pytest.param(AssertionError(), K.UNKNOWN, id="an assertion"),
    ],
)
def test_a_slip_in_the_handling_of_a_failure_is_a_bug(error: Exception, kind: FailureKind) -> None:
    assert classify_exception(raised_while_handling(error, httpx.ReadTimeout("x"))).kind is kind


def test_a_slip_that_names_its_cause_is_followed_to_it() -> None:
    assert classify_exception(caused(KeyError("x"), httpx.ReadTimeout("x"))).kind is K.TIMEOUT


LIMITED = SdkError("x", status_code=429, headers={"retry-after": "20"})
LIMITED_LONGER = SdkError("x", status_code=429, headers={"retry-after": "40"})
NO_KEY = SdkError("x", status_code=401)
DOWN = SdkError("x", status_code=503)
STOPPED = asyncio.CancelledError()


def group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("unhandled errors in a TaskGroup", errors)


@pytest.mark.parametrize(
    ("error", "kind", "status", "retry_after"),
    [
        pytest.param(group(DOWN), K.OVERLOADED, 503, None, id="one"),
        pytest.param(group(STOPPED, DOWN, STOPPED), K.OVERLOADED, 503, None, id="among cancelled"),
        pytest.param(group(STOPPED, STOPPED), K.CANCELLED, None, None, id="all cancelled"),
        pytest.param(group(DOWN, NO_KEY), K.AUTH, 401, None, id="what would come again"),
        pytest.param(group(DOWN, LIMITED), K.RATE_LIMIT, 429, 20.0, id="the longest wait"),
        pytest.param(group(LIMITED, LIMITED_LONGER), K.RATE_LIMIT, 429, 40.0, id="of two waits"),
        pytest.param(group(TimeoutError(), DOWN), K.TIMEOUT, None, None, id="else the first"),
        pytest.param(group(DOWN, KeyError("x")), K.UNKNOWN, None, None, id="a bug"),
        pytest.param(group(KeyError("x"), NO_KEY), K.UNKNOWN, None, None, id="a bug first"),
        pytest.param(group(group(DOWN), group(STOPPED)), K.OVERLOADED, 503, None, id="nested"),
        pytest.param(group(DOWN, group(KeyError("x"))), K.UNKNOWN, None, None, id="a nested bug"),
        pytest.param(caused(AgentError(), group(DOWN)), K.OVERLOADED, 503, None, id="as a cause"),
        pytest.param(group(caused(AgentError(), DOWN)), K.OVERLOADED, 503, None, id="with a cause"),
    ],
)
def test_the_failure_that_counts_in_a_group(
    error: BaseException, kind: FailureKind, status: int | None, retry_after: float | None
) -> None:
    failure = classify_exception(error)

    assert (failure.kind, failure.status, failure.retry_after) == (kind, status, retry_after)
    assert failure.cause is error


def test_a_group_says_which_of_its_errors_is_the_bug() -> None:
    assert classify_exception(group(DOWN, KeyError("x"))).message == "KeyError: 'x'"


def test_a_group_that_is_the_cause_of_what_is_in_it_ends() -> None:
    leaf = AgentError("x")
    leaf.__cause__ = group(leaf)

    assert classify_exception(leaf).kind is K.UNKNOWN


def test_our_own_error_in_a_group_keeps_its_failure() -> None:
    failure = Failure(kind=K.TRUNCATED, message="cut", stage=Stage.END)

    assert classify_exception(group(STOPPED, ProviderError(failure))) is failure
