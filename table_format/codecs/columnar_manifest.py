"""Manifests stored as Parquet or ORC (option ``manifest.format``).

When they are read, their rows are converted to an Avro container in memory, so that only one decoder needs to know the
fields and check the types. Their schema is that of the Avro container.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from table_format.codecs.avro import ContainerSchema, write_container
from table_format.errors import BadEncoding, LimitExceeded
from table_format.limits import MAX_AVRO_BYTES, MIN_ENTRIES_ALLOWANCE
from table_format.options.file_formats import ORC

_PARQUET_MAGIC: Final = b"PAR1"
_ORC_MAGIC: Final = b"ORC"
_TYPES: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "timestamp-millis": pa.timestamp("ms"),
}
"""Arrow types by the names of Avro types and logical types."""
_EPOCH: Final = datetime(1970, 1, 1)
_MILLISECOND: Final = timedelta(milliseconds=1)


def write_columnar(
    schema: ContainerSchema, records: Sequence[dict[str, Any]], *, file_format: str, compression: str
) -> bytes:
    """Return the bytes of a Parquet or ORC file (``file_format``) with the records, which may be none.

    ``compression`` is one of ``options.manifest.COLUMNAR_CODECS``.
    """
    rows = pa.Table.from_pylist(records, _arrow_schema(schema.text))
    sink = pa.BufferOutputStream()
    codec: Any = compression  # a Literal in the types of Arrow
    if file_format == ORC.name:
        codec = "uncompressed" if codec == "none" else codec
        pyarrow.orc.write_table(rows, sink, compression=codec)
    else:
        pyarrow.parquet.write_table(rows, sink, compression=codec, store_schema=False)
    return sink.getvalue().to_pybytes()


def is_columnar(data: bytes) -> bool:
    """Return whether the bytes begin like a Parquet or ORC file."""
    return data.startswith((_PARQUET_MAGIC, _ORC_MAGIC))


def as_container(data: bytes, schema: ContainerSchema, *, path: str, most: int | None = None) -> bytes:
    """Return the same records as an uncompressed Avro container; ``most`` is their maximum number, if known.

    Raises:
        BadEncoding: the file cannot be decoded, or its columns do not match the schema.
        LimitExceeded: the file declares more than any valid file contains.
    """
    if len(data) > MAX_AVRO_BYTES:
        message = f"a manifest of {len(data)} bytes; the maximum is {MAX_AVRO_BYTES}"
        raise LimitExceeded(path, message)
    try:
        rows = _read_rows(data, path, MIN_ENTRIES_ALLOWANCE + len(data) if most is None else most)
    except (pa.ArrowException, OSError, ValueError) as e:
        message = f"expected a manifest as Parquet or ORC, found {len(data)} bytes that cannot be decoded: {e}"
        raise BadEncoding(path, message) from e
    try:
        return write_container(schema, [_plain(row) for row in rows], compression="null")
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as e:
        message = f"the columns are not those of a manifest: {e!r}"
        raise BadEncoding(path, message) from e


def _read_rows(data: bytes, path: str, most: int) -> list[dict[str, Any]]:
    source = pa.BufferReader(data)
    if data.startswith(_ORC_MAGIC):
        orc_file = pyarrow.orc.ORCFile(source)
        _check_rows(orc_file.nrows, data, path, most)
        table = orc_file.read()
    else:
        parquet_file = pyarrow.parquet.ParquetFile(source)
        _check_rows(parquet_file.metadata.num_rows, data, path, most)
        table = parquet_file.read(use_threads=False)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _check_rows(rows: int, data: bytes, path: str, most: int) -> None:
    # No two entries are equal, so each takes at least one byte.
    if rows > min(most, len(data)):
        message = f"a manifest of {len(data)} bytes declares {rows} entries"
        raise LimitExceeded(path, message)


def _plain(value: Any) -> Any:  # noqa: ANN401 - a tree of rows
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MILLISECOND
    return value


@cache
def _arrow_schema(avro: bytes) -> pa.Schema:
    return pa.schema(_fields(json.loads(avro)))


def _fields(record: dict[str, Any]) -> list[pa.Field]:
    return [_field(member["name"], member["type"]) for member in record["fields"]]


def _field(name: str, of: Any) -> pa.Field:  # noqa: ANN401 - a type in an Avro schema
    is_nullable = isinstance(of, list)
    [found] = [part for part in of if part != "null"] if is_nullable else [of]
    return pa.field(name, _arrow_type(found), is_nullable)


def _arrow_type(of: Any) -> pa.DataType:  # noqa: ANN401 - a type in an Avro schema
    match of:
        case str():
            return _TYPES[of]
        case {"type": "record"}:
            return pa.struct(_fields(of))
        case {"type": "array", "items": items}:
            return pa.list_(_field("element", items))
    return _TYPES[of.get("logicalType", of["type"])]
