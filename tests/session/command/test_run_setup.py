"""What `sidestep run` gives to its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidestep.provider.catalog.provider import Provider
from sidestep.session.command.run_setup import RunSettings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.asyncio
async def test_a_command_sees_no_key_of_any_provider(tmp_path: Path) -> None:
    providers = {
        "several": Provider("several", "openai-chat", "http://h", ("ONE", "TWO", "THREE")),
        "single": Provider("single", "openai-chat", "http://h", "FOUR"),
        "open": Provider("open", "openai-chat", "http://h", None),
    }
    environ = dict.fromkeys(("ONE", "TWO", "THREE", "FOUR"), "the-key") | {"FIVE": "no-key"}
    settings = RunSettings(prompt="hi", model="several/m", workspace=tmp_path, approve_all=True)
    shell = next(tool for tool in settings.tools(environ, providers) if tool.name == "shell")

    ran = await shell.run({"command": "echo $ONE$TWO$THREE$FOUR$FIVE"})

    assert "the-key" not in str(ran.output)
    assert "no-key" in str(ran.output)
