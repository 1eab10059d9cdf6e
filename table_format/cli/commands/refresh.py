"""The command ``refresh``."""

from __future__ import annotations

import click

from table_format import ObjectTable
from table_format.cli.arguments import table_argument
from table_format.cli.progress import spinner
from table_format.cli.session import Session
from table_format.counted import counted


@click.command()
@table_argument
@click.pass_obj
def refresh(session: Session, table: str) -> None:
    """List the location of an object table again, and make its rows the files that are there, in one commit."""
    opened = session.data_table(table)
    if not isinstance(opened, ObjectTable):
        message = f"'{table}' is not an object table; see docs/object-tables.md"
        raise click.ClickException(message)
    with spinner(f"listing {opened.object_location}"):
        found = opened.refresh()
    state = "no snapshot, nothing has changed" if found.snapshot is None else f"snapshot {found.snapshot.id}"
    click.echo(f"{table} has {counted(found.file_count, 'file')}: {state}.")
