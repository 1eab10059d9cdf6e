"""The commands ``doctor`` and ``analyze``."""

from __future__ import annotations

from collections.abc import Sequence

import click
import pyarrow as pa

from table_format import data_tables
from table_format.cli.arguments import (
    TableName,
    existing_partitions,
    names_of,
    partition_option,
    partitions_of,
    table_argument,
)
from table_format.cli.errors import FAILED, one_line
from table_format.cli.output import Format, Target, output_options, write_batches
from table_format.cli.progress import spinner
from table_format.cli.session import Session
from table_format.cli.statistics import columns_of, rows_of, summary_of
from table_format.errors import CorruptionError


@click.command()
@click.argument("tables", metavar="[TABLE]...", nargs=-1, type=TableName())
@click.option(
    "--depth",
    type=click.Choice(["metadata", "files", "rows"]),
    default="files",
    show_default=True,
    help="Check snapshots and manifests; also all files; also all rows.",
)
@partition_option
@click.option("--repair", is_flag=True, help="Correct wrong hint files; change nothing else.")
@click.pass_context
def doctor(
    context: click.Context, tables: Sequence[str], *, depth: str, partitions: Sequence[str], repair: bool
) -> None:
    """Check that the files, metadata and rows of tables agree. Without TABLE, check all tables except format tables.

    The exit code is 1 if a read fails or returns wrong rows. docs/verification.md lists the checks.
    """
    session: Session = context.obj
    is_healthy = True
    for name in tables or data_tables(session.catalog):
        try:
            opened = session.data_table(name)
            with spinner(f"checking {name}"):
                # Of all tables, some may lack the partition.
                chosen = existing_partitions(opened, partitions) if tables else partitions_of(partitions)
                report = opened.verify(depth=depth, partitions=chosen, repair=repair)
        except (CorruptionError, OSError) as error:
            if tables:
                raise
            # The other tables are checked all the same.
            click.echo(f"{name}: it cannot be read: {one_line(error)}")
            is_healthy = False
            continue
        click.echo(str(report))
        is_healthy = is_healthy and report.is_healthy
    if not is_healthy:
        context.exit(FAILED)


@click.command()
@table_argument
@click.option(
    "--columns", "-c", metavar="NAMES", help="Also compute distinct values, nulls and bounds of these columns."
)
@output_options
@click.pass_obj
def analyze(session: Session, table: str, *, columns: str | None, format: str | None, output: str | None) -> None:
    """Compute the statistics of a table and show them."""
    opened = session.data_table(table)
    with spinner(f"reading {table}"):
        made = opened.analyze(names_of(columns))
    if not made:
        click.echo(f"Table {table} has no snapshot, so there is nothing to count.")
        return
    (stored,) = pa.Table.from_batches(session.reading(f"{table}$statistics").to_batches()).to_pylist()
    if format is not None or output is not None:
        rows = rows_of(stored)
        write_batches(rows.schema, [rows], Target.of(format, output))
        return
    click.echo(f"Table {table} has {summary_of(stored)}.")
    measured = columns_of(stored)
    if measured.num_rows:
        write_batches(measured.schema, [measured], Target(Format.TABLE))
