"""The local address for agents that cannot import sidestep."""
