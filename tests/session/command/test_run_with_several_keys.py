"""`sidestep run` with two keys in the environment, in each form of the configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub

from ...command import Ran, run_command

ONE, TWO = "MODEL_API_KEY", "MODEL_API_KEY_2"
PLANTED = {ONE: "planted-one:0123456789", TWO: "planted.two/0123456789"}
QUOTED = " and ".join(PLANTED.values())
PRIMARY, SIBLING = "primary/claude", "fallback-1/llama"
RULES = """
[[rules]]
task_class = "balanced"

[[rules.candidates]]
provider = "primary"
model = "claude"

[[rules.candidates]]
provider = "fallback-1"
model = "llama"
"""

FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "a map": (PRIMARY, {"SIDESTEP_FALLBACK_CONFIG": {"fallbackModelsByModel": {PRIMARY: SIBLING}}}),
    "rules": ("balanced", {"SIDESTEP_ROUTING_RULES": RULES}),
    "a hint": (PRIMARY, {"SIDESTEP_HINT": "primary:claude,fallback-1:llama"}),
    "numbered variables": ("balanced", {
        "MODEL_BASE_URL": "{}/primary/v1", "MODEL_BALANCED": "claude",
        "MODEL_FALLBACK_1_BASE_URL": "{}/fallback-1/v1", "MODEL_FALLBACK_1_API_KEY": "x",
        "MODEL_FALLBACK_1_BALANCED": "llama",
    }),
}  # fmt: skip


@contextmanager
def playing(first: dict[str, Any]) -> Iterator[Stub]:
    """Play *first* for the first key; the second one, and the sibling, answer."""
    keys = {ONE: first, TWO: [{"text": "The second key."}, {"text": "Still the second."}]}
    answers = {PRIMARY: {"keys": keys}, SIBLING: {"text": "The sibling."}}
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Stub(Scenario.parse({"answers": answers}), strict=True, keys=PLANTED)
        ) as stub,
    ):
        yield stub


def take_turn(stub: Stub, form: str, prompt: str, folder: Path, *options: str, **more: Any) -> Ran:
    model, variables = FORMS[form]
    given: dict[str, Any] = PLANTED | {
        name: value.replace("{}", stub.url) if isinstance(value, str) else value
        for name, value in variables.items()
    }
    if form != "numbered variables":
        given["SIDESTEP_PROVIDERS"] = stub.providers()
    return run_command(
        "run", prompt, "--model", model, "--session", str(folder / "session"),
        "--journal", str(folder / "journal"), *options, **(given | more),
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "outage",
    [
        pytest.param({"status": 429, "headers": {"retry-after": "60"}}, id="429"),
        pytest.param({"status": 402}, id="402"),
        pytest.param(
            {"status": 401, "headers": {"x-request-id": QUOTED}, "body": {"error": {
                "message": QUOTED, "code": "invalid_api_key"}}}, id="401, with the keys in it",
        ),
    ],
)  # fmt: skip
def test_the_second_key_answers_and_the_next_process_begins_with_it(
    form: str, outage: dict[str, Any], tmp_path: Path
) -> None:
    with playing(outage) as stub:
        first = take_turn(stub, form, "Hi.", tmp_path, "--json")
        second = take_turn(stub, form, "Go on.", tmp_path, "--resume")
        sent = [each.api_key_env for each in stub.requests]

    assert json.loads(first.stdout.splitlines()[-1])["text"] == "The second key."
    assert second.stdout == "Still the second.\n"
    assert sent == [ONE, TWO, TWO]
    files = [path.read_bytes().decode(errors="replace") for path in tmp_path.iterdir()]
    left = "\n".join([first.stdout, first.stderr, second.stdout, second.stderr, *files])
    assert TWO in left
    assert not any(key in left for key in PLANTED.values())


@pytest.mark.parametrize("form", FORMS)
def test_without_any_key_the_error_names_each_variable(form: str, tmp_path: Path) -> None:
    with playing({"text": "never"}) as stub:
        ran = take_turn(stub, form, "Hi.", tmp_path, **{ONE: "", TWO: " "})
        sent = [each.api_key_env for each in stub.requests]

    assert sent == ([None] if ran.returncode == 0 else [])
    is_numbered = form == "numbered variables"  # where a blank variable is none
    assert (f"{ONE} is not set" if is_numbered else f"neither {ONE} nor {TWO} is") in ran.stderr


@pytest.mark.parametrize("form", FORMS)
def test_check_says_which_keys_are_set(form: str) -> None:
    with playing({"text": "never"}) as stub:
        variables: dict[str, Any] = PLANTED | {
            name: value.replace("{}", stub.url) if isinstance(value, str) else value
            for name, value in FORMS[form][1].items()
        }
        if form != "numbered variables":
            variables["SIDESTEP_PROVIDERS"] = stub.providers()
        ran = run_command("check", "--json", **variables)
        text = run_command("check", **variables)

    assert json.loads(ran.stdout)["keys"]["primary"] == {ONE: True, TWO: True}
    assert f"keys of primary: {ONE} is set, {TWO} is set" in text.stdout
    assert not any(key in ran.stdout + text.stdout for key in PLANTED.values())
