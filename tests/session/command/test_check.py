"""`sidestep check`: its exit status, and what it warns of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ...command import run_command as run

A, B, C = "zai/glm-4.6", "anthropic/claude-sonnet-5", "openai/gpt-5.6"
MAP = {"fallbackModelsByModel": {A: B}}


def within(**boundaries: str | None) -> dict[str, Any]:
    """Return a map of three routes with their providers in *boundaries*."""
    providers = {name: {"boundary": boundary} for name, boundary in boundaries.items() if boundary}
    return {"fallbackModelsByModel": {A: [B, C]}, "providers": providers}


@pytest.mark.parametrize(
    ("more", "retries", "wait"),
    [
        pytest.param({}, "unset: 5, or 2 while a sibling is healthy", "unset: 60", id="unset"),
        pytest.param({"maxUpstreamRetryAttempts": 0, "maxWaitSeconds": 9}, "0", "9", id="set"),
    ],
)
def test_check_says_what_holds_for_a_setting_that_is_missing(
    more: dict[str, int], retries: str, wait: str
) -> None:
    ran = run("check", SIDESTEP_FALLBACK_CONFIG=json.dumps({**MAP, **more}))

    printed = [line.split(maxsplit=1) for line in ran.stdout.splitlines() if line.startswith("  ")]
    shown = {name: value.strip() for name, value in printed}
    assert shown["maxUpstreamRetryAttempts"] == retries
    assert shown["maxWaitSeconds"] == wait


@pytest.mark.parametrize(
    ("config", "status", "message"),
    [
        pytest.param(MAP, 0, None, id="a sibling"),
        pytest.param({"fallbackModelsByModel": {}}, 1, "has no usable entry", id="an empty map"),
        pytest.param(
            {"fallbackModelsByModel": {A: A, "glm": B}}, 1, "has no usable entry",
            id="nothing but wrong entries",
        ),
        pytest.param(MAP | {"maxFallbackAttempts": 0}, 0, None, id="switched off"),
        pytest.param(
            {"fallbackModelsByModel": {}, "maxFallbackAttempts": 0}, 0, None,
            id="empty, and switched off",
        ),
        pytest.param(
            within(zai="eu", anthropic="us", openai="us"), 1,
            f"from '{A}' not to '{B}', because its boundary is 'us', and the step must stay in "
            "'eu'", id="each sibling elsewhere",
        ),
        pytest.param(within(zai="eu"), 1, "its boundary is unknown", id="nobody says where"),
        pytest.param(within(zai="eu", openai="eu"), 0, None, id="one sibling inside"),
        pytest.param(within(anthropic="us", openai="us"), 0, None, id="a route without a boundary"),
        pytest.param(
            within(zai="eu") | {"fallbackModelsByModel": {A: B, B: C}}, 0, None,
            id="another route that can move",
        ),
        pytest.param(
            within(zai="eu") | {"maxFallbackAttempts": 0}, 0, None, id="elsewhere, and switched off"
        ),
    ],
)  # fmt: skip
def test_the_status_is_1_where_a_map_is_set_in_which_nothing_can_move(
    config: dict[str, Any], status: int, message: str | None
) -> None:
    ran = run("check", "--json", SIDESTEP_FALLBACK_CONFIG=config)

    found = json.loads(ran.stdout)
    assert ran.returncode == status
    assert found["error"] is None
    assert (found["stuck"] is None) is (message is None)
    if message is None:
        assert ran.stderr == ""
    else:
        assert message in found["stuck"]
        assert ran.stderr == f"Error: {found['stuck']}\n"


OUTSIDE = [
    pytest.param(
        {"SIDESTEP_FALLBACK_CONFIG": within(zai="eu", anthropic="us", openai="eu")},
        [f"a step that asks for '{A}' must stay in 'eu', as that route, but the boundary of '{B}' "
         "is 'us', so it is never used: name another route there, or remove the sibling"],
        id="a map",
    ),
    pytest.param(
        {"SIDESTEP_FALLBACK_CONFIG": within(zai="eu", openai="eu")},
        [f"a step that asks for '{A}' must stay in 'eu', as that route, but the boundary of '{B}' "
         "is unknown, so it is never used: write the `boundary` of 'anthropic' in "
         "SIDESTEP_PROVIDERS, or remove the sibling"],
        id="a map, of nobody knows where",
    ),
    pytest.param(
        {"SIDESTEP_FALLBACK_CONFIG": within(anthropic="us", openai="eu")}, [], id="a map, inside"
    ),
    pytest.param(
        {
            "SIDESTEP_FALLBACK_CONFIG": MAP,
            "SIDESTEP_PROVIDERS": {"zai": {"boundary": "{eu}"}},
        },
        [f"a step that asks for '{A}' must stay in '{{eu}}', as that route, but the boundary of "
         f"'{B}' is unknown, so it is never used: write the `boundary` of 'anthropic' in "
         "SIDESTEP_PROVIDERS, or remove the sibling"],
        id="a map, by the other variable",
    ),
    pytest.param(
        {
            "SIDESTEP_HINT": "zai,anthropic",
            "SIDESTEP_PROVIDERS": {"zai": {"boundary": "eu"}, "anthropic": {"boundary": "us"}},
        },
        ["a step of the hint must stay in 'eu', as element 1, but the boundary of element 2 is "
         "'us', so it is never used: name another route there, or remove the element"],
        id="a hint",
    ),
    pytest.param(
        {"SIDESTEP_HINT": "zai,anthropic", "SIDESTEP_PROVIDERS": {"anthropic": {"boundary": "us"}}},
        [], id="a hint, with a boundary of the second only",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "messages"), OUTSIDE)
def test_a_link_outside_the_boundary_is_a_warning(
    variables: dict[str, Any], messages: list[str]
) -> None:
    found = json.loads(run("check", "--json", **variables).stdout)

    outside = [each for each in found["warnings"] if each["code"] == "C054"]
    assert [f"{each['message']}: {each['fix']}" for each in outside] == messages


@pytest.mark.parametrize(
    ("variables", "status", "source"),
    [
        pytest.param({"SIDESTEP_FALLBACK_CONFIG": MAP}, 0, "SIDESTEP_FALLBACK_CONFIG", id="a map"),
        pytest.param({"SIDESTEP_HINT": "zai:a,openai:b"}, 0, "SIDESTEP_HINT", id="a hint"),
        pytest.param(
            {"SIDESTEP_HINT": "zai:a,openai:b", "MODEL_FALLBACK_1_BASE_URL": "http://h"},
            2,
            None,
            id="an address as well",
        ),
        pytest.param({}, 2, None, id="nothing else"),
        pytest.param({"SIDESTEP_FALLBACK_CONFIG": ""}, 2, None, id="an empty one"),
    ],
)
def test_a_key_that_belongs_to_somebody_else_is_no_error_beside_another_source(
    variables: dict[str, Any], status: int, source: str | None
) -> None:
    ran = run("check", "--json", MODEL_API_KEY="sk-1234567890", MODEL_FAST="x", **variables)

    assert ran.returncode == status
    if source is not None:
        assert json.loads(ran.stdout)["source"] == source


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        pytest.param({}, "every failure of a route", id="a hint's default"),
        pytest.param({"fallbackOnErrors": [429, 503]}, [429, 503], id="statuses that are set"),
    ],
)
def test_what_moves_the_steps_of_a_hint_is_shown(limits: dict[str, Any], shown: object) -> None:
    ran = run("check", "--json", SIDESTEP_HINT="zai:a,openai:b", SIDESTEP_LIMITS=limits)

    assert json.loads(ran.stdout)["settings"]["fallbackOnErrors"] == shown


def test_a_misspelt_variable_and_a_misspelt_key_are_warnings() -> None:
    ran = run(
        "check", "--model", "zai/GLM-4-6", SIDESTEP_FALLBACK_CONFIG=MAP, SIDESTEP_PROVIDER="{}"
    )

    assert ran.returncode == 0
    assert "C022  'SIDESTEP_PROVIDER' is no variable that sidestep reads: name it " in ran.stdout
    assert (
        f"C023  'zai/GLM-4-6' has no entry in `fallbackModelsByModel`, but '{A}' has" in ran.stdout
    )


@pytest.mark.parametrize("command", ["explain", "render"])
def test_a_configuration_that_is_ignored_is_named_by_every_command_that_reads_it(
    command: str, tmp_path: Any
) -> None:
    file = tmp_path / "file.json"
    file.write_text('{"status": 503, "body": ""}' if command == "explain" else '{"messages": []}')
    options = ["--to", A] if command == "render" else []

    ran = run(command, str(file), *options, SIDESTEP_FALLBACK_CONFIG="{")

    assert ran.returncode == 0
    assert ran.stderr.startswith("ERROR: the fallback configuration is ignored: ")


@pytest.mark.parametrize(
    ("wire", "address", "end"),
    [
        pytest.param("anthropic", "https://h/v1", "/v1", id="a version"),
        pytest.param("anthropic", "https://h/api/v1/messages", "/v1/messages", id="messages"),
        pytest.param(
            "openai-chat", "https://h/v1/chat/completions", "/chat/completions", id="chat"
        ),
        pytest.param("openai-responses", "https://h/v1/responses/", "/responses", id="responses"),
        pytest.param("openai-chat", "https://h/v1/v1", "v1", id="a version twice"),
        pytest.param("gemini", "https://h/v1beta/v1beta/", "v1beta", id="Gemini's twice"),
        pytest.param(
            "gemini", "https://h/v1beta/models/gemini-3-pro", "/models/gemini-3-pro", id="a model"
        ),
        pytest.param(
            "gemini",
            "https://h/v1beta/models/g:streamGenerateContent",
            ":streamGenerateContent",
            id="Gemini's endpoint",
        ),
        pytest.param("openai-chat", "https://h/v1/messages", "/v1/messages", id="Anthropic's"),
        pytest.param(
            "anthropic", "https://h/v1/chat/completions", "/chat/completions", id="chat's"
        ),
        pytest.param("openai-chat", "https://h/v1/responses", "/responses", id="Responses'"),
        pytest.param("anthropic", "https://h/api", None, id="no end of Anthropic's"),
        pytest.param("openai-chat", "https://h/v1", None, id="no end of a chat API's"),
        pytest.param("openai-chat", "https://h", None, id="no path on a host that nobody knows"),
        pytest.param(
            "openai-chat", "https://api.deepseek.com", None, id="DeepSeek, which has none"
        ),
        pytest.param("openai-chat", "https://h/models/v1", None, id="a version of models"),
        pytest.param("openai-chat", "https://h/v1/v2", None, id="two versions"),
    ],
)
def test_a_base_url_that_ends_in_what_is_appended_is_warned_of(
    wire: str, address: str, end: str | None
) -> None:
    config = {"fallbackModelsByModel": {A: "house/m"}}
    providers = {"house": {"wire": wire, "baseUrl": address}}

    ran = run("check", "--json", SIDESTEP_FALLBACK_CONFIG=config, SIDESTEP_PROVIDERS=providers)

    warnings = [each for each in json.loads(ran.stdout)["warnings"] if each["code"] == "C027"]
    assert [repr(end) in each["message"] for each in warnings] == ([True] if end else [])


@pytest.mark.parametrize(
    ("wire", "address", "cure"),
    [
        ("openai-chat", "https://api.openai.com", "https://api.openai.com/v1"),
        ("openai-chat", "https://api.groq.com/", "https://api.groq.com/openai/v1"),
        ("openai-chat", "http://localhost:11434", "http://localhost:11434/v1"),
        (
            "gemini",
            "https://generativelanguage.googleapis.com",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
        ("anthropic", "https://openrouter.ai", "https://openrouter.ai/api"),
    ],
)
def test_a_base_url_without_the_path_of_a_known_host_is_warned_of(
    wire: str, address: str, cure: str
) -> None:
    config = {"fallbackModelsByModel": {A: "house/m"}}
    providers = {"house": {"wire": wire, "baseUrl": address}}

    ran = run("check", "--json", SIDESTEP_FALLBACK_CONFIG=config, SIDESTEP_PROVIDERS=providers)

    (warned,) = [each for each in json.loads(ran.stdout)["warnings"] if each["code"] == "C027"]
    assert "has no path" in warned["message"]
    assert warned["fix"] == f"write {cure}"


def keyed(*variables: str) -> dict[str, Any]:
    """Return a configuration in which one provider has its keys in *variables*."""
    return MAP | {"providers": {"zai": {"apiKeyEnv": list(variables)}}}


KEYS = [
    pytest.param(
        keyed("ONE", "TWO"), {"ONE": "first-key", "TWO": "second-key"},
        {"ONE": True, "TWO": True}, [], id="both are set",
    ),
    pytest.param(
        MAP, {"ZAI_API_KEY": "first-key"}, {"ZAI_API_KEY": True}, [], id="one key, which is set"
    ),
    pytest.param(
        MAP, {}, {"ZAI_API_KEY": False}, [
            "C016 ZAI_API_KEY is not set, so that 'zai' cannot be asked: set it, unless your "
            "agent has the key elsewhere"
        ], id="one key, which is not set",
    ),
    pytest.param(
        keyed("ONE", "TWO"), {"TWO": "second-key"}, {"ONE": False, "TWO": True},
        ["C056 ONE is not set, so that 'zai' has one key fewer: set it, or take it out of "
         "`apiKeyEnv`"], id="only the second is set",
    ),
    pytest.param(
        keyed("ONE", "TWO", "THREE"), {"ONE": "first-key", "TWO": " "},
        {"ONE": True, "TWO": False, "THREE": False}, ["C056 TWO", "C056 THREE"],
        id="one is blank, one is not set",
    ),
    pytest.param(
        keyed("ONE", "TWO", "THREE"), {}, {"ONE": False, "TWO": False, "THREE": False},
        ["C016 neither ONE, TWO nor THREE is set, so that 'zai' cannot be asked: set one, unless"],
        id="none is set",
    ),
    pytest.param(
        keyed("ONE", "TWO"), {"ONE": "first-key", "TWO": "first-key\n"},
        {"ONE": True, "TWO": True},
        ["C057 TWO holds the same key as ONE, so that it replaces no other: set it to another key"],
        id="one key twice",
    ),
    pytest.param(
        keyed("ONE", "TWO", "THREE"), {"ONE": "first-key", "TWO": "first\nkey", "THREE": "third"},
        {"ONE": True, "TWO": True, "THREE": True},
        ["C016 TWO holds characters that no key has: set it to a key of zai"],
        id="one that cannot be sent",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("config", "environ", "keys", "warnings"), KEYS)
def test_check_says_which_keys_are_set_and_never_prints_one(
    config: dict[str, Any], environ: dict[str, str], keys: dict[str, bool], warnings: list[str]
) -> None:
    variables: dict[str, Any] = {
        "SIDESTEP_FALLBACK_CONFIG": config,
        "ANTHROPIC_API_KEY": "another-key",
        **environ,
    }

    ran = run("check", "--json", **variables)
    text = run("check", **variables)

    found = json.loads(ran.stdout)
    shown = [f"{each['code']} {each['message']}: {each['fix']}" for each in found["warnings"]]
    assert found["keys"] == {"zai": keys, "anthropic": {"ANTHROPIC_API_KEY": True}}
    assert len(shown) == len(warnings)
    assert all(map(str.startswith, shown, warnings))
    assert ("keys of zai: " in text.stdout) is (len(keys) > 1)
    for name, is_set in keys.items():
        assert len(keys) == 1 or f"{name} {'is' if is_set else 'is not'} set" in text.stdout
    assert not any(
        key.strip() in ran.stdout + text.stdout for key in environ.values() if key.strip()
    )
