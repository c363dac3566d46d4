"""What ``sidestep render`` shows of a conversation, and what it says of a file that is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ...command import run_command

FILES = Path(__file__).parents[3] / "fixtures" / "conversations"
TWO_FILES = str(FILES / "two_files.json")
CLAUDE = "anthropic/claude-sonnet-5"
ROUTES = [
    *(CLAUDE, "anthropic/claude-haiku-4-5", "openai/gpt-5.1", "openai-chat/gpt-4.1"),
    *("gemini/gemini-3-pro", "gemini/gemini-2.5-pro", "mistral/codestral-latest"),
    *("openrouter/anthropic/claude-sonnet-5", "groq/openai/gpt-oss-120b", "cerebras/llama3.1-8b"),
    *("deepseek/deepseek-chat", "zai/glm-4.7", "moonshot/kimi-k2.5", "minimax/MiniMax-M2"),
    *("openrouter-anthropic/openai/gpt-5.1", "deepseek-anthropic/deepseek-chat"),
    *("zai-anthropic/glm-4.7", "moonshot-anthropic/kimi-k3", "minimax-anthropic/MiniMax-M2"),
]

Render = Callable[..., tuple[int, str, str]]


@pytest.fixture
def render() -> Render:
    """Return a function from words to the exit status, and what went to stdout and stderr."""

    def run(*words: str, given: str | None = "") -> tuple[int, str, str]:
        ran = run_command("render", *words, given=given)
        return ran.returncode, ran.stdout, ran.stderr

    return run


def written(folder: Path, content: Any) -> str:
    """Write a conversation into a file, and return its path."""
    path = folder / "conversation.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return str(path)


# What is shown.


@pytest.mark.parametrize("file", sorted(FILES.glob("*.json")), ids=lambda file: file.stem)
@pytest.mark.parametrize("route", ROUTES)
def test_every_conversation_is_rendered_for_every_route_and_twice_the_same(
    render: Render, file: Path, route: str
) -> None:
    once, again = (render(str(file), "--to", route, "--explain", "--json") for _ in range(2))

    assert once == again
    assert once[0] == 0
    shown = json.loads(once[1])
    assert shown["route"] == route
    assert set(shown) == {"route", "url", "body", "notes"}
    assert all(note["text"] and note["why"] for note in shown["notes"])


def test_the_body_alone_is_shown_unless_more_is_asked_for(render: Render) -> None:
    _, out, err = render(TWO_FILES, "--to", CLAUDE)

    assert json.loads(out)["model"] == "claude-sonnet-5"
    assert err == ""


def test_stdin_is_read_as_a_file_is(render: Render) -> None:
    text = Path(TWO_FILES).read_text("utf-8")

    assert render("-", "--to", CLAUDE, given=text) == render(TWO_FILES, "--to", CLAUDE)


EXPLAINED = [
    pytest.param(CLAUDE, {}, [], id="nothing"),
    pytest.param(
        CLAUDE,
        {"temperature": 0.5},
        ["dropped temperature 0.5: it is not taken here"],
        id="a setting",
    ),
    pytest.param(
        "anthropic/claude-haiku-4-5",
        {"temperature": 1.5},
        ["changed temperature 1.5 to 1.0: it is the highest"],
        id="a setting with its reason",
    ),
    pytest.param(
        "anthropic/claude-haiku-4-5",
        {"reasoning": "high", "tool_choice": "required"},
        ["changed tool_choice 'required' to 'auto': it thinks, and then none can be forced"],
        id="a choice with its reason",
    ),
    pytest.param(
        "anthropic/claude-haiku-4-5",
        {"max_output_tokens": 500, "reasoning": "high"},
        ["dropped thinking: max_tokens of 500 leaves no room for it"],
        id="effort with its reason",
    ),
]


@pytest.mark.parametrize(("route", "settings", "notes"), EXPLAINED)
def test_what_is_said_otherwise_is_explained_once(
    render: Render, tmp_path: Path, route: str, settings: dict[str, Any], notes: list[str]
) -> None:
    file = written(
        tmp_path,
        {
            "messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi."}]}],
            "tools": [{"name": "ls"}],
            "settings": settings,
        },
    )

    _, out, _ = render(file, "--to", route, "--explain")

    told = out.partition("\n}\n")[2].strip().splitlines()
    assert told == (notes or ["everything crosses as it is stored"])


def test_a_name_that_is_told_with_its_call_is_not_told_again(
    render: Render, tmp_path: Path
) -> None:
    call = {"type": "tool_call", "id": "call_1", "name": "fs.ls", "output": ""}
    file = written(
        tmp_path,
        {
            "messages": [
                {"role": "user", "parts": [{"type": "text", "text": "Hi."}]},
                {"role": "assistant", "route": CLAUDE, "parts": [call]},
            ],
            "tools": [{"name": "fs.ls"}, {"name": "fs.cat"}],
        },
    )

    _, out, _ = render(file, "--to", CLAUDE, "--explain")

    assert out.partition("\n}\n")[2].strip().splitlines() == [
        "changed name 'fs.ls' to 'fs_ls' of messages[1].parts[0]: so it may stand here",
        "changed name 'fs.cat' to 'fs_cat': so it may stand here",
    ]


# What is refused.


def user(*parts: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "parts": list(parts)}]}


WRONG = [
    pytest.param("{", "it is not JSON", id="half of JSON"),
    pytest.param("", "it is not JSON", id="nothing"),
    pytest.param("[" * 100_000, "nested too deeply", id="nested too deeply"),
    pytest.param([], "a conversation is an object", id="a list"),
    pytest.param({"messages": {}}, "messages is wrong", id="messages that are no list"),
    pytest.param(user("Hi."), "messages[0].parts[0] is wrong", id="a part that is a string"),
    pytest.param(user({"type": "video"}), "its `type` should be one of", id="an unknown part"),
    pytest.param({"messages": [{"role": "user"}]}, "parts is missing", id="no parts"),
    pytest.param(
        {"messages": [], "settings": {"top_k": 1}}, "settings.top_k is not known", id="a setting"
    ),
    pytest.param(
        {"messages": [], "settings": {"max_output_tokens": 0}}, "greater than 0", id="no tokens"
    ),
    pytest.param(
        {"messages": [{"role": "assistant", "route": "x", "parts": []}]},
        "a route is written \"provider/model\", got 'x'",
        id="a route",
    ),
    pytest.param(
        {"messages": [], "tools": [{"name": "a", "input_schema": []}]},
        "tools[0].input_schema is wrong: it should be an object",
        id="a schema",
    ),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_a_file_that_is_no_conversation_is_refused_with_what_to_change(
    render: Render, tmp_path: Path, content: Any, message: str
) -> None:
    file = written(tmp_path, content)

    status, out, err = render(file, "--to", CLAUDE)

    assert (status, out) == (2, "")
    assert message in err
    assert file in err


TYPED = [
    pytest.param([str(FILES), "--to", CLAUDE], "is a directory", id="a directory"),
    pytest.param(["nowhere.json", "--to", CLAUDE], "'nowhere.json': it cannot", id="no such file"),
    pytest.param([TWO_FILES, "--to", "claude"], 'written "provider/model"', id="no provider"),
    pytest.param(
        [TWO_FILES, "--to", "nobody/x"], "'nobody' is no provider that sidestep knows", id="unknown"
    ),
    pytest.param([TWO_FILES], "'--to'", id="no route"),
    pytest.param(["--to", CLAUDE], "'FILE'", id="no file"),
]


@pytest.mark.parametrize(("words", "message"), TYPED)
def test_what_was_typed_wrong_is_told(render: Render, words: list[str], message: str) -> None:
    status, out, err = render(*words)

    assert (status, out) == (2, "")
    assert message in err
