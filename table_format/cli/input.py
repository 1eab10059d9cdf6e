"""Reads CSV, JSON lines and Parquet files as a stream of batches."""

from __future__ import annotations

import base64
import binascii
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final

import click
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as json
import pyarrow.parquet as pq
import pyarrow.types as pt

from table_format.cli.values import is_bytes

BATCH_ROWS: Final = 65_536


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
                found = _read_json_lines(file, name, wanted)
            case InputFormat.PARQUET:
                parquet = pq.ParquetFile(file)
                return Rows(parquet.schema_arrow, _named(name, parquet.iter_batches(BATCH_ROWS)))
    by_name = {field.name: field for field in wanted}
    fields = [pa.field(f.name, by_name[f.name].type) if f.name in by_name else f for f in found.schema]
    schema = pa.schema(fields)
    converted = (pa.RecordBatch.from_arrays(_converted(batch, schema), schema=schema) for batch in found.batches)
    return Rows(schema, _named(name, converted))


def _open(path: Path) -> pa.NativeFile:
    """Open a file without Python's file objects.

    Arrow reads ahead in threads of its own. After an error, such a thread may call a Python file object while the
    process ends, which aborts the process.
    """
    try:
        return pa.OSFile(str(path), "rb")
    except OSError as error:
        # Arrow's message repeats the path and the error number.
        raise type(error)(error.errno, os.strerror(error.errno), str(path)) if error.errno else error from error


# --- formats --------------------------------------------------------------------------------------------------------


def _read_csv(file: BinaryIO | pa.NativeFile, wanted: pa.Schema, delimiter: str) -> Rows:
    # An empty field is null; a quoted empty field is an empty string.
    reader = csv.open_csv(
        file,  # type: ignore[arg-type]  # its stubs know no Arrow files
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types={f.name: _type_in_text(f.type) for f in wanted},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    return Rows(reader.schema, iter(reader))


def _read_json_lines(file: BinaryIO | pa.NativeFile, name: str, wanted: pa.Schema) -> Rows:
    types = pa.schema([pa.field(f.name, _type_in_json(name, f)) for f in wanted])
    reader = json.open_json(
        file,  # type: ignore[arg-type]  # its stubs know no Arrow files
        parse_options=json.ParseOptions(explicit_schema=types, unexpected_field_behavior="infer"),
    )
    return Rows(reader.schema, iter(reader))


def _type_in_text(data_type: pa.DataType) -> pa.DataType:
    return pa.string() if is_bytes(data_type) else data_type


def _type_in_json(name: str, field: pa.Field) -> pa.DataType:
    """Return the type with which Arrow reads the values. Types that it cannot read are read as text and converted."""
    data_type: pa.DataType = field.type
    if is_bytes(data_type) or pt.is_date(data_type) or pt.is_time(data_type):
        return pa.string()
    if _holds(data_type, lambda t: is_bytes(t) or pt.is_date(t) or pt.is_time(t) or pt.is_map(t)):
        message = f"{name}: column '{field.name}' of type {data_type} cannot be loaded from JSON lines; use Parquet"
        raise click.ClickException(message)
    return data_type


def _holds(data_type: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    inner = (data_type.field(i).type for i in range(data_type.num_fields))
    return test(data_type) or any(_holds(each, test) for each in inner)


def _converted(batch: pa.RecordBatch, schema: pa.Schema) -> list[pa.Array]:
    return [
        column if column.type == field.type else _from_text(field, column)
        for column, field in zip(batch.columns, schema, strict=True)
    ]


def _from_text(field: pa.Field, column: pa.Array) -> pa.Array:
    if is_bytes(field.type):
        values = [None if text is None else _bytes_of(field.name, text) for text in column.to_pylist()]
        return _cast(pa.array(values, pa.binary()), field.type)
    if pt.is_time(field.type):
        # Arrow reads timestamps; take the time of day from them.
        instants: pa.Array = pa.array([None if text is None else f"1970-01-01 {text}" for text in column.to_pylist()])
        return _cast(instants.cast(pa.timestamp("us")).cast(pa.time64("us")), field.type)
    return _cast(column, field.type)


def _cast(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    converted: pa.Array = column.cast(data_type)
    return converted


def _bytes_of(column: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        message = f"column '{column}' holds bytes: expected Base64, found {text[:40]!r}"
        raise click.ClickException(message) from error


# --- errors ---------------------------------------------------------------------------------------------------------


def _named(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with _naming(name):
        yield from batches


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Convert errors of Arrow about a file to errors with its name."""
    try:
        yield
    except pa.ArrowException as error:
        message = f"{name}: {error}"
        raise click.ClickException(message) from error


def _columns(rows: Rows) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in rows.schema)
