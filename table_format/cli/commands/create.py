"""The command ``create``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import pyarrow as pa

from table_format import Schema
from table_format.cli.arguments import name_and_type, names_of, option_option, table_argument, warn_of_case
from table_format.cli.input import INPUT_FORMATS, InputFormat, columns_of_file
from table_format.cli.session import Session
from table_format.sql.column_types import column_type


@click.command()
@table_argument
@click.option("--from", "file", metavar="FILE", type=click.Path(path_type=Path), help="Use the columns of this file.")
@click.option(
    "--format", "-f", type=click.Choice(INPUT_FORMATS), help="Format of the file; by default from its extension."
)
@click.option(
    "--column",
    "columns",
    metavar="NAME:TYPE",
    multiple=True,
    help="Add a column, or replace the type of a column of the file.",
)
@click.option("--primary-key", metavar="NAMES", help="Columns of the primary key, separated by commas.")
@click.option("--partition-by", metavar="NAMES", help="Partition columns, separated by commas.")
@option_option
@click.option("--comment", metavar="TEXT", help="A comment on the table.")
@click.option("--if-not-exists", is_flag=True, help="Do nothing if the table exists.")
@click.pass_obj
def create(
    session: Session,
    table: str,
    *,
    file: Path | None,
    format: str | None,
    columns: Sequence[str],
    primary_key: str | None,
    partition_by: str | None,
    options: Sequence[tuple[str, str]],
    comment: str | None,
    if_not_exists: bool,
) -> None:
    """Create an empty table. With the option object-location it is an object table, which has fixed columns.

    Types are SQL types: BIGINT, STRING, DECIMAL(10,2), TIMESTAMP(3), ARRAY<INT>, with NOT NULL for columns without
    nulls. For CSV and JSON lines, types are inferred from the beginning of the file.
    """
    is_object_table = any(key == "object-location" for key, _ in options)
    if file is None and not columns and not is_object_table:
        message = "a table needs columns: give --column NAME:TYPE, or --from FILE."
        raise click.UsageError(message)
    if file is None and format is not None:
        message = "--format requires --from."
        raise click.UsageError(message)
    if file == Path("-"):
        message = "--from reads a file, not standard input: its columns are inferred before its rows are loaded."
        raise click.UsageError(message)
    of_file = pa.schema([]) if file is None else columns_of_file(file, InputFormat.of(format, file))
    schema = _with_columns(_without_empty(of_file, columns, file), columns)
    schema = replace(
        schema,
        primary_keys=tuple(names_of(primary_key) or ()),
        partition_keys=tuple(names_of(partition_by) or ()),
        options=dict(options),
        comment=comment,
    )
    existed = if_not_exists and session.catalog.table_exists(table)
    made = session.catalog.create_table(table, schema, ignore_if_exists=if_not_exists)
    if not existed:
        warn_of_case(made.schema.field_names)
    state = "already exists" if existed else "was created"
    click.echo(f"Table {made.identifier} {state} with the columns {', '.join(made.schema.field_names)}.")


def _without_empty(schema: pa.Schema, columns: Sequence[str], file: Path | None) -> pa.Schema:
    """Return the columns of a file that have a type. Columns without values must be given one by ``--column``."""
    given = {_name_and_type(column)[0] for column in columns}
    untyped = [field.name for field in schema if pa.types.is_null(field.type) and field.name not in given]
    if untyped:
        message = (
            f"{file}: column '{untyped[0]}' has no values from which to infer its type; "
            f"add --column '{untyped[0]}:TYPE'"
        )
        raise click.ClickException(message)
    # A type given by --column replaces that of the file.
    return pa.schema([pa.field(f.name, pa.string()) if f.name in given else f for f in schema])


def _with_columns(schema: pa.Schema, columns: Sequence[str]) -> Schema:
    given = dict(map(_name_and_type, columns))
    if len(given) < len(columns):
        message = "--column names a column twice."
        raise click.UsageError(message)
    of_file = set(schema.names)
    # First all names with a placeholder type, then each type.
    named = Schema.from_arrow(pa.schema([*schema, *(pa.field(n, pa.string()) for n in given if n not in of_file)]))
    fields = (replace(f, type=column_type(given[f.name])) if f.name in given else f for f in named.fields)
    return replace(named, fields=tuple(fields))


def _name_and_type(column: str) -> tuple[str, str]:
    return name_and_type("--column", column, "NAME:TYPE such as amount:DECIMAL(10,2)")
