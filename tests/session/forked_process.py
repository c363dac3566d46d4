"""Forks a child while another thread is at work, and lets the child do what its argument names."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import anyio
from pydantic import BaseModel, ConfigDict
from pydantic_core import CoreSchema
from pydantic_core.core_schema import any_schema

from sidestep import DegradedRoutes, Route, Sidestep, SqliteStore, StoreError
from sidestep.session.clock import SystemClock
from sidestep.session.store import sqlite_schema
from sidestep.session.telemetry.counts import Counts

A, B = Route("p/a"), Route("p/b")
_TWO_KEYS = {"p": {"wire": "openai-chat", "baseUrl": "http://p", "apiKeyEnv": ["K1", "K2"]}}


def forked_while_held(lock: AbstractContextManager[object], child: Callable[[], bool]) -> bool:
    """Fork while another thread holds *lock*; return whether *child* came to true in the child."""
    is_held, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            may_go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    try:
        return forked(child)
    finally:
        may_go.set()
        holder.join()


def forked(child: Callable[[], bool]) -> bool:
    """Return whether *child* came to true in a forked child; a child that hangs is killed."""
    process = os.fork()
    if process == 0:
        signal.alarm(20)
        os._exit(0 if child() else 1)
    return os.waitpid(process, 0)[1] == 0


def configuration() -> bool:
    """A middleware that follows the environment reads it in the child."""
    environ: dict[str, str] = {}
    middleware = Sidestep.from_env(environ)
    assert middleware.config is None
    assert middleware._watcher is not None

    def look() -> bool:
        environ["SIDESTEP_FALLBACK_CONFIG"] = json.dumps({"fallbackModelsByModel": {A: B}})
        return middleware.healthy(A) == A and middleware.config is not None

    return forked_while_held(middleware._watcher.lock, look)


def counts_of_attempts() -> bool:
    """The status counts attempts in the child."""
    middleware = Sidestep()

    def look() -> bool:
        take_step(middleware)
        return [each.attempts for each in middleware.status().routes] == [1]

    return forked_while_held(middleware.tally._lock, look)


def counts_for_prometheus() -> bool:
    """What a collector shows is counted in the child."""
    counts = Counts(SystemClock(), most_routes=9)
    middleware = Sidestep()
    middleware.observe(counts)

    def look() -> bool:
        take_step(middleware)
        return counts.values(lambda _route, _key: 0.0)["steps"] == {("answered",): 1}

    return forked_while_held(counts._lock, look)


def take_step(middleware: Sidestep) -> None:
    for attempt in middleware.step_sync(A):
        with attempt:
            pass


def map_of_routes() -> bool:
    """A map outlives the fork with what it remembered, and can be used."""
    health = DegradedRoutes()
    health.degrade(A, cooldown=600)

    def look() -> bool:
        health.degrade(B, cooldown=600)
        return set(health.snapshot()) == {A, B} and not health.is_available(A)

    return forked_while_held(health._lock, look)


def keys() -> bool:
    """The child knows which keys are out, and takes the next one."""
    environ = {"K1": "one", "K2": "two", "SIDESTEP_PROVIDERS": json.dumps(_TWO_KEYS)}
    middleware = Sidestep.from_env(environ)
    middleware.degraded.degrade(("p", "K1"), cooldown=600)

    def look() -> bool:
        for attempt in middleware.step_sync(A):
            with attempt:
                key = attempt.api_key
        return key == "two" and not middleware.degraded.is_degraded(A)

    return forked_while_held(middleware.degraded._lock, look)


def every_map() -> bool:
    """Each map outlives the fork, of a new process or of a child's child."""
    first, second = DegradedRoutes(), DegradedRoutes()
    first.degrade(A, cooldown=600)

    def look() -> bool:
        return first.is_degraded(A) and not second.is_degraded(A)

    return forked_while_held(second._lock, lambda: look() and forked_while_held(first._lock, look))


def map_in_the_middle_of_a_change() -> bool:
    """A thread that stopped in a change leaves no clock behind that stands still."""
    now = [0.0]
    health = DegradedRoutes(timer=lambda: now[0])
    health.degrade(A, cooldown=60)

    def look() -> bool:
        now[0] = 4000.0
        return health.degrade(A, cooldown=60, growth=2) == 60  # the first one is forgotten

    return forked_while_held(health._cooling.timer, look)


def probe() -> bool:
    """The parent's attempt does not hold the place of a probe in the child."""
    now = [0.0]
    health = DegradedRoutes(timer=lambda: now[0])
    health.degrade(A, cooldown=60)
    now[0] = 61.0
    held = health.probe(A)

    return held is not None and forked(lambda: health.probe(A) is not None)


def new_session_file() -> bool:
    """A store that is made in a child can make its file."""
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder, "session.db"))

        async def load() -> bool:
            async with store:
                return not await store.load()

        return forked_while_held(sqlite_schema._CREATING, lambda: anyio.run(load))


def open_session_file() -> bool:
    """The file that the parent holds is refused to the child, and closing it does nothing."""

    async def main(folder: str) -> bool:
        async with SqliteStore(Path(folder, "session.db")) as store:
            return await anyio.to_thread.run_sync(forked, lambda: anyio.run(refused, store))

    with TemporaryDirectory() as folder:
        return anyio.run(main, folder)


async def refused(store: SqliteStore) -> bool:
    try:
        await store.load()
    except StoreError as error:
        await store.aclose()
        return "forked" in str(error)
    return False


class SlowModule(Loader):
    """A module that another thread imports until *may_go* is set."""

    def __init__(self) -> None:
        self.is_importing, self.may_go = threading.Event(), threading.Event()

    def create_module(self, _spec: ModuleSpec) -> None:
        return None

    def exec_module(self, _module: ModuleType) -> None:
        self.is_importing.set()
        self.may_go.wait()


def import_in_another_thread() -> bool:
    """A fork waits until the thread has finished, so that the child can import the same."""
    return _forked_while_importing("sidestep.slow")


def package_in_another_thread() -> bool:
    """So does it for a package that the child's first configuration imports."""
    assert forked(lambda: True)  # models are built at the first fork, which takes a while
    del sys.modules["annotated_types"]
    return _forked_while_importing("annotated_types")


def _forked_while_importing(name: str) -> bool:
    slow = SlowModule()
    importer = threading.Thread(target=lambda: import_module(name))
    sys.meta_path.insert(0, Finder(name, slow))
    importer.start()
    slow.is_importing.wait()
    threading.Timer(0.01, slow.may_go.set).start()
    try:
        return forked(lambda: import_module(name) is not None)
    finally:
        importer.join()


class SlowType:
    """A type with a schema that another thread builds until *may_go* is set."""

    is_building, may_go = threading.Event(), threading.Event()

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        cls.is_building.set()
        cls.may_go.wait()
        return any_schema()


class SlowModel(BaseModel):
    """A model of the agent's, which pydantic builds when it is first used."""

    model_config = ConfigDict(defer_build=True)

    field: SlowType


def model_in_another_thread() -> bool:
    """A fork waits for pydantic's lock, so that the child can read its first configuration."""
    builder = threading.Thread(target=SlowModel.model_rebuild)
    builder.start()
    SlowType.is_building.wait()
    threading.Timer(0.01, SlowType.may_go.set).start()
    environ = {"SIDESTEP_FALLBACK_CONFIG": json.dumps({"fallbackModelsByModel": {A: B}})}
    try:
        return forked(lambda: Sidestep.from_env(environ).config is not None)
    finally:
        builder.join()


def model_in_another_thread_later() -> bool:
    """So does the second fork, when those models are built that have been imported by then."""
    return forked(lambda: True) and model_in_another_thread()


@dataclass
class Finder(MetaPathFinder):
    """Finds one module."""

    name: str
    loader: Loader

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, self.loader) if name == self.name else None


if __name__ == "__main__":
    sys.exit(0 if globals()[sys.argv[1]]() else 1)
