"""The ``sidestep`` command."""
