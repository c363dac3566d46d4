"""What tests do in another task than their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio


async def close_in_another_task(stream: AsyncGenerator[Any, None]) -> None:
    """Close *stream*, through a function of ours because anyio 4.9 starts only coroutines."""

    async def close() -> None:
        await stream.aclose()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(close)
