"""Groups of commands whose command ``list`` may be left out."""

from __future__ import annotations

import click


class ListingGroup(click.Group):
    """Runs the command ``list`` if a table follows the name of the group: ``lakehouse tags shop.orders``."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the arguments. The name of a table has a dot, the name of a command has none."""
        is_table = args[0] not in self.commands and "." in args[0]
        return super().resolve_command(context, ["list", *args] if is_table else args)
