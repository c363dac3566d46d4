"""What a turn in a terminal has at hand: tools for a folder, and a file that keeps the session."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...provider.error import ConfigError
from ..error import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from ...provider.catalog.provider import Provider
    from ..store.store import Store
    from ..tool.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the model may use.

    Args:
        workspace: The folder that the coding tools work in; None: there are no tools.
        is_trusted: Nobody is asked before a tool writes or runs something.
        session: The file that keeps the conversation; None: nothing does.
        is_resumed: The file is there, and its conversation goes on.
    """

    workspace: Path | None = None
    is_trusted: bool = False
    session: Path | None = None
    is_resumed: bool = False

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

        keys = {provider.api_key_env for provider in providers.values() if provider.api_key_env}
        approve = approve_all if self.is_trusted else ask_in_terminal()
        return coding_tools(Workspace(self.workspace), approve, environ=environ, hidden=keys)

    @property
    def instructions(self) -> str | None:
        """What the model is told of its work, where the person says nothing; None without tools."""
        if self.workspace is None:
            return None
        return (
            "You are a coding agent. Your tools work in one folder, and their paths are relative "
            "to it. Look before you change something, make the smallest change that does what the "
            "user asks, and check it where you can. Say briefly at the end what you did."
        )

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Store | None]:
        """Give the store of the session, open; None where nothing keeps it.

        Raises:
            ConfigError: The file cannot be used, is not there, or is there already.
        """
        if self.session is None:
            yield None
            return
        from ..store.sqlite import SqliteStore

        if self.is_resumed and not self.session.exists():
            raise ConfigError(
                f"{str(self.session)!r} is not there: leave --resume out to begin a session in it"
            )
        store = SqliteStore(self.session)
        try:
            try:
                messages = await store.load()
            except StoreError as error:
                raise ConfigError(str(error)) from None
            if messages and not self.is_resumed:
                raise ConfigError(
                    f"{str(self.session)!r} holds a session already: add --resume to go on with "
                    "it, or name another file"
                )
            yield store
        finally:
            await store.aclose()
