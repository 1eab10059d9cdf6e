"""Queries with DuckDB in this process: read-only, without Spark and Java."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click
import pyarrow as pa

from table_format.cli.errors import first_line
from table_format.cli.output import Limited, Target, write_rows
from table_format.cli.session import Session
from table_format.extras import require

BATCH_ROWS: Final = 65_536


def run_on_duckdb(session: Session, text: str, *, limit: int | None, target: Target) -> None:
    """Run a query and write its rows as a stream.

    Raises:
        PackageMissing: duckdb is not installed.
        click.ClickException: DuckDB refuses the query.
        TableFormatError: the text is not a query, or a table cannot be read.
    """
    duckdb = require("duckdb")
    from table_format.duckdb_sql import query

    try:
        reader = query(session.catalog, text).to_arrow_reader(BATCH_ROWS)
        write_rows(Limited(_Rows(reader), limit), target)
    except duckdb.Error as error:
        raise click.ClickException(first_line(error)) from error


@dataclass(frozen=True, slots=True)
class _Rows:
    """An Arrow stream with the interface ``Reading``."""

    reader: pa.RecordBatchReader

    @property
    def schema(self) -> pa.Schema:
        return self.reader.schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self.reader)
