"""A group of commands that imports a command when it is used. The help and completion of names import none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from table_format.cli.commands import COMMANDS, CommandPlace

_PACKAGE: Final = "table_format.cli.commands"
_OTHER_NAMES: Final = {
    "create-database": "init",
    "insert": "load",
    "query": "sql",
    "read": "scan",
    "schema": "describe",
    "verify": "doctor",
    "write": "load",
}
"""What other programs call our commands."""
_PLACES: Final[Mapping[str, CommandPlace]] = {place.name: place for group in COMMANDS.values() for place in group}


class LateCommands(click.Group):
    """The commands in ``COMMANDS``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        _ = ctx
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; ``None`` if there is none of this name."""
        _ = ctx
        place = _PLACES.get(cmd_name)
        if place is None:
            return None
        found = getattr(import_module(f"{_PACKAGE}.{place.module}"), place.attribute)
        return found if isinstance(found, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name.

        Raises:
            click.UsageError: there is no such command; the message suggests similar names.
        """
        name = args[0]
        if name not in _PLACES and not name.startswith("-") and not ctx.resilient_parsing:
            # Only a name like "drop" may lead to a command that drops.
            harmless = [place for place in _PLACES if not place.startswith("drop") or name.startswith("d")]
            close = [_OTHER_NAMES[name]] if name in _OTHER_NAMES else get_close_matches(name, harmless)
            advice = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            message = f"No such command {name!r}.{advice}"
            raise click.UsageError(message, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group of commands with their lines."""
        _ = ctx
        width = max(map(len, _PLACES))
        for title, places in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(place.name.ljust(width), place.help) for place in places])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin with the typed text."""
        names: Sequence[CommandPlace] = [place for name, place in _PLACES.items() if name.startswith(incomplete)]
        options: list[Any] = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(place.name, help=place.help) for place in names), *options]
