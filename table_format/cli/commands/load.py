"""The command ``load``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
import pyarrow as pa

from table_format import FormatTable, Table
from table_format.cli.arguments import partition_of, table_argument
from table_format.cli.input import INPUT_FORMATS, InputFormat, Rows, read_files
from table_format.cli.progress import progress_bar
from table_format.cli.session import Session
from table_format.counted import counted

ROW_KIND: Final = "_row_kind"
"""The column in which the library expects row kinds."""


@click.command()
@table_argument
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format", "-f", type=click.Choice(INPUT_FORMATS), help="Format of the files; by default from their extensions."
)
@click.option("--delimiter", metavar="CHAR", help="Separator of CSV fields; by default a comma.")
@click.option(
    "--row-kinds",
    metavar="COLUMN",
    default=ROW_KIND,
    help=f"The column with the row kinds +I, -U, +U and -D; by default {ROW_KIND}, if it exists.",
)
@click.option("--overwrite", is_flag=True, help="Replace the rows of --partition, or of the partitions in the input.")
@click.option("--partition", metavar="K=V[,K=V]", help="With --overwrite: the partition whose rows are replaced.")
@click.option("--commit-user", metavar="NAME", help="The commit user.")
@click.option(
    "--identifier", metavar="N", type=int, help="Load only once: a repeated identifier of the same user does nothing."
)
@click.pass_obj
def load(
    session: Session,
    table: str,
    files: Sequence[Path],
    *,
    format: str | None,
    delimiter: str | None,
    row_kinds: str,
    overwrite: bool,
    partition: str | None,
    commit_user: str | None,
    identifier: int | None,
) -> None:
    """Write the rows of files to a table in one commit; - is standard input.

    In a table with a primary key, a row replaces the older row with the same key. CSV files need a header line; an
    empty field is null.
    """
    if partition is not None and not overwrite:
        message = "--partition requires --overwrite."
        raise click.UsageError(message)
    if identifier is not None and commit_user is None:
        message = "--identifier requires --commit-user."
        raise click.UsageError(message)
    found = session.table(table)
    opened = found if isinstance(found, FormatTable) else session.data_table(table)
    if isinstance(opened, FormatTable) and commit_user is not None:
        message = "--commit-user and --identifier do not work on format tables, which have no commits."
        raise click.UsageError(message)
    if delimiter is not None:
        _check_delimiter(delimiter, format, files)
    loaded = _Counted()
    with progress_bar(f"loading {table}", "rows") as progress:
        rows = read_files(files, format, _wanted(opened, row_kinds), delimiter=delimiter or ",", progress=progress)
        reader = loaded.reader(_with_row_kinds(rows, row_kinds))
        spec = None if partition is None else partition_of(partition)
        if isinstance(opened, FormatTable):
            written = opened.overwrite(reader, partition=spec) if overwrite else opened.append(reader)
            said = f"Loaded {counted(loaded.rows, 'row', thousands=True)} into {opened.identifier}"
            click.echo(f"{said}: {counted(len(written), 'new file')}.")
            return
        if overwrite:
            made = opened.overwrite(reader, partition=spec, commit_user=commit_user, identifier=identifier)
        else:
            made = opened.append(reader, commit_user=commit_user, identifier=identifier)
    if not made and identifier is not None:
        click.echo(f"Nothing was loaded: user {commit_user} has already committed identifier {identifier}.")
        return
    snapshot = f"snapshot {made[-1].id}" if made else "no snapshot: there was nothing to change"
    click.echo(f"Loaded {counted(loaded.rows, 'row', thousands=True)} into {opened.identifier}: {snapshot}.")


def _check_delimiter(delimiter: str, format: str | None, files: Sequence[Path]) -> None:
    if len(delimiter) != 1:
        message = f"--delimiter: expected one character, found {delimiter!r}."
        raise click.UsageError(message)
    if all(InputFormat.of(format, file) is not InputFormat.CSV for file in files):
        message = "--delimiter is for CSV, and none of the files is CSV; remove it."
        raise click.UsageError(message)


class _Counted:
    """Counts the rows of a stream."""

    def __init__(self) -> None:
        self.rows = 0

    def reader(self, rows: Rows) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(rows.schema, self._counted(rows.batches))

    def _counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.rows += batch.num_rows
            yield batch


def _wanted(table: Table | FormatTable, row_kinds: str) -> pa.Schema:
    schema = table.arrow_schema
    return schema if row_kinds in schema.names else schema.append(pa.field(row_kinds, pa.string()))


def _with_row_kinds(rows: Rows, column: str) -> Rows:
    """Return the rows with their row kinds in the column that the library expects; a missing kind is +I."""
    if column not in rows.schema.names:
        if column != ROW_KIND:
            message = f"the files have no column '{column}' with row kinds; they have {', '.join(rows.schema.names)}"
            raise click.ClickException(message)
        return rows
    index = rows.schema.get_field_index(column)
    schema = rows.schema.set(index, pa.field(ROW_KIND, pa.string()))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows.batches:
            columns = list(batch.columns)
            columns[index] = _kinds(columns[index])
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return Rows(schema, batches())


def _kinds(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()).fill_null("+I")
