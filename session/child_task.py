"""Run work in a task of its own, so that asyncio's own cancellation respects shields."""

from __future__ import annotations

from ..provider.native_cancel import run_in_child_task as joined

__all__ = ["joined"]
