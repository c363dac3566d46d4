from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sidestep import ConfigError
from sidestep.provider.catalog.catalog import catalog, providers_from_env
from sidestep.provider.catalog.provider import Timeouts
from sidestep.provider.catalog.settings import ProviderSettings, provider_settings

if TYPE_CHECKING:
    from pathlib import Path


def changed(**settings: object) -> dict[str, ProviderSettings]:
    return provider_settings({"openrouter": settings}, where="providers")


def test_the_catalog_knows_the_providers_of_every_wire() -> None:
    known = catalog()

    assert {provider.name: provider.wire for provider in known.values()} == {
        "anthropic": "anthropic",
        "openai": "openai-responses",
        "gemini": "gemini",
        **dict.fromkeys(("openai-chat", "openrouter", "groq", "cerebras"), "openai-chat"),
        **dict.fromkeys(("mistral", "deepseek", "zai", "moonshot", "minimax"), "openai-chat"),
        **dict.fromkeys(("xai", "ollama", "lmstudio", "llamacpp", "vllm"), "openai-chat"),
        **dict.fromkeys(("openrouter-anthropic", "deepseek-anthropic"), "anthropic"),
        **dict.fromkeys(("zai-anthropic", "moonshot-anthropic"), "anthropic"),
        "minimax-anthropic": "anthropic",
    }
    assert known["anthropic"].timeouts == Timeouts(connect=10, first_event=120, gap=60)
    local = {p.name: p.base_url for p in known.values() if p.base_url.startswith("http://")}
    assert local == {
        "ollama": "http://localhost:11434/v1",
        "lmstudio": "http://localhost:1234/v1",
        "llamacpp": "http://localhost:8080/v1",
        "vllm": "http://localhost:8000/v1",
    }
    assert {p.name for p in known.values() if not p.key_variables} == set(local)


def test_an_override_changes_what_it_names_only() -> None:
    providers = catalog(changed(baseUrl="http://127.0.0.1:8503/api/v1/", timeouts={"gap": 5}))

    ours = providers["openrouter"]
    assert ours.base_url == "http://127.0.0.1:8503/api/v1"
    assert ours.api_key_env == "OPENROUTER_API_KEY"
    assert ours.timeouts == Timeouts(connect=10, first_event=120, gap=5)


@pytest.mark.parametrize(
    "settings",
    [
        {
            "baseUrl": "http://h",
            "apiKeyEnv": "K",
            "contextWindow": 9,
            "timeouts": {"firstEvent": 1.5},
        },
        {
            "base_url": "http://h",
            "api_key_env": "K",
            "context_window": 9,
            "timeouts": {"first_event": 1.5},
        },
    ],
    ids=["camelCase", "snake_case"],
)
def test_both_spellings_are_read(settings: dict[str, object]) -> None:
    ours = catalog(changed(**settings, boundary="us"))["openrouter"]

    assert (ours.base_url, ours.api_key_env, ours.context_window) == ("http://h", "K", 9)
    assert (ours.boundary, ours.timeouts.first_event) == ("us", 1.5)


@pytest.mark.parametrize(
    ("settings", "configured", "variables"),
    [
        pytest.param({}, "OPENROUTER_API_KEY", ("OPENROUTER_API_KEY",), id="left out: as known"),
        pytest.param({"apiKeyEnv": None}, None, (), id="null means that none is needed"),
        pytest.param({"apiKeyEnv": "MY_KEY"}, "MY_KEY", ("MY_KEY",), id="a name"),
        pytest.param({"api_key_env": "MY_KEY"}, "MY_KEY", ("MY_KEY",), id="a name, snake_case"),
        pytest.param({"apiKeyEnv": ["A"]}, ("A",), ("A",), id="a list of one"),
        pytest.param(
            {"apiKeyEnv": ["B", "A"]}, ("B", "A"), ("B", "A"), id="a list keeps its order"
        ),
        pytest.param({"api_key_env": ["A", "B"]}, ("A", "B"), ("A", "B"), id="a list, snake_case"),
        pytest.param({"apiKeyEnv": ("A", "a")}, ("A", "a"), ("A", "a"), id="a tuple, in two cases"),
    ],
)
def test_the_key_variables(
    settings: dict[str, object], configured: object, variables: tuple[str, ...]
) -> None:
    ours = catalog(changed(**settings))["openrouter"]

    assert ours.api_key_env == configured
    assert ours.key_variables == variables


@pytest.mark.parametrize(
    ("settings", "capabilities", "says"),
    [
        pytest.param({}, None, False, id="nothing is said"),
        pytest.param({"capabilities": []}, set(), True, id="none"),
        pytest.param({"capabilities": ["images"]}, {"images"}, True, id="one"),
        pytest.param({"contextWindow": 9}, None, True, id="a window"),
        pytest.param({"boundary": "eu"}, None, True, id="a boundary"),
    ],
)
def test_what_a_provider_takes(
    settings: dict[str, object], capabilities: set[str] | None, says: bool
) -> None:
    ours = catalog(changed(**settings))["openrouter"]

    assert ours.capabilities == capabilities
    assert ours.has_limits is says


def test_a_provider_can_be_added() -> None:
    added = provider_settings(
        {"mine": {"wire": "anthropic", "baseUrl": "https://h/anthropic"}}, where="providers"
    )

    ours = catalog(added)["mine"]

    assert (ours.wire, ours.base_url, ours.api_key_env) == (
        "anthropic",
        "https://h/anthropic",
        None,
    )


REFUSED = [
    pytest.param({"x": 1}, "['x'] must be a table of settings, got 1", id="not an object"),
    pytest.param([], "providers must be a table of settings, got a list", id="a list"),
    pytest.param({"x": {"apiKey": "sk-1"}}, "['x'].apiKey is not a setting", id="unknown key"),
    pytest.param({"x": {"timeouts": {"gap": 0}}}, ".timeouts.gap is wrong, got 0", id="zero"),
    pytest.param({"x": {"timeouts": {"gap": -1}}}, "got -1", id="negative"),
    pytest.param({"x": {"timeouts": {"gap": True}}}, "got True", id="bool"),
    pytest.param({"x": {"timeouts": {"gap": "9"}}}, "got a string", id="number in a string"),
    pytest.param({"x": {"timeouts": {"gap": float("inf")}}}, "got inf", id="infinite"),
    pytest.param({"x": {"timeouts": {"gap": float("nan")}}}, "got nan", id="not a number"),
    pytest.param(
        {"x": {"timeouts": {"idle": 1}}}, "connect, firstEvent, gap", id="unknown timeout"
    ),
    pytest.param(
        {"x": {"contextWindow": 9, "context_window": 9}},
        "['x'].context_window is written in two spellings, `contextWindow` is there as well: keep",
        id="two spellings",
    ),
    pytest.param(
        {"x": {"timeouts": {"first_event": 1, "firstEvent": 1}}},
        "['x'].timeouts.first_event is written in two spellings, `firstEvent` is there as well",
        id="two spellings of a timeout",
    ),
    pytest.param({"x": {"wire": "soap"}}, "['x'].wire is wrong", id="unknown wire"),
    pytest.param({"x": {"baseUrl": "ftp://h"}}, "http:// or https://", id="other scheme"),
    pytest.param({"x": {"baseUrl": "https://"}}, "http:// or https://", id="no host"),
    pytest.param({"x": {"baseUrl": "https://h?key=1"}}, "http:// or https://", id="query"),
    pytest.param({"x": {"baseUrl": "https://[h"}}, "http:// or https://", id="no address"),
    pytest.param({"x": {"apiKeyEnv": "sk-ant-1"}}, "name of an environment variable", id="a key"),
    pytest.param({"x": {"apiKeyEnv": ""}}, "got a string: must be the name", id="no name"),
    pytest.param({"x": {"apiKeyEnv": 3}}, "got 3: must be the name", id="a number for a name"),
    pytest.param({"x": {"apiKeyEnv": True}}, "got True: must be", id="a bool for a name"),
    pytest.param({"x": {"apiKeyEnv": {"A": "B"}}}, "got a dict: must be the name", id="a table"),
    pytest.param(
        {"x": {"apiKeyEnv": []}},
        "['x'].apiKeyEnv is wrong, got a list: the list is empty: name a variable, or write null",
        id="an empty list",
    ),
    pytest.param({"x": {"apiKeyEnv": ["A", ""]}}, "element 2: must be the name", id="empty name"),
    pytest.param({"x": {"apiKeyEnv": [" "]}}, "element 1: must be the name", id="blank name"),
    pytest.param({"x": {"apiKeyEnv": ["A", 3]}}, 'OPENROUTER_API_KEY", got 3', id="a number there"),
    pytest.param({"x": {"apiKeyEnv": [None]}}, "got None; a key itself", id="null in a list"),
    pytest.param({"x": {"apiKeyEnv": [["A"]]}}, "got a list; a key itself", id="a list in a list"),
    pytest.param({"x": {"apiKeyEnv": ["A", "sk-ant-1"]}}, "element 2: must be", id="a key there"),
    pytest.param(
        {"x": {"apiKeyEnv": ["A", "B", "A"]}},
        "'A' is in the list twice: name each variable once",
        id="one variable twice",
    ),
    pytest.param({"x": {"boundary": ""}}, "['x'].boundary is wrong", id="empty boundary"),
    pytest.param({"x": {"contextWindow": 1.5}}, "got 1.5", id="half a token"),
    pytest.param({"x": {"contextWindow": 0}}, "got 0", id="no window"),
    pytest.param(
        {"x": {"capabilities": ["images", "sight"]}},
        "['x'].capabilities[1] is wrong, got a string: ",
        id="unknown capability",
    ),
    pytest.param({"x": {"capabilities": "images"}}, "got a string", id="one capability, no list"),
    pytest.param({"x": {"wire": "anthropic"}}, "['x'] has no baseUrl", id="added without URL"),
    pytest.param({"x": {"baseUrl": "http://h"}}, "['x'] has no wire", id="added without wire"),
    pytest.param(
        {"opnai": {"boundary": "eu"}},
        "['opnai'] has no wire (did you mean 'openai'?): a provider that",
        id="a name that is spelled wrong",
    ),
    pytest.param({"x": {"failures": [{"kid": "auth"}]}}, "write it in place of 'kid'", id="a key"),
    pytest.param({"a/b": {}}, "before the slash", id="slash in the name"),
    pytest.param({"": {}}, "before the slash", id="empty name"),
]


@pytest.mark.parametrize(("value", "said"), REFUSED)
def test_a_wrong_setting_is_refused_in_one_line(value: object, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        catalog(provider_settings(value, where="providers"))

    message = str(caught.value)
    assert said in message
    assert message.startswith("providers")
    assert "\n" not in message
    assert "sk-" not in message


class TestEnvironment:
    def test_nothing_there_changes_nothing(self) -> None:
        assert providers_from_env({}) == {}
        assert providers_from_env({"SIDESTEP_PROVIDERS": " "}) == {}

    def test_json_is_read(self) -> None:
        value = json.dumps({"groq": {"baseUrl": "http://h"}})

        assert providers_from_env({"SIDESTEP_PROVIDERS": value})["groq"].base_url == "http://h"

    def test_a_file_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "providers.json"
        path.write_text('{"groq": {"baseUrl": "http://h"}}')

        providers = providers_from_env({"SIDESTEP_PROVIDERS": f"@{path}"})

        assert providers["groq"].base_url == "http://h"

    @pytest.mark.parametrize(
        "value",
        [
            pytest.param("@/no/such/file", id="no such file"),
            pytest.param("{sk-secret", id="not JSON"),
            pytest.param('{"groq": {"gap": "sk-secret"}}', id="wrong"),
        ],
    )
    def test_what_cannot_be_read_is_refused(self, value: str) -> None:
        with pytest.raises(ConfigError, match="SIDESTEP_PROVIDERS") as caught:
            providers_from_env({"SIDESTEP_PROVIDERS": value})

        assert "sk-secret" not in str(caught.value)
