"""`sidestep run` shows its status, and exports by the variables of OpenTelemetry."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from sidestep import FallbackConfig, Sidestep
from sidestep.session.telemetry import export
from sidestep.session.telemetry.export import exporters_of, exporting

from ...command import Ran, environment, run_command, scenario, stub

A, B = "openrouter/m", "anthropic/m"
MAP = {"fallbackModelsByModel": {A: B}, "maxUpstreamRetryAttempts": 0}
ANSWERS = {A: {"status": 503}, B: {"text": "hello"}}
STATUS = f"{A} degraded # s, 0 of 1 answered, last server_error 503; {B} healthy, 1 of 1 answered"


def ask(folder: Path, *options: str, **variables: Any) -> Ran:
    """Run a turn in which the first route is down."""
    with stub(scenario(folder, ANSWERS)) as url:
        providers = httpx.get(f"{url}/_stub/providers").json()
        return run_command(
            "run", "hi", "--model", A, *options,
            SIDESTEP_PROVIDERS=providers, SIDESTEP_FALLBACK_CONFIG=MAP,
            OPENROUTER_API_KEY="a-key-for-the-stub", ANTHROPIC_API_KEY="a-key-for-the-stub",
            **variables,
        )  # fmt: skip


def steady(text: str) -> str:
    return re.sub(r"\d+ s\b", "# s", text)


def test_the_status_stands_at_the_end_of_stderr(tmp_path: Path) -> None:
    ran = ask(tmp_path, "--status")

    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    assert steady(ran.stderr.splitlines()[-1]) == f"status: {STATUS}"


def test_with_json_the_status_is_an_object_on_stderr(tmp_path: Path) -> None:
    ran = ask(tmp_path, "--status", "--json")

    assert json.loads(ran.stdout.splitlines()[-1])["event"] == "TurnEnded"
    routes = json.loads(ran.stderr.splitlines()[-1])["routes"]
    assert [(each["route"], each["state"]) for each in routes] == [(A, "degraded"), (B, "healthy")]


def test_without_the_option_no_status_is_printed(tmp_path: Path) -> None:
    assert "status:" not in ask(tmp_path).stderr


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there is no such signal")
def test_usr1_prints_the_status_of_a_turn_that_runs(tmp_path: Path) -> None:
    answers = {A: {"status": 503}, B: {"text": "hello", "stall": True}}
    with stub(scenario(tmp_path, answers)) as url:
        providers = httpx.get(f"{url}/_stub/providers").json()
        keys = dict.fromkeys(("OPENROUTER_API_KEY", "ANTHROPIC_API_KEY"), "a-key-for-the-stub")
        variables = environment(SIDESTEP_PROVIDERS=providers, SIDESTEP_FALLBACK_CONFIG=MAP, **keys)
        command = [sys.executable, "-m", "sidestep", "run", "hi", "--model", A]
        with subprocess.Popen(
            command, env=variables, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stderr is not None
                assert process.stdout.read(1) == "h"  # the sibling answers, and stalls
                process.send_signal(signal.SIGUSR1)
                lines = iter(process.stderr.readline, "")
                line = next(each for each in lines if "status:" in each)
            finally:
                process.kill()

    assert "degraded" in line


SENT_AROUND = """
import contextlib, os, signal, sys
from sidestep.session.command import main, run

@contextlib.contextmanager
def exporting(*_):
    if "before" in moments: os.kill(os.getpid(), signal.SIGUSR1)
    yield
    if "after" in moments: os.kill(os.getpid(), signal.SIGUSR1)

moments = sys.argv.pop(1)
run.exporting = exporting
main.main()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there is no such signal")
@pytest.mark.parametrize("moments", ["never", "before", "after", "before and after"])
def test_usr1_ends_no_command_before_or_after_its_turn(tmp_path: Path, moments: str) -> None:
    with stub(scenario(tmp_path, ANSWERS)) as url:
        providers = httpx.get(f"{url}/_stub/providers").json()
        keys = dict.fromkeys(("OPENROUTER_API_KEY", "ANTHROPIC_API_KEY"), "a-key-for-the-stub")
        ran = subprocess.run(
            [sys.executable, "-c", SENT_AROUND, moments, "run", "hi", "--model", A],
            env=environment(SIDESTEP_PROVIDERS=providers, SIDESTEP_FALLBACK_CONFIG=MAP, **keys),
            encoding="utf-8", capture_output=True, timeout=60, check=False,
        )  # fmt: skip

    assert (ran.returncode, ran.stdout) == (0, "hello\n")


@pytest.mark.parametrize(
    ("variables", "traces", "metrics"),
    [
        pytest.param({}, [], [], id="nothing is set"),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, ["otlp"], ["otlp"], id="an address"
        ),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, ["otlp"], [], id="one for traces"
        ),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, [], [], id="an empty address"),
        pytest.param({"OTEL_TRACES_EXPORTER": "console"}, ["console"], [], id="a name"),
        pytest.param(
            {"OTEL_METRICS_EXPORTER": " console, otlp "}, [], ["console", "otlp"], id="two names"
        ),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_METRICS_EXPORTER": "none"},
            ["otlp"], [], id="none beside an address",
        ),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"},
            [], [], id="switched off",
        ),
        pytest.param({"OTEL_SERVICE_NAME": "mine"}, [], [], id="only a name of the service"),
    ],
)  # fmt: skip
def test_the_standard_variables_say_what_is_exported(
    variables: dict[str, str], traces: list[str], metrics: list[str]
) -> None:
    assert exporters_of("TRACES", variables) == traces
    assert exporters_of("METRICS", variables) == metrics


def test_an_exporter_gets_the_spans_of_the_turn_and_stdout_only_the_answer(tmp_path: Path) -> None:
    ran = ask(tmp_path, OTEL_TRACES_EXPORTER="console")

    names = re.findall(r'^    "name": "(.+)",$', ran.stderr, re.MULTILINE)
    assert ran.stdout == "hello\n"
    assert ran.stderr.count("OpenTelemetry: traces go to console\n") == 1
    assert names == [f"attempt {A}", f"attempt {B}", "chat m", "invoke_agent sidestep"]
    assert '"service.name": "sidestep"' in ran.stderr


def test_serve_exports_as_well(tmp_path: Path) -> None:
    ran = run_command("serve", "--", "true", cwd=tmp_path, OTEL_TRACES_EXPORTER="console")

    assert ran.returncode == 0
    assert ran.stderr.count("OpenTelemetry: traces go to console\n") == 1


def test_the_service_has_the_name_of_the_variable(tmp_path: Path) -> None:
    ran = ask(tmp_path, OTEL_TRACES_EXPORTER="console", OTEL_SERVICE_NAME="mine")

    assert '"service.name": "mine"' in ran.stderr


@pytest.mark.parametrize(
    ("captured", "is_there"),
    [
        pytest.param(None, False, id="unset"),
        pytest.param("false", False, id="false"),
        pytest.param("true", True, id="true"),
        pytest.param("SPAN_ONLY", True, id="in spans"),
        pytest.param("event_only", False, id="only in events, which are not written"),
    ],
)
def test_what_was_said_is_exported_only_if_the_variable_says_so(
    tmp_path: Path, captured: str | None, is_there: bool
) -> None:
    name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    variables = {} if captured is None else {name: captured}

    ran = ask(tmp_path, OTEL_TRACES_EXPORTER="console", **variables)

    assert ("gen_ai.input.messages" in ran.stderr) is is_there


def test_an_exporter_that_is_not_installed_is_named_and_ends_nothing(tmp_path: Path) -> None:
    ran = ask(tmp_path, OTEL_TRACES_EXPORTER="zipkin")

    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    assert "OTEL_TRACES_EXPORTER: no installed package has an exporter 'zipkin'" in ran.stderr
    assert "OpenTelemetry: " not in ran.stderr


def test_without_the_sdk_the_command_says_once_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("opentelemetry.sdk.trace", "opentelemetry.sdk.metrics"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it raises

    ran = ask(tmp_path, OTEL_TRACES_EXPORTER="console")

    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    assert ran.stderr.count("pip install opentelemetry-sdk") == 1


class Hanging(SpanExporter):
    """Hangs until it may end, also at its own end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.may_end.wait()
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.may_end.wait()


def test_an_exporter_that_hangs_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    exporter = Hanging()
    monkeypatch.setattr(export, "_exporter", lambda *_: exporter)
    middleware = Sidestep(FallbackConfig.model_validate(MAP))
    reported: list[str] = []

    with exporting(
        middleware, {"OTEL_TRACES_EXPORTER": "mine"}, reported.append, flush_seconds=0.0
    ):
        for attempt in middleware.step_sync(A):
            with attempt:
                pass
    exporter.may_end.set()

    assert reported == ["OpenTelemetry: traces go to mine"]
    assert "what was not exported within 0 s is lost" in caplog.text


@contextmanager
def collector(received: list[str]) -> Iterator[str]:
    """Serve what takes OTLP over HTTP; give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            received.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(
    find_spec("opentelemetry.exporter") is None, reason="no exporter of OTLP is installed"
)
def test_an_address_is_all_that_a_collector_needs(tmp_path: Path) -> None:
    received: list[str] = []
    with collector(received) as url:
        ran = ask(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=url)

    assert ran.stdout == "hello\n"
    assert "OpenTelemetry: traces go to otlp, metrics go to otlp\n" in ran.stderr
    assert sorted(set(received)) == ["/v1/metrics", "/v1/traces"]


@pytest.mark.skipif(
    find_spec("opentelemetry.exporter") is None, reason="no exporter of OTLP is installed"
)
def test_a_collector_that_is_not_there_ends_no_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_FLUSH_SECONDS", 0.1)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        address = f"http://127.0.0.1:{server.server_port}"

    ran = ask(tmp_path, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=address)

    assert (ran.returncode, ran.stdout) == (0, "hello\n")
