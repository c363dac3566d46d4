"""``python -m sidestep``."""

from __future__ import annotations


def main() -> None:
    """Run the ``sidestep`` command."""
    from .session.cli import main as run

    run()


if __name__ == "__main__":
    main()
