"""A reader of blocks notices silence, whatever else happens at that moment."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from sidestep.provider.client.block_reader import BlockReader

from ...virtual import virtual_backend

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


class LateError(Exception):
    pass


async def comments(*seconds: float) -> AsyncIterator[bytes]:
    """Yield a block after each of *seconds*; then nothing more comes."""
    for each in seconds:
        await anyio.sleep(each)
        yield b": still here\n\n"
    await anyio.sleep_forever()


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param((), id="nothing"),
        pytest.param((10.0,), id="a comment before"),
        pytest.param((29.9999,), id="a comment just before"),
        pytest.param((30.0,), id="a comment at the same time"),
    ],
)
async def test_silence_is_noticed_also_if_a_block_comes_as_the_time_ends(
    seconds: tuple[float, ...],
) -> None:
    reader = BlockReader(comments(*seconds), LateError)
    reader.timer.expect(30)

    with anyio.fail_after(60), pytest.raises(LateError):
        async for _ in reader:
            pass

    await reader.aclose(seconds=1)
