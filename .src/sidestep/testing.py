"""Test your agent against a stub of the providers, in one process and without a real wait."""

from .session.embed.testing import Answer, PlayedStub, StubBlock, VirtualClock, stub

__all__ = ["Answer", "PlayedStub", "StubBlock", "VirtualClock", "stub"]
