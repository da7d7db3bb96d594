"""Commands that hold others: whole summaries in their help, and the nearest name for a slip."""

from __future__ import annotations

from collections.abc import Iterable

import click

from rexmit.errors import UsageError, nearest

_WHOLE = 10_000
"""Characters of a summary: all of it."""


class Commands(click.Group):
    """A group whose help cuts no summary and that names the command that was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names. Raises UsageError for an unknown name."""
        name = args[0]
        asked = not ctx.resilient_parsing and not name.startswith("-")
        if asked and self.get_command(ctx, name) is None:
            raise UsageError(f"there is no command {name!r}{self._instead(ctx, name, args[1:])}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Names and whole summaries, wrapped where they are long."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx)))

    def summaries(self, ctx: click.Context) -> Iterable[tuple[str, str]]:
        """The name of each command and the first sentence of its help."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                yield name, command.get_short_help_str(_WHOLE)

    def _instead(self, ctx: click.Context, name: str, rest: list[str]) -> str:
        known = self.list_commands(ctx)
        if name == "help":
            asked = f" {rest[0]}" if rest and rest[0] in known else ""
            return f"; write {ctx.command_path}{asked} --help"
        meant = self.meant(name)
        return nearest(name, known) if meant is None else f"; did you mean {meant!r}?"

    def meant(self, name: str) -> str | None:
        """The command that people mean by a word that is not spelt like it."""
        return None
