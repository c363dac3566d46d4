"""The coding tools of ``sidestep run --workspace``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tool.tool import Tool
from .files import FileTools
from .search import SearchTools
from .shell import ShellTool

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .approval import Approve
    from .workspace import Workspace


def coding_tools(
    workspace: Workspace,
    approve: Approve,
    *,
    environ: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
) -> list[Tool]:
    """Return ``read``, ``write``, ``edit``, ``list``, ``search`` and ``shell`` for *workspace*.

    Tools that only read may run side by side. The others ask *approve* first, and wait for its
    answer without a limit; a command has a time limit of its own.

    Args:
        environ: The variables of commands, except those that are named like a key; None:
            `os.environ`.
        hidden: Names of other variables that no command is to see.
    """
    files = FileTools(workspace, approve)
    find = SearchTools(workspace)
    shell = ShellTool(workspace.root, approve, environ=environ, hidden=hidden)
    return [
        Tool(files.read, is_parallel=True),
        Tool(find.list_files, name="list", is_parallel=True),
        Tool(find.search, is_parallel=True),
        Tool(files.write, timeout=None),
        Tool(files.edit, timeout=None),
        Tool(shell.shell, timeout=None),
    ]
