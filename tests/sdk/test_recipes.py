"""Every program of fixtures/recipes, as it stands, in eight outages, over real sockets."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from sidestep.provider.stub.scenario import Scenario
from sidestep.provider.stub.server import Stub
from sidestep.session.plan.source import VARIABLE

from ..pages import imported

FOLDER = Path(__file__).parents[2] / "fixtures" / "recipes"
ANSWER = "Hello from the sibling."
CHAT = ("openrouter/z-ai/glm-5.2", "zai/glm-5.2")
OTHERS = {
    "with_anthropic": ("anthropic/claude-sonnet-5", "zai-anthropic/glm-5.2"),
    "with_google_genai": ("gemini/gemini-3-pro", "vertex/gemini-3-pro"),
    "with_openai_responses": ("openai/gpt-5.2", "proxy/gpt-5.2"),
}
"""The two routes of a program that speaks another wire than Chat Completions."""
COORDINATOR = "coordinator"  # its agents are other processes
RECIPES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != COORDINATOR)

HTML = {"headers": {"content-type": "text/html"}, "body": "<html>Bad gateway</html>"}
EMPTY = {"text": ""}
OUTAGES: dict[str, object] = {
    "503": {"status": 503},
    "429 with a hint": {"status": 429, "headers": {"retry-after": "30"}},
    "an error object": {"text": "Half an answer", "after": 2, "error": 503},
    "a cut": {"text": "Half an answer", "after": 2, "cut": True},
    "a stall": {"text": "Half an answer", "after": 1, "stall": True},
    "an empty 200": EMPTY,
    "an HTML 200": {"status": 200, **HTML},
    "a refused connection": {"refuse": True},
}


@contextmanager
def playing(primary: str, sibling: str, outage: object) -> Iterator[Stub]:
    """Play *outage* in a thread, while a program has the loop of this one."""
    scenario = Scenario.parse({"answers": {primary: outage, sibling: {"text": ANSWER}}})
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Stub(scenario)) as stub,
    ):
        yield stub


def environment(stub: Stub, primary: str, sibling: str) -> dict[str, str]:
    """Return what a coordinator would set; deadlines are short, because time is real here."""
    wires = {"vertex": "gemini", "proxy": "openai-responses"}
    providers = {
        name: settings
        | ({"wire": wires[name]} if name in wires else {})
        | {"apiKeyEnv": "KEY_OF_ALL", "timeouts": {"connect": 1, "firstEvent": 1, "gap": 1}}
        for name, settings in stub.providers().items()
    }
    config = {"fallbackModelsByModel": {primary: sibling}, "maxUpstreamRetryAttempts": 0}
    return {
        VARIABLE: json.dumps(config),
        "SIDESTEP_PROVIDERS": json.dumps(providers),
        "KEY_OF_ALL": "k",
        "ROUTE": primary,
    }


@pytest.mark.filterwarnings("ignore")  # of the packages that a program imports
@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_ends_on_the_sibling_with_one_whole_answer(
    recipe: str, outage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (FOLDER / f"{recipe}.py").read_text(encoding="utf-8")
    for package in sorted(imported(program)):
        pytest.importorskip(package, reason=f"{package} is in the extra `frameworks`")
    primary, sibling = OTHERS.get(recipe, CHAT)
    with playing(primary, sibling, OUTAGES[outage]) as stub:
        for name, value in environment(stub, primary, sibling).items():
            monkeypatch.setenv(name, value)
        if "litellm" in sys.modules:  # the program sets it, for as long as its process lives
            monkeypatch.setattr(sys.modules["litellm"], "aclient_session", None)
        runpy.run_path(str(FOLDER / f"{recipe}.py"), run_name="__main__")
        asked = [str(received.route) for received in stub.requests]

    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last == f"{ANSWER} Answered by {sibling}"
    assert asked == ([] if outage == "a refused connection" else [primary]) + [sibling]


@pytest.mark.filterwarnings("ignore")  # of the packages that a program imports
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_goes_on_with_the_second_key(
    recipe: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (FOLDER / f"{recipe}.py").read_text(encoding="utf-8")
    for package in sorted(imported(program)):
        pytest.importorskip(package, reason=f"{package} is in the extra `frameworks`")
    primary, sibling = OTHERS.get(recipe, CHAT)
    keys = {"keys": {"FIRST_KEY": {"status": 402}, "SECOND_KEY": {"text": "Hello from the key."}}}
    with playing(primary, sibling, keys) as stub:
        variables = environment(stub, primary, sibling)
        variables["SIDESTEP_PROVIDERS"] = json.dumps(stub.providers())
        for name, value in (variables | stub.keys).items():
            monkeypatch.setenv(name, value)
        if "litellm" in sys.modules:  # the program sets it, for as long as its process lives
            monkeypatch.setattr(sys.modules["litellm"], "aclient_session", None)
        runpy.run_path(str(FOLDER / f"{recipe}.py"), run_name="__main__")
        sent = [received.api_key_env for received in stub.requests]

    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last == f"Hello from the key. Answered by {primary}"
    assert sent == ["FIRST_KEY", "SECOND_KEY"]


def test_a_coordinator_reads_what_happened_to_its_agents(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    primary, sibling = CHAT
    with playing(primary, sibling, OUTAGES["503"]) as stub:
        for name, value in environment(stub, primary, sibling).items():
            monkeypatch.setenv(name, value)
        runpy.run_path(str(FOLDER / f"{COORDINATOR}.py"), run_name="__main__")

    printed = capfd.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("agent-")] == [
        f"agent-{number}: exit 0 {primary} → {sibling}" for number in (1, 2, 3)
    ]
    assert printed.count(f"{ANSWER} Answered by {sibling}") == 3


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_recipe_is_short_and_judges_nothing_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 40
    for word in ("finish_reason", "stop_reason", "[DONE]", "status_code", "except", "retry_after"):
        assert word not in text
