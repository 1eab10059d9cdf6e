"""Reads CSV, JSON lines and Parquet files as a stream of batches."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from csv import reader as csv_rows
from dataclasses import dataclass
from enum import StrEnum
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pyarrow.types as pt

from table_format.cli.from_text import column_from_text
from table_format.cli.json_lines import read_json_lines
from table_format.cli.values import is_bytes
from table_format.types import type_from_arrow

BATCH_ROWS: Final = 65_536
_HEAD_BYTES: Final = 65_536
_CELL: Final = re.compile(
    r"In CSV column #(?P<column>\d+): (?:Row #(?P<row>\d+): )?(?:CSV conversion error to [^:]*: )?(?P<reason>.*)",
    re.DOTALL,
)


class InputFormat(StrEnum):
    """The format of an input file."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"

    @classmethod
    def of(cls, given: str | None, path: Path) -> InputFormat:
        """Return the given format, or the one of the file extension.

        Raises:
            click.UsageError: the extension is unknown.
        """
        if given is not None:
            return cls(given)
        found = _BY_ENDING.get(path.suffix.lower())
        if found is None:
            message = f"the format of '{path}' is not clear from its extension; add --format."
            raise click.UsageError(message)
        return found


INPUT_FORMATS: Final = tuple(each.value for each in InputFormat)
_BY_ENDING: Final = {
    ".csv": InputFormat.CSV,
    ".jsonl": InputFormat.JSONL,
    ".ndjson": InputFormat.JSONL,
    ".json": InputFormat.JSONL,
    ".parquet": InputFormat.PARQUET,
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The columns of a file and a stream of its rows."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


def columns_of_file(path: Path, format: InputFormat) -> pa.Schema:
    """Return the columns of a file; for CSV and JSON lines, inferred from the beginning of the file.

    Raises:
        click.ClickException: the file cannot be read.
    """
    with _open(path) as file:
        return read_file(file, str(path), format, pa.schema([])).schema


def read_files(
    paths: Sequence[Path],
    format: str | None,
    wanted: pa.Schema,
    *,
    delimiter: str = ",",
    progress: Callable[[int, int | None], None],
) -> Rows:
    """Return the rows of all files, one file after the other. ``wanted`` are the expected columns with their types.

    Other columns are kept, with types inferred from their values. ``progress`` gets the number of rows so far.

    Raises:
        click.UsageError: the format of a file is not known.
        click.ClickException: a file cannot be read, or its columns differ from those of the first file.
    """
    formats = [InputFormat.of(format, path) for path in paths]

    def opened(number: int) -> Rows:
        path = paths[number]
        file = sys.stdin.buffer if str(path) == "-" else _open(path)
        return read_file(file, str(path), formats[number], wanted, delimiter=delimiter)

    first = opened(0)

    def batches() -> Iterator[pa.RecordBatch]:
        rows = 0
        for number, path in enumerate(paths):
            source = first if number == 0 else opened(number)
            if source.schema != first.schema:
                message = f"{path} has other columns than {paths[0]}: {_columns(source)} instead of {_columns(first)}"
                raise click.ClickException(message)
            for batch in source.batches:
                rows += batch.num_rows
                progress(rows, None)
                yield batch

    return Rows(first.schema, batches())


def read_file(
    file: BinaryIO | pa.NativeFile, name: str, format: InputFormat, wanted: pa.Schema, *, delimiter: str = ","
) -> Rows:
    """Return the rows of one file. Errors call it ``name``.

    Raises:
        click.ClickException: the file cannot be read.
    """
    with _naming(name):
        match format:
            case InputFormat.CSV:
                found = _read_csv(file, wanted, delimiter)
            case InputFormat.JSONL:
                found = _read_json_lines(file, wanted)
            case InputFormat.PARQUET:
                if not file.seekable():
                    message = "Parquet cannot be read from a pipe; name the file itself"
                    raise click.ClickException(message)
                parquet = pq.ParquetFile(file)
                return Rows(parquet.schema_arrow, _named(name, parquet.iter_batches(BATCH_ROWS)))
    by_name = {field.name: field for field in wanted}
    fields = [pa.field(f.name, by_name[f.name].type) if f.name in by_name else f for f in found.schema]
    schema = pa.schema(fields)
    converted = (pa.RecordBatch.from_arrays(_converted(batch, schema), schema=schema) for batch in found.batches)
    return Rows(schema, _named(name, converted))


def _open(path: Path) -> BufferedReader | pa.NativeFile:
    """Open a file without Python's file objects, except a named pipe, which Arrow cannot open.

    Arrow reads ahead in threads of its own. After an error, such a thread may call a Python file object while the
    process ends, which aborts the process.
    """
    if path.is_fifo():
        return path.open("rb")
    try:
        return pa.OSFile(str(path), "rb")
    except OSError as error:
        # Arrow's message repeats the path and the error number.
        raise type(error)(error.errno, os.strerror(error.errno), str(path)) if error.errno else error from error


# --- formats --------------------------------------------------------------------------------------------------------


def _read_csv(file: BinaryIO | pa.NativeFile, wanted: pa.Schema, delimiter: str) -> Rows:
    if not isinstance(file, pa.NativeFile | BufferedReader):
        file = BufferedReader(file)  # type: ignore[type-var]  # needs no more than to read bytes
    names = _names(file, delimiter)
    if len(wanted) and not {name.lower() for name in names} & {name.lower() for name in wanted.names}:
        message = (
            f"the first line of a CSV file has the names of its columns, found {', '.join(names)}; the columns of the "
            f"table are {', '.join(wanted.names)}"
        )
        raise click.ClickException(message)
    for field in wanted:
        if field.name in names and pt.is_nested(field.type):
            message = (
                f"column '{field.name}' is {type_from_arrow(field.type)}: use JSON lines or Parquet instead of CSV"
            )
            raise click.ClickException(message)
    plain = [field for field in wanted if not pt.is_nested(field.type)]
    with _naming_cells(names):
        # An empty field is null; a quoted empty field is an empty string.
        reader = csv.open_csv(
            file,  # type: ignore[arg-type]  # its stubs know no Arrow files
            # With threads, errors have no row number, and the reader is hardly faster.
            read_options=csv.ReadOptions(use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types={f.name: _type_in_text(f.type) for f in plain},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )
    return Rows(reader.schema, _batches(reader, reader.schema.names))


def _batches(reader: csv.CSVStreamingReader, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with _naming_cells(names):
        yield from reader


def _names(file: BufferedReader[Any] | pa.NativeFile, delimiter: str) -> Sequence[str]:
    """Return the column names of a CSV file that has not been read yet."""
    if isinstance(file, BufferedReader):
        head = file.peek(_HEAD_BYTES)
    else:
        head = file.read(_HEAD_BYTES)
        file.seek(0)
    if not head:
        message = "the file is empty; the first line of a CSV file has the names of its columns"
        raise click.ClickException(message)
    lines = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
    return next(csv_rows(lines, delimiter=delimiter), ())


@contextmanager
def _naming_cells(names: Sequence[str]) -> Iterator[None]:
    """Convert errors of Arrow about a cell of a CSV file to errors with the column and the row."""
    try:
        yield
    except pa.ArrowInvalid as error:
        found = _CELL.match(str(error))
        if found is None or int(found["column"]) >= len(names):
            raise
        row = f"row {found['row']}, " if found["row"] else ""
        message = f"{row}column '{names[int(found['column'])]}': {found['reason']}"
        raise click.ClickException(message) from error


def _read_json_lines(file: BinaryIO | pa.NativeFile, wanted: pa.Schema) -> Rows:
    batches = read_json_lines(file, wanted)
    first = next(batches, pa.RecordBatch.from_pylist([]))
    return Rows(first.schema, chain([first], batches))


def _type_in_text(data_type: pa.DataType) -> pa.DataType:
    return pa.string() if is_bytes(data_type) else data_type


def _converted(batch: pa.RecordBatch, schema: pa.Schema) -> list[pa.Array]:
    return [
        column if column.type == field.type else column_from_text(field, column)
        for column, field in zip(batch.columns, schema, strict=True)
    ]


# --- errors ---------------------------------------------------------------------------------------------------------


def _named(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with _naming(name):
        yield from batches


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Convert errors of Arrow about a file to errors with its name."""
    try:
        yield
    except click.ClickException as error:
        message = f"{name}: {error.message}"
        raise click.ClickException(message) from error
    except pa.ArrowException as error:
        message = f"{name}: {error}"
        raise click.ClickException(message) from error


def _columns(rows: Rows) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in rows.schema)
