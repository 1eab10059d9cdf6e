"""The commands ``init``, ``databases`` and ``tables``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import pyarrow as pa

from table_format import ObjectTable, Table
from table_format.cli.errors import FAILED, one_line
from table_format.cli.output import Target, output_options, write_batches
from table_format.cli.session import ReadOnlyTable, Session
from table_format.cli.settings import FILE_NAME
from table_format.counted import counted
from table_format.errors import CorruptionError, UnsupportedFeature

_TEXTS: Final = pa.schema([("table", pa.string()), ("primary_key", pa.string()), ("partition_by", pa.string())])
_NUMBERS: Final = pa.schema([("snapshot", pa.int64()), ("stored_rows", pa.int64())])
_LONG: Final = pa.unify_schemas([_TEXTS, _NUMBERS, pa.schema([("kind", pa.string())])])
_UNREADABLE: Final = "cannot be read"
_PAGE: Final = 20
"""Tables on one page. A page is shown when its tables have been opened, which takes long in an object store."""


@click.command()
@click.argument("databases", metavar="[DATABASE]...", nargs=-1)
@click.option(
    "--save", is_flag=True, help=f"Write {FILE_NAME} to this directory, so that commands do not need --warehouse."
)
@click.pass_obj
def init(session: Session, databases: Sequence[str], *, save: bool) -> None:
    """Create the warehouse directory, and databases in it. Existing ones are kept."""
    directory = session.local_warehouse
    settings = Path(FILE_NAME)
    if save and settings.exists():
        message = f"{FILE_NAME} already exists; edit it, or remove it first"
        raise click.ClickException(message)
    session.make_warehouse()
    for database in databases:
        session.catalog.create_database(database, ignore_if_exists=True)
    if save:
        location = session.warehouse if directory is None else str(directory.absolute())
        # A JSON string is also a valid TOML string.
        settings.write_text(f"warehouse = {json.dumps(location)}\n", encoding="utf-8")
    click.echo(f"Warehouse {session.warehouse} has {counted(len(session.catalog.list_databases()), 'database')}.")


@click.command()
@click.pass_obj
def databases(session: Session) -> None:
    """List the databases."""
    for name in session.database_names():
        click.echo(name)


@click.command()
@click.argument("database", required=False)
@click.option(
    "--long",
    "-l",
    "is_long",
    is_flag=True,
    help="Also show keys, latest snapshots, row counts and kinds; this opens every table.",
)
@output_options
@click.pass_context
def tables(
    context: click.Context, database: str | None, *, is_long: bool, format: str | None, output: str | None
) -> None:
    """List the tables of DATABASE, or of all databases.

    With --long, the exit code is 1 if a table cannot be read.
    """
    session: Session = context.obj
    names = session.table_names() if database is None else (f"{database}.{t}" for t in session.database(database))
    if is_long or format is not None or output is not None:
        unreadable: list[str] = []
        lines = (_line(session, name, unreadable) for name in names)
        write_batches(_LONG, lines, Target.of(format, output), page_rows=_PAGE)
        if unreadable:
            context.exit(FAILED)
        return
    for name in names:
        click.echo(name)


def _line(session: Session, name: str, unreadable: list[str]) -> pa.RecordBatch:
    """Return the line of a table. The name of one that cannot be read is added to ``unreadable``."""
    try:
        values = _values(session.table(name))
    except (CorruptionError, UnsupportedFeature, OSError) as error:
        # The other tables are listed all the same.
        click.echo(f"{name}: it {_UNREADABLE}: {one_line(error)}", err=True)
        unreadable.append(name)
        values = (None, None, None, None, _UNREADABLE)
    columns = [pa.array([value], field.type) for value, field in zip((name, *values), _LONG, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_LONG)


def _values(table: Table | ReadOnlyTable) -> tuple[str | int | None, ...]:
    """Return what the line of a table shows after its name."""
    if not isinstance(table, Table):
        return (None, None, None, None, "format table")
    schema, latest = table.schema, table.latest_snapshot()
    return (
        ", ".join(schema.primary_keys),
        ", ".join(schema.partition_keys),
        None if latest is None else latest.id,
        None if latest is None else latest.total_record_count,
        _kind(table),
    )


def _kind(table: Table) -> str:
    if isinstance(table, ObjectTable):
        return "object table"
    return "materialized table" if table.schema.options.get("type") == "materialized-table" else "table"
