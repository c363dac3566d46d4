"""The settings of `sidestep run`, with the tools and the store that follow from them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...provider.error import ConfigError
from ..error import StoreError
from ..store.store import Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from ...provider.catalog.provider import Provider
    from ..cost.budget import Budget
    from ..tool.tool import Tool

_INSTRUCTIONS = (
    "You are a coding agent. Your tools work in one folder, and their paths are relative "
    "to it. Look before you change something, make the smallest change that does what the "
    "user asks, and check it where you can. Say briefly at the end what you did."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The prompt and the options of `sidestep run`.

    Args:
        model: A route, or the name of a chain.
        system: None: `_INSTRUCTIONS` if there are tools, else nothing.
        deadline: In seconds.
        patience: Seconds that a step may wait for a route to come back; None: as configured.
        budget: Of this turn.
        session_budget: Of all turns of the session.
        workspace: The folder that the coding tools work in; None: there are no tools.
        approve_all: True: do not ask before a tool writes or runs something.
        session: The file that keeps the conversation; None: it is not kept.
        resume: True: continue the conversation in *session*, which must exist.
        journal: The file that events are appended to.
        shows_status: True: print the state of every route at the end.
    """

    prompt: str
    model: str
    system: str | None = None
    max_output_tokens: int | None = None
    deadline: float | None = None
    patience: float | None = None
    budget: Budget | None = None
    session_budget: Budget | None = None
    workspace: Path | None = None
    approve_all: bool = False
    session: Path | None = None
    resume: bool = False
    journal: Path | None = None
    shows_status: bool = False
    no_stream: bool = False
    is_json: bool = False

    @property
    def instructions(self) -> str | None:
        """The instructions that stand before the conversation; None: there are none."""
        return self.system or (None if self.workspace is None else _INSTRUCTIONS)

    def tools(self, environ: Mapping[str, str], providers: Mapping[str, Provider]) -> list[Tool]:
        """Return the coding tools; commands do not see the keys of *providers*.

        Raises:
            ConfigError: The workspace is no folder.
        """
        if self.workspace is None:
            return []
        from ..coding.approval import approve_all, ask_in_terminal
        from ..coding.tools import coding_tools
        from ..coding.workspace import Workspace

        keys = {each for provider in providers.values() for each in provider.key_variables}
        approve = approve_all if self.approve_all else ask_in_terminal()
        return coding_tools(Workspace(self.workspace), approve, environ=environ, hidden=keys)

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Store | None]:
        """Open the store of the session; None: nothing keeps it.

        Raises:
            ConfigError: The file cannot be used, is missing, or exists already.
        """
        if self.session is None:
            yield None
            return
        from ..store.sqlite import SqliteStore

        if self.resume and not self.session.exists():
            raise ConfigError(
                f"{str(self.session)!r} is not there: leave --resume out to begin a session in it"
            )
        store = SqliteStore(self.session)
        try:
            await self._check_fresh(store)
            yield store
        finally:
            await store.aclose()

    async def _check_fresh(self, store: Store) -> None:
        """Check that *store* is empty, unless its conversation is resumed."""
        try:
            messages = await store.load()
        except StoreError as error:
            raise ConfigError(str(error)) from None
        if messages and not self.resume:
            raise ConfigError(
                f"{str(self.session)!r} holds a session already: add --resume to go on with "
                "it, or name another file"
            )
