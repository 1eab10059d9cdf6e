"""The commands ``rename``, ``drop`` and ``drop-database``."""

from __future__ import annotations

import click

from table_format import FormatTable
from table_format.cli.arguments import table_argument
from table_format.cli.asking import deleting_options, may_delete
from table_format.cli.session import Session
from table_format.counted import counted


@click.command()
@table_argument
@click.argument("new_name", metavar="NEW_NAME")
@click.pass_obj
def rename(session: Session, table: str, new_name: str) -> None:
    """Rename a table, or move it to another database. NEW_NAME is DATABASE.TABLE."""
    session.data_table(table)
    session.catalog.rename_table(table, new_name)
    click.echo(f"Table {table} is now {new_name}.")


@click.command()
@table_argument
@deleting_options
@click.pass_obj
def drop(session: Session, table: str, *, dry_run: bool, yes: bool) -> None:
    """Drop a table and delete its files, with all snapshots, tags and branches. This cannot be undone."""
    found = session.table(table)
    if isinstance(found, FormatTable):
        click.echo(f"Table {table} is a format table: a directory of plain files, {found.location}.")
        click.echo("An external table leaves its files where they are.")
    else:
        _show_history(session, table)
    if may_delete(f"Drop {table}?", dry_run=dry_run, yes=yes):
        session.catalog.drop_table(table)
        click.echo(f"Table {table} was dropped.")


def _show_history(session: Session, table: str) -> None:
    opened = session.data_table(table)
    history = counted(len(opened.snapshots()), "snapshot")
    kept = f"{counted(len(opened.tags()), 'tag')} and {counted(len(opened.branches()), 'branch', 'branches')}"
    click.echo(f"Table {table} has {history}, {kept}.")


@click.command("drop-database")
@click.argument("database")
@click.option("--cascade", is_flag=True, help="Also drop the tables of the database.")
@deleting_options
@click.pass_obj
def drop_database(session: Session, database: str, *, cascade: bool, dry_run: bool, yes: bool) -> None:
    """Drop a database. It must be empty, unless --cascade is given."""
    tables = session.database(database)
    if tables and not cascade:
        message = f"database '{database}' has {counted(len(tables), 'table')}; add --cascade to drop them too"
        raise click.ClickException(message)
    for table in tables:
        click.echo(f"{database}.{table}")
    click.echo(f"Database {database} has {counted(len(tables), 'table')}.")
    if may_delete(f"Drop database {database}?", dry_run=dry_run, yes=yes):
        session.catalog.drop_database(database, cascade=cascade)
        click.echo(f"Database {database} was dropped.")
