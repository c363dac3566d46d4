"""SIGUSR1 while nobody waits for it."""

from __future__ import annotations

import signal
import sys
import threading


def outlive_usr1() -> None:
    """Let SIGUSR1 do nothing from now on, instead of ending this process.

    A coordinator that asks for the status may do so before a command's event loop has begun, or
    after it has ended, while traces are exported. The handler is a function, because the commands
    that a tool starts would inherit `signal.SIG_IGN`.
    """
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR1, _do_nothing)


def _do_nothing(*_: object) -> None:
    pass
