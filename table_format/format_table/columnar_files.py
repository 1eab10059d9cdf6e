"""Parquet and ORC files of any writer: columns are found by name, and converted to the types of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from table_format.errors import InvalidData, InvalidSchema
from table_format.formats.casts import cast_of
from table_format.formats.decoding import decoding
from table_format.formats.registry import format_of
from table_format.model.arrow_calls import nulls
from table_format.model.arrow_types import arrow_schema, arrow_type, fields_from_arrow
from table_format.model.types import DataField
from table_format.options.files import FileOptions
from table_format.options.format_table import FormatTableOptions

_BATCH_ROWS: Final = 65_536
_NAMES_OF_HIVE: Final = re.compile(r"_col\d+")
"""The names that Hive before 2.0 gives to all columns of an ORC file."""


def read_columnar(
    source: pa.NativeFile, path: str, file_format: str, columns: Sequence[DataField], wanted: Sequence[DataField]
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a file. ``columns`` are those of all files, in order. A column that it lacks is null.

    Raises:
        BadEncoding: the file is damaged. InvalidData: a column has a type that cannot become that of the table.
    """
    stored = _stored_fields(source, path, file_format)
    places = [_place(stored, columns, field) for field in wanted]
    found = [stored[place] for place in dict.fromkeys(p for p in places if p is not None)]
    reader = format_of(file_format).open_reader(source, path, use_threads=True)
    for batch in reader.batches(found, row_groups=None, batch_rows=_BATCH_ROWS):
        arrays = [
            nulls(batch.num_rows, arrow_type(field.type))
            if place is None
            else _converted(batch.column(stored[place].name), stored[place], field, path)
            for field, place in zip(wanted, places, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(wanted))


def row_count(source: pa.NativeFile, path: str, file_format: str) -> int:
    """Return the number of rows in a file, from its footer."""
    return format_of(file_format).open_reader(source, path, use_threads=True).row_count


def columnar_bytes(rows: Sequence[pa.RecordBatch], fields: Sequence[DataField], options: FormatTableOptions) -> bytes:
    """Return a file with these rows."""
    name = options.file_format
    sink = pa.BufferOutputStream()
    settings = FileOptions(compression=options.compression, orc_compression=options.compression)
    writer = format_of(name).open_writer(sink, fields, settings)
    for batch in rows:
        writer.write(batch)
    writer.close()
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _stored_fields(source: pa.NativeFile, path: str, file_format: str) -> tuple[DataField, ...]:
    with decoding(path, file_format):
        schema = pq.read_schema(source) if file_format == "parquet" else orc.ORCFile(source).schema
    try:
        return fields_from_arrow(schema)
    except InvalidSchema as error:
        message = f"{path}: {error}"
        raise InvalidData(message) from error


def _place(stored: Sequence[DataField], columns: Sequence[DataField], field: DataField) -> int | None:
    """Return the place of a column in a file: by its name, or by its name in another case, which Hive ignores."""
    names = [found.name for found in stored]
    if names and all(map(_NAMES_OF_HIVE.fullmatch, names)):
        place = list(columns).index(field)
        return place if place < len(names) else None
    if field.name in names:
        return names.index(field.name)
    lowered = [name.lower() for name in names]
    return lowered.index(field.name.lower()) if field.name.lower() in lowered else None


def _converted(array: pa.Array, stored: DataField, field: DataField, path: str) -> pa.Array:
    target = arrow_type(field.type)
    if array.type == target:
        return array
    cast = cast_of(stored.type, field.type)
    try:
        return array.cast(target) if cast is None else cast(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, InvalidData) as error:
        message = (
            f"{path}: column '{field.name}' is {stored.type.with_nullable(True)}, which cannot be read as "
            f"{field.type}: {error}"
        )
        raise InvalidData(message) from error
