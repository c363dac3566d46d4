"""A process that wants a session for itself; run by `test_sqlite_crash.py`.

``python contending.py PATH`` says ``ready``, then reads commands: ``append TEXT`` is answered by
``kept`` or by why not, ``close`` by ``closed``.
"""

from __future__ import annotations

import sys

import anyio

from sidestep import SqliteStore, StoreError
from sidestep.provider.conversation import Message, Text


async def main(path: str) -> None:
    """Do each order that is read, until there are no more."""
    store = SqliteStore(path)
    print("ready", flush=True)
    while line := await anyio.to_thread.run_sync(sys.stdin.readline):
        if line.startswith("append "):
            try:
                await store.append(Message("user", [Text(line.split()[1])]))
                print("kept", flush=True)
            except StoreError as error:
                print(error, flush=True)
        else:
            await store.aclose()
            store = SqliteStore(path)
            print("closed", flush=True)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
