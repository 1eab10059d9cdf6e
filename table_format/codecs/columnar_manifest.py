"""Reads manifests stored as Parquet or ORC (option ``manifest.format``), which this library never writes.

Their rows are converted to an Avro container in memory, so that only one decoder needs to know the fields and check the
types.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from table_format.codecs.avro import ContainerSchema, write_container
from table_format.errors import BadEncoding, LimitExceeded
from table_format.limits import MAX_AVRO_BYTES, MIN_ENTRIES_ALLOWANCE

_PARQUET_MAGIC: Final = b"PAR1"
_ORC_MAGIC: Final = b"ORC"
_EPOCH: Final = datetime(1970, 1, 1)
_MILLISECOND: Final = timedelta(milliseconds=1)


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
