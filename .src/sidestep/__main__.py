"""``python -m sidestep``."""

from __future__ import annotations


def main() -> None:
    """Run the ``sidestep`` command."""
    from .session.command.main import main as run

    run()


if __name__ == "__main__":
    main()
