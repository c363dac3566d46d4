"""A key that was put in the wrong place is not repeated; what was mistyped is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestep import ConfigError
from sidestep.session.command.check import inspect
from sidestep.session.plan.config_warning import ConfigWarning

from ...command import run_command

KEY = "sk-test-1234567890abcdef"
WORD = "mistyped"

PRIMARY = {"MODEL_BASE_URL": "http://h/v1", "MODEL_API_KEY": "x", "MODEL_DEEP": "m"}
TURN = ["run", "hi", "--model", "anthropic/x"]


def config(**settings: Any) -> dict[str, str]:
    map_ = {"fallbackModelsByModel": {"a/b": "c/d"}}
    return {"SIDESTEP_FALLBACK_CONFIG": json.dumps(map_ | settings)}


def rules(more: str = "", task: str = "coding") -> dict[str, str]:
    text = f'[[rules]]\ntask_class = "{task}"\n{more}\n[[rules.candidates]]\n'
    return {"SIDESTEP_ROUTING_RULES": f'{text}provider = "zai"\nmodel = "glm"\n'}


def hint(limits: str) -> dict[str, str]:
    return {"SIDESTEP_HINT": "zai:glm,openai:gpt", "SIDESTEP_LIMITS": limits}


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        pytest.param(
            lambda said: hint(json.dumps({"onPartial": said})),
            'SIDESTEP_LIMITS: `onPartial` must be "retract" or "interrupt", got \'{}\'',
            id="a limit",
        ),
        pytest.param(
            lambda said: hint(json.dumps({said: 1})), "SIDESTEP_LIMITS: unknown key '{}'",
            id="an unknown limit",
        ),
        pytest.param(
            lambda said: hint(f"@{said}"), "SIDESTEP_LIMITS ({}): it cannot be read",
            id="a file of limits",
        ),
        pytest.param(
            lambda said: config(providers={"zai": {"boundary": said}}, fallbackModelsByModel={
                "zai/glm": "openai/gpt"}),
            "must stay in '{}', as that route", id="a boundary of a map",
        ),
        pytest.param(
            lambda said: config(cooldownSeconds=said),
            "`cooldownSeconds` must be a whole number of 0 or more, without quotes, got '{}'",
            id="a number",
        ),
        pytest.param(
            lambda said: config(idempotentTools="x" * 40 + f" {said}"),
            "`idempotentTools` must be a list of tool names, got '" + "x" * 40 + " {}'",
            id="a long text",
        ),
        pytest.param(
            lambda said: config(onPartial=said),
            '`onPartial` must be "retract" or "interrupt", got \'{}\'', id="a choice",
        ),
        pytest.param(lambda said: config(**{said: 1}), "unknown key '{}'", id="an unknown key"),
        pytest.param(
            lambda said: config(fallbackModelsByModel={said: "a/b"}),
            "fallbackModelsByModel has the key '{}', which is no route", id="a key of the map",
        ),
        pytest.param(
            lambda said: config(fallbackModelsByModel={"a/b": said}),
            "fallbackModelsByModel['a/b'] names '{}', which is no route", id="a sibling",
        ),
        pytest.param(
            lambda said: config(providers={said: {}}), "providers['{}'] has no wire",
            id="a provider's name",
        ),
        pytest.param(
            lambda said: {"SIDESTEP_FALLBACK_CONFIG": f"@{said}"},
            "SIDESTEP_FALLBACK_CONFIG ({}): it cannot be read", id="a file",
        ),
        pytest.param(
            lambda said: rules(task=said), "rules[0] ('{}') has only one", id="a task class"
        ),
        pytest.param(
            lambda said: rules(f'boundary = "{said}"'), "must stay in '{}'", id="a boundary"
        ),
        pytest.param(
            lambda said: {"SIDESTEP_HINT": f"zai:glm,{said}/"}, "element 2 of the hint ('{}/')",
            id="an element of a hint",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("said", "shown"), [pytest.param(WORD, WORD, id="word"), pytest.param(KEY, "[key]", id="key")]
)
def test_a_configuration_is_quoted_without_keys(
    environ: Any, told: str, said: str, shown: str
) -> None:
    found = inspect(environ(said))
    warnings = [warning["message"] + warning["fix"] for warning in found["warnings"]]
    complaints = "\n".join([found["error"] or "", found["source"], *warnings])

    assert told.replace("{}", shown) in complaints
    assert KEY not in complaints


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        pytest.param({"SIDESTEP_HINT": "zai:${K},anthropic:m"}, "C172", id="a hint's model"),
        pytest.param({"SIDESTEP_HINT": "anthropic:m,${K}"}, "C172", id="a hint's element"),
        pytest.param({"SIDESTEP_HINT": f"anthropic:m,zai:{KEY}"}, "C172", id="without a variable"),
        pytest.param({"SIDESTEP_HINT": "zai:${K}"}, "C172", id="all of a hint"),
        pytest.param(PRIMARY | {"MODEL_FAST": KEY}, "C034", id="a numbered model"),
    ],
)
def test_a_key_is_no_models_name(environ: dict[str, str], code: str) -> None:
    found = inspect(environ | {"K": KEY})

    codes = [warning["code"] for warning in found["warnings"]]
    assert code in codes or code in found["error"]
    assert KEY not in json.dumps(found)


def test_errors_and_warnings_mask_whatever_they_are_made_of() -> None:
    warning = ConfigWarning("C001", f"unknown key {KEY!r}", f"write `{KEY}`")

    assert str(warning) == "C001: unknown key '[key]': write `[key]`"
    assert str(ConfigError(f"http://h?api_key=abc is no {WORD}")) == (
        f"http://h?api_key=[key] is no {WORD}"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["run", "hi", "--model", "{}"], 'written "provider/model", got \'{}\'',
                     id="run --model"),
        pytest.param(["check", "--model", "{}"], '--model: a route is written', id="check --model"),
        pytest.param(["check", "--model", "a/{}"], "a/{}  (no sibling)", id="a chain"),
        pytest.param(["check", "--json", "--model", "a/{}"], '"walk": ["a/{}"]', id="as JSON"),
        pytest.param(["render", "x", "--to", "{}"], 'written "provider/model", got \'{}\'',
                     id="--to"),
        pytest.param([*TURN, "--budget", "{}"], "'{}' has no =", id="--budget"),
        pytest.param([*TURN, "--budget", "attempts={}"], "'{}' is no number", id="a limit"),
        pytest.param([*TURN, "--session", "{}", "--resume"], "'{}' is not there", id="--session"),
        pytest.param([*TURN, "--journal", "{}/x"], "the journal '{}/x' cannot", id="--journal"),
        pytest.param([*TURN, "--workspace", "{}"], "workspace '{}' cannot", id="--workspace"),
        pytest.param(["drill", "{}"], "there is no drill '{}'", id="a drill"),
        pytest.param(["explain", ".", "--{}"], "--{}", id="an option"),
        pytest.param(["{}"], "'{}'", id="a command"),
    ],
)  # fmt: skip
def test_what_was_typed_is_quoted_without_keys(arguments: list[str], told: str) -> None:
    ran = run_command(*(each.replace("{}", KEY) for each in arguments))

    assert told.replace("{}", "[key]") in ran.stdout + ran.stderr
    assert KEY not in ran.stdout + ran.stderr
