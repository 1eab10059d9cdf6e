"""The command ``delete``."""

from __future__ import annotations

import click

from table_format.cli.arguments import table_argument
from table_format.cli.asking import deleting_options, may_delete
from table_format.cli.progress import spinner
from table_format.cli.session import Session
from table_format.counted import counted


@click.command()
@table_argument
@click.option("--filter", metavar="SQL", required=True, help='The rows to delete, such as "id = 7".')
@deleting_options
@click.pass_obj
def delete(session: Session, table: str, *, filter: str, dry_run: bool, yes: bool) -> None:
    """Delete the rows that match a condition, in one commit. Earlier snapshots keep them."""
    opened = session.data_table(table)
    with spinner(f"counting rows of {table}"):
        found = counted(opened.scan(filter=filter).count(), "row", thousands=True)
    click.echo(f"{found} of {table} would be deleted.")
    if may_delete(f"Delete {found} of {table}?", dry_run=dry_run, yes=yes):
        with spinner(f"deleting rows of {table}"):
            made = opened.delete(filter)
        where = f": snapshot {made.snapshots[-1].id}" if made.snapshots else ""
        click.echo(f"{counted(made.deleted, 'row', thousands=True)} of {table} deleted{where}.")
