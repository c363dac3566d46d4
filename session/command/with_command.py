"""A command of ours with a command of the user behind ``--``."""

from __future__ import annotations

import click

_KEY = f"{__name__}.command"
_FLAG = "--serve"


class WithCommand(click.Command):
    """Takes what stands behind ``--`` as a command, if `_FLAG` stands before it.

    click itself would take it as further arguments of ours.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = args[: args.index("--")] if "--" in args else args
        if _FLAG in ours:
            ctx.meta[_KEY] = tuple(args[len(ours) + 1 :])
            args = ours
        return super().parse_args(ctx, args)


def behind_dashes() -> tuple[str, ...]:
    """Return the command behind ``--``; empty: there is none."""
    found: tuple[str, ...] = click.get_current_context().meta.get(_KEY, ())
    return found
