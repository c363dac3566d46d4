"""What a configuration says of failures is read before what we know."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestep import ConfigError, FailureKind, FallbackConfig, Route, Sidestep
from sidestep.provider.catalog.catalog import catalog
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.catalog.settings import provider_settings
from sidestep.provider.classify.classify import classify_response

UPSTREAM = {
    "error": {
        "message": "Error from provider (Console Go): Upstream request failed",
        "type": "invalid_request_error",
        "code": "odd code",
    }
}


def knowing(*failures: dict[str, Any], name: str = "openrouter") -> Provider:
    settings = {name: {"failures": list(failures)}}
    return catalog(provider_settings(settings, where="providers"))[name]


@pytest.mark.parametrize(
    ("failure", "status", "is_known"),
    [
        pytest.param({"text": r"Error from provider \(.*\): Upstream"}, 400, True, id="text"),
        pytest.param({"text": "error FROM provider"}, 400, True, id="text, in any case"),
        pytest.param({"text": "Upstream request failed"}, 400, False, id="text inside another"),
        pytest.param({"status": 400}, 400, True, id="status"),
        pytest.param({"status": 400}, 429, False, id="another status"),
        pytest.param({"type": "invalid_request_error"}, 400, True, id="type"),
        pytest.param({"type": "odd code"}, 400, False, id="a code for a type"),
        pytest.param({"code": "odd code"}, 400, True, id="code"),
        pytest.param({"code": "invalid_request_error"}, 400, True, id="a type for a code"),
        pytest.param({"code": "odd"}, 400, False, id="half a code"),
        pytest.param({"status": 400, "code": "odd code", "text": "Err"}, 400, True, id="all"),
        pytest.param({"status": 400, "code": "another"}, 400, False, id="not all"),
    ],
)
def test_a_failure_of_ones_own_is_recognised(
    failure: dict[str, Any], status: int, is_known: bool
) -> None:
    provider = knowing({"kind": "tool_call_malformed", **failure})

    body = json.dumps(UPSTREAM).encode()

    found = classify_response(status, {}, body, provider=provider, wire="openai-chat")

    assert (found.kind is FailureKind.TOOL_CALL_MALFORMED) is is_known
    assert found.because.startswith("`failures` of the configuration: ") is is_known


def test_it_is_read_before_what_we_know_and_the_first_one_counts() -> None:
    provider = knowing({"kind": "overloaded", "status": 402}, {"kind": "auth", "status": 402})
    money = b'{"error":{"type":"insufficient_quota"}}'

    found = classify_response(402, {}, money, provider=provider, wire="openai-chat")

    assert found.kind is FailureKind.OVERLOADED


def test_it_is_of_its_provider_only() -> None:
    knowing({"kind": "overloaded", "status": 402}, name="groq")

    found = classify_response(402, {}, b"", provider=knowing(), wire="openai-chat")

    assert found.kind is FailureKind.QUOTA


def test_it_names_the_exception_of_an_sdk_as_well() -> None:
    """The agent's own call failed, and the configuration knows what with."""
    odd = Exception("400")
    odd.status_code, odd.body = 400, UPSTREAM  # type: ignore[attr-defined]
    failure = {"kind": "server_error", "status": 400, "text": "Error from provider"}
    config = FallbackConfig.model_validate(
        {
            "fallbackModelsByModel": {"openrouter/a": "groq/b"},
            "providers": {"openrouter": {"failures": [failure]}},
        }
    )

    def named(route: str) -> FailureKind:
        return Sidestep(config).failure_of(odd, Route(route)).kind

    assert named("openrouter/a") is FailureKind.SERVER_ERROR
    assert named("groq/b") is FailureKind.BAD_REQUEST


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ({"kind": "busy", "status": 503}, "kind is wrong, got a string: must be one of rate_limit"),
        ({"status": 503}, "kind is missing"),
        ({"kind": "overloaded"}, "must say by what it is recognised"),
        ({"kind": "overloaded", "text": "("}, "text is wrong, got a string: must be a regular"),
        ({"kind": "overloaded", "text": ".*"}, "must not fit an empty message"),
        ({"kind": "overloaded", "text": ""}, "text is wrong"),
        ({"kind": "overloaded", "code": ""}, "code is wrong"),
        ({"kind": "overloaded", "status": "503"}, "status is wrong"),
        ({"kind": "overloaded", "status": 200}, "status is wrong"),
        ({"kind": "overloaded", "regex": "x"}, "is not a setting: use one of kind, status"),
    ],
)
def test_what_cannot_be_is_refused(failure: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        knowing(failure)

    assert str(raised.value).startswith("providers['openrouter'].failures[0]")
    assert told in str(raised.value)
