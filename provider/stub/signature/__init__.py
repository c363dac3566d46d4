"""The signatures that the stub puts on its answers, and checks."""
