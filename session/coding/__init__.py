"""The coding tools of ``sidestep run --workspace``."""
