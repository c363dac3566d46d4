"""The JSON that a coordinator sets."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep import ConfigError, FallbackConfig, Route, Sidestep, load_config
from sidestep.session.plan import config as config_module
from sidestep.session.plan.config import parse_config
from sidestep.session.plan.duplicate_key import duplicate_keys
from sidestep.session.plan.limits import cooldowns_of
from sidestep.session.plan.load import map_plan
from sidestep.session.plan.source import COORDINATOR_VARIABLE, VARIABLE
from sidestep.session.plan.watcher import PlanWatcher

from ...other_words import NAME_TOO_LONG, NO_SUCH_FILE, NOT_A_DIRECTORY

A, B, C = Route("a/x"), Route("b/y/z"), Route("c/w")
MAP = {"a/x": "b/y/z"}


def environ(**settings: Any) -> dict[str, str]:
    return {VARIABLE: json.dumps({"fallbackModelsByModel": MAP} | settings)}


def test_the_contract_of_the_coordinators_is_read_in_full() -> None:
    config = load_config(
        {
            VARIABLE: """{
              "fallbackModelsByModel": {
                "openrouter/anthropic/claude-sonnet-5": "anthropic/claude-sonnet-5",
                "anthropic/claude-sonnet-5":
                  ["openrouter/anthropic/claude-sonnet-5", "gemini/gemini-3-pro"]
              },
              "fallbackOnErrors": [429, 503],
              "maxFallbackAttempts": 4,
              "maxUpstreamRetryAttempts": 3,
              "cooldownSeconds": 90
            }"""
        }
    )

    assert config is not None
    assert config.fallback_models_by_model == {
        "openrouter/anthropic/claude-sonnet-5": ("anthropic/claude-sonnet-5",),
        "anthropic/claude-sonnet-5": (
            "openrouter/anthropic/claude-sonnet-5",
            "gemini/gemini-3-pro",
        ),
    }
    assert config.fallback_on_errors == (429, 503)
    assert config.max_fallback_attempts == 4
    assert config.max_upstream_retry_attempts == 3
    assert config.cooldown_seconds == 90
    assert config.warnings == ()


def test_all_but_the_map_have_defaults() -> None:
    config = load_config(environ())

    assert config is not None
    assert config.model_dump(exclude={"fallback_models_by_model"}) == {
        "fallback_on_errors": (402, 408, 429, 500, 502, 503, 504, 520, 522, 524, 529),
        "max_fallback_attempts": 2,
        "max_upstream_retry_attempts": None,
        "cooldown_seconds": 60,
        "max_cooldown_seconds": 3600,
        "cooldown_backoff": 1.0,
        "max_wait_seconds": None,
        "max_step_wait_seconds": 30,
        "patience_seconds": 0,
        "on_partial": "retract",
        "move_policy": "rebuild",
        "idempotent_tools": (),
        "return_policy": "step",
        "providers": {},
    }


def test_without_a_configuration_cooldowns_are_as_long_as_by_default() -> None:
    assert cooldowns_of(None) == cooldowns_of(map_plan(FallbackConfig(fallback_models_by_model={})))


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(
            FallbackConfig(fallback_models_by_model={A: (B,)}, cooldown_seconds=7), id="in Python"
        ),
        pytest.param(
            parse_config('{"fallback_models_by_model": {"a/x": "b/y/z"}, "cooldown_seconds": 7}'),
            id="snake case",
        ),
        pytest.param(
            parse_config(b'{"fallbackModelsByModel": {"a/x": ["b/y/z"]}, "cooldownSeconds": 7}'),
            id="camel case, a list of one",
        ),
    ],
)
def test_one_configuration_can_be_spelled_in_several_ways(config: FallbackConfig) -> None:
    assert config.fallback_models_by_model == {A: (B,)}
    assert config.cooldown_seconds == 7
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("siblings", "kept", "codes"),
    [
        pytest.param({"a/x": "b/y/z"}, {A: (B,)}, [], id="good"),
        pytest.param({"a/x": ["b/y/z", "c/w"]}, {A: (B, C)}, [], id="a list"),
        pytest.param({"a/x": "b"}, {}, ["C003", "C009"], id="no model"),
        pytest.param({"a/x": "b/"}, {}, ["C003", "C009"], id="an empty model"),
        pytest.param({"a/x": "/b"}, {}, ["C003", "C009"], id="no provider"),
        pytest.param({"a/x": "b /y"}, {}, ["C003", "C009"], id="white space"),
        pytest.param({"a/x": ""}, {}, ["C003", "C009"], id="an empty string"),
        pytest.param({"a/x": 5}, {}, ["C003", "C009"], id="a number"),
        pytest.param({"a/x": None}, {}, ["C003", "C009"], id="null"),
        pytest.param({"a/x": {"b/y/z": 1}}, {}, ["C003", "C009"], id="an object"),
        pytest.param({"a/x": []}, {}, ["C006", "C009"], id="an empty list"),
        pytest.param({"a/x": "a/x"}, {}, ["C004", "C009"], id="itself"),
        pytest.param({"a/x": ["a/x", "b/y/z"]}, {A: (B,)}, ["C004"], id="itself in a list"),
        pytest.param({"a/x": ["b/y/z", "b/y/z"]}, {A: (B,)}, ["C005"], id="one twice"),
        pytest.param({"sonnet": "b/y/z"}, {}, ["C002", "C009"], id="a key without a provider"),
        pytest.param({"": "b/y/z"}, {}, ["C002", "C009"], id="an empty key"),
        pytest.param({}, {}, ["C009"], id="an empty map"),
        pytest.param({"a/x": "b", "c/w": "b/y/z"}, {C: (B,)}, ["C003"], id="the rest stands"),
    ],
)
def test_an_entry_that_cannot_be_used_is_left_out_with_a_warning(
    siblings: dict[str, Any], kept: dict[Route, tuple[Route, ...]], codes: list[str]
) -> None:
    config = parse_config(json.dumps({"fallbackModelsByModel": siblings}))

    assert config.fallback_models_by_model == kept
    assert [warning.code for warning in config.warnings] == codes
    assert all(warning.message and warning.fix for warning in config.warnings)


@pytest.mark.parametrize(
    ("setting", "code", "text"),
    [
        pytest.param(
            {"cooldownSecond": 5}, "C001", "unknown key 'cooldownSecond': write `cooldownSeconds`",
            id="a near miss",
        ),
        pytest.param(
            {"apiKey": "sk-123"}, "C001", "unknown key 'apiKey': remove it", id="something else"
        ),
        pytest.param({"warnings": []}, "C001", "unknown key 'warnings'", id="a name of our own"),
        pytest.param(
            {"CooldownSeconds": 5}, "C001", "'CooldownSeconds': write `cooldownSeconds`",
            id="another case",
        ),
        pytest.param(
            {"cooldownSeconds": 5, "cooldown_seconds": 6}, "C007", "set in two spellings",
            id="two spellings",
        ),
        pytest.param(
            {"idempotentTools": ["read"]}, "C008", "`movePolicy` is not 'idempotent'",
            id="a setting that another would have to go with",
        ),
    ],
)  # fmt: skip
def test_a_key_that_does_nothing_is_a_warning_that_names_it(
    setting: dict[str, Any], code: str, text: str
) -> None:
    config = load_config(environ(**setting))

    assert config is not None
    assert [warning.code for warning in config.warnings] == [code]
    assert text in str(config.warnings[0])
    assert "sk-123" not in str(config.warnings[0])


MAPPED = '"fallbackModelsByModel": {"a/x": "b/y/z"}'


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        pytest.param("{" + MAPPED + "}", [], id="every key once"),
        pytest.param(
            '{"fallbackModelsByModel": {"a/x": "c/w", "a/x": "b/y/z"}}',
            ["`fallbackModelsByModel['a/x']` is written twice, and the last value counts"],
            id="a route",
        ),
        pytest.param(
            '{"fallbackModelsByModel": {"a\\/x": "c/w", "a/x": "b/y/z"}}',
            ["`fallbackModelsByModel['a/x']` is written twice"], id="one that is also escaped",
        ),
        pytest.param(
            '{"cooldownSeconds": 1, "cooldownSeconds": 2, "cooldownSeconds": 60, ' + MAPPED + "}",
            ["`cooldownSeconds` is written 3 times, and the last value counts"], id="a setting",
        ),
        pytest.param(
            '{"fallbackModelsByModel": {"a/x": "c/w", "a/x": "d/v"}, ' + MAPPED + "}",
            ["`fallbackModelsByModel` is written twice"], id="the map, and one in what it hides",
        ),
        pytest.param(
            '{"providers": {"b": {"baseUrl": "http://h", "baseUrl": "http://i"}}, ' + MAPPED + "}",
            ["`providers['b']['baseUrl']` is written twice"], id="a provider's setting",
        ),
        pytest.param(
            '{"maxWaitSeconds": 60, "providers": {"b": {"failures": [{"kind": "quota", '
            '"code": "x", "code": "y"}]}}, ' + MAPPED + ', "maxWaitSeconds": 60}',
            ["`maxWaitSeconds` is written twice", "`providers['b']['failures']['code']`"],
            id="two at once, one of them in a list",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_bytes", [False, True], ids=["a variable", "a file"])
def test_a_key_that_is_written_twice_is_a_warning_that_names_it(
    text: str, warned: list[str], *, as_bytes: bool
) -> None:
    config = parse_config(text.encode() if as_bytes else text)

    assert config.fallback_models_by_model == {A: (B,)}
    assert config.cooldown_seconds == 60
    assert [warning.code for warning in config.warnings] == ["C020"] * len(warned)
    for warning, message in zip(config.warnings, warned, strict=True):
        assert message in str(warning)
        assert str(warning).endswith(": write it once")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("9" * 4300, id="a long number"),
        pytest.param("1e999", id="a number that is too large"),
        pytest.param("[" * 190 + "]" * 190, id="deep lists"),
        pytest.param('{"x":' * 190 + "1" + "}" * 190, id="deep objects"),
        pytest.param(r'"\u0000\ud83d\ude00\u007f\u2028"', id="odd characters"),
    ],
)
def test_the_search_for_keys_that_are_written_twice_refuses_nothing(value: str) -> None:
    config = parse_config('{"x": ' + value + ", " + MAPPED + "}")

    assert config.fallback_models_by_model == {A: (B,)}
    assert [warning.code for warning in config.warnings] == ["C001"]


@given(
    st.recursive(
        st.none() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_has_every_key_once_has_none_twice(value: object) -> None:
    assert duplicate_keys(json.dumps(value)) == []


def test_json_that_is_nested_without_end_has_no_key_twice() -> None:
    assert duplicate_keys('{"x":' * 100_000) == []
    assert duplicate_keys('{"x":' * 100_000 + "1" + "}" * 100_000) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "not JSON (", id="cut short"),
        pytest.param("yes", "not JSON", id="a word"),
        pytest.param(
            "config.json", 'write one JSON object, or "@path" of a file', id="a file without its @"
        ),
        pytest.param('{"a": "\udcff"}', "not JSON (", id="bytes that are no text"),
        pytest.param("[]", "expected one JSON object, got a list", id="a list"),
        pytest.param("null", "expected one JSON object, got null", id="null"),
        pytest.param('"a/x"', "expected one JSON object, got a string", id="a string"),
        pytest.param(
            "{}",
            '`fallbackModelsByModel` is missing: write an object such as {"provider/model":',
            id="no map",
        ),
        pytest.param(
            '{"cooldownSeconds": 5, "fallbackModelByModel": {"a/x": "b/y"}}',
            "`fallbackModelsByModel` is missing: write it in place of 'fallbackModelByModel'",
            id="a map that is spelled wrong",
        ),
        pytest.param(
            '{"fallbackModelsByModel": ["a/x"]}',
            "`fallbackModelsByModel` must be an object such as", id="a list for the map",
        ),
        *(
            pytest.param(
                '{"fallbackModelsByModel": {}, "' + key + '": ' + value + "}",
                f"`{key}` must be a whole number of 0 or more, without quotes, got",
                id=f"{key} {value}",
            )
            for key in (
                "maxFallbackAttempts", "maxUpstreamRetryAttempts", "cooldownSeconds",
                "maxCooldownSeconds", "maxWaitSeconds", "maxStepWaitSeconds", "patienceSeconds",
            )
            for value in ("-1", "1.5", '"60"', "true", "[1]", "1e999", str(10**400))
        ),
        pytest.param(
            '{"fallbackModelsByModel": {}, "cooldownSeconds": null}',
            "`cooldownSeconds` must be a whole number", id="null for a number",
        ),
        *(
            pytest.param(
                '{"fallbackModelsByModel": {}, "fallbackOnErrors": ' + value + "}",
                "must be a list of HTTP statuses such as [429, 503], got", id=f"statuses {value}",
            )
            for value in ("429", '"429"', "null")
        ),
        *(
            pytest.param(
                '{"fallbackModelsByModel": {}, "fallbackOnErrors": ' + value + "}",
                "`fallbackOnErrors[0]` must be an HTTP status such as 503, without quotes, got",
                id=f"a status {value}",
            )
            for value in ('["429"]', "[4.5]", "[true]", "[-1]", "[5033]", "[null]")
        ),
        *(
            pytest.param(
                '{"fallbackModelsByModel": {}, "cooldownBackoff": ' + value + "}",
                "`cooldownBackoff` must be a number of 1 or more, got", id=f"backoff {value}",
            )
            for value in ("0.5", '"2"', "true", "-1")
        ),
        pytest.param(
            '{"fallbackModelsByModel": {}, "cooldownBackoff": NaN}', "not JSON", id="NaN"
        ),
        pytest.param(
            '{"fallbackModelsByModel": {}, "onPartial": "drop"}',
            '`onPartial` must be "retract" or "interrupt", got \'drop\'', id="an unknown choice",
        ),
        pytest.param(
            '{"fallbackModelsByModel": {}, "providers": {"openrouter": {"baseUrl": 5}}}',
            "providers['openrouter'].baseUrl is wrong", id="a provider's setting",
        ),
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_ignored_whole_with_one_error(
    text: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config({VARIABLE: text})
    middleware = Sidestep.from_env({VARIABLE: text})
    for _ in range(3):
        assert middleware.config is None

    assert message in str(caught.value)
    assert str(caught.value).startswith(VARIABLE)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [message in record.getMessage() for record in errors] == [True]


def test_a_key_without_a_text_of_its_own_is_refused_with_the_reason_of_pydantic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(config_module._EXPECTED, "on_partial")

    with pytest.raises(ConfigError, match=r"`onPartial` is wrong \(Input .+\), got 'drop'$"):
        parse_config('{"fallbackModelsByModel": {}, "onPartial": "drop"}')


def test_every_key_has_a_text_of_its_own() -> None:
    checked_elsewhere = {"providers", "warnings"}

    assert FallbackConfig.model_fields.keys() - checked_elsewhere == config_module._EXPECTED.keys()


def test_no_secret_of_a_broken_configuration_is_repeated(caplog: pytest.LogCaptureFixture) -> None:
    text = '{"providers": {"openrouter": {"apiKey": "sk-secret"}}, "fallbackModelsByModel": {}, '

    for broken in (text, text.rstrip(", ") + "}"):
        with pytest.raises(ConfigError) as caught:
            load_config({VARIABLE: broken})
        assert Sidestep.from_env({VARIABLE: broken}).config is None
        assert "sk-secret" not in str(caught.value)
        assert caught.value.__cause__ is None
    assert "sk-secret" not in caplog.text


@pytest.mark.parametrize(
    ("variables", "cooldown"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({VARIABLE: 1}, 1, id="ours"),
        pytest.param({COORDINATOR_VARIABLE: 2}, 2, id="what coordinators inject"),
        pytest.param({VARIABLE: 1, COORDINATOR_VARIABLE: 2}, 1, id="ours before theirs"),
        pytest.param({VARIABLE: "", COORDINATOR_VARIABLE: 2}, None, id="ours set to nothing"),
        pytest.param({VARIABLE: " \n"}, None, id="white space"),
    ],
)
def test_which_variable_counts(variables: dict[str, Any], cooldown: int | None) -> None:
    environment = {
        name: value if isinstance(value, str) else environ(cooldownSeconds=value)[VARIABLE]
        for name, value in variables.items()
    }

    config = load_config(environment)

    assert (config and config.cooldown_seconds) == cooldown


@pytest.mark.parametrize("prefix", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_a_file_is_read_where_the_variable_names_one(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "fallback.json"
    path.write_text(prefix + environ(cooldownSeconds=7)[VARIABLE], encoding="utf-8")

    config = load_config({VARIABLE: f"@{path}"})

    assert config is not None
    assert config.cooldown_seconds == 7


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("missing.json", f"it cannot be read ({NO_SUCH_FILE})", id="missing"),
        pytest.param("", "not a regular file", id="a folder"),
        pytest.param("binary", "not JSON", id="not text"),
        pytest.param("empty", "not JSON", id="empty"),
        pytest.param("x" * 300, f"it cannot be read ({NAME_TOO_LONG})", id="too long a name"),
        pytest.param("binary/below", f"it cannot be read ({NOT_A_DIRECTORY})", id="below a file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").touch()

    with pytest.raises(ConfigError) as caught:
        load_config({VARIABLE: f"@{tmp_path / name}"})

    assert message in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_a_changed_variable_is_read_again_and_clears_every_cooldown() -> None:
    environment = environ(cooldownSeconds=7)
    middleware = Sidestep.from_env(environment)
    assert middleware.config is not None
    middleware.degraded.degrade(A, cooldown=60)

    assert middleware.healthy("a/x") == B

    environment |= environ(cooldownSeconds=8)

    assert middleware.healthy("a/x") == A
    assert middleware.config.cooldown_seconds == 8


def test_a_changed_file_is_read_again_and_clears_every_cooldown(tmp_path: Path) -> None:
    """The second write keeps the size, and comes within the resolution of the file's time."""
    path = tmp_path / "fallback.json"
    path.write_text(environ(cooldownSeconds=7)[VARIABLE])
    middleware = Sidestep.from_env({VARIABLE: f"@{path}"})
    assert middleware.config is not None
    middleware.degraded.degrade(A, cooldown=60)

    path.write_text(environ(cooldownSeconds=8)[VARIABLE])

    assert middleware.config.cooldown_seconds == 8
    assert middleware.degraded.snapshot() == {}


def test_a_file_written_again_within_the_resolution_of_its_time_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fallback.json"
    path.write_text(environ(cooldownSeconds=7)[VARIABLE])
    stamp = (time.time_ns(), time.time_ns(), 1, 1, 1)
    monkeypatch.setattr("sidestep.session.plan.watcher._stamp", lambda _path: stamp)
    reader = PlanWatcher({VARIABLE: f"@{path}"}, wall_clock=lambda: stamp[0] / 1e9)
    seen = [reader.has_changed()]

    path.write_text(environ(cooldownSeconds=8)[VARIABLE])

    assert [*seen, reader.has_changed(), reader.has_changed()] == [True, True, False]


def test_a_file_that_has_settled_is_read_again_only_after_a_change(tmp_path: Path) -> None:
    path, other = tmp_path / "fallback.json", tmp_path / "new.json"
    path.write_text(environ(cooldownSeconds=7)[VARIABLE])
    reader = PlanWatcher({VARIABLE: f"@{path}"}, wall_clock=lambda: time.time() + 10)
    seen = [reader.has_changed(), reader.has_changed()]

    other.write_text(environ(cooldownSeconds=8)[VARIABLE])
    other.replace(path)
    seen += [reader.has_changed(), reader.has_changed()]
    path.unlink()
    seen += [reader.has_changed(), reader.has_changed()]

    assert seen == [True, False, True, False, False, False]


def test_an_unchanged_variable_keeps_the_cooldowns() -> None:
    middleware = Sidestep.from_env(environ())
    assert middleware.config is not None
    middleware.degraded.degrade(A, cooldown=60)

    assert middleware.config is not None
    assert middleware.degraded.is_degraded(A)


def test_zero_swaps_switch_the_feature_off_with_its_retry_cap() -> None:
    middleware = Sidestep.from_env(environ(maxFallbackAttempts=0, maxUpstreamRetryAttempts=1))

    assert middleware.config is None
    assert middleware.limits.max_retries == 5
    assert middleware.limits.max_swaps == 0


def test_without_a_configuration_a_route_is_returned_untouched() -> None:
    middleware = Sidestep.from_env({})
    middleware.degraded.degrade(A, cooldown=60)

    assert middleware.healthy("a/x") == A
