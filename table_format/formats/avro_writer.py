"""Writes one Avro file as Java Paimon 1.3 does: the root is a plain record, and each small block is compressed.

Java 0.9 wrapped the root in a union, but it also reads plain records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from table_format.codecs.avro import SYNC_BYTES, container_header, long_bytes
from table_format.codecs.block_compression import avro_codec, compress
from table_format.errors import InvalidData
from table_format.formats.avro_encoding import encoded_rows
from table_format.formats.avro_types import avro_schema
from table_format.formats.codecs import checked_codec
from table_format.formats.measured_bounds import MeasuredBounds
from table_format.formats.protocol import WrittenFile
from table_format.formats.sinks import CountingSink
from table_format.limits import KIB, MAX_AVRO_BLOCK_BYTES
from table_format.model.arrow_types import arrow_type
from table_format.model.types import DataField
from table_format.options.files import FileOptions

_BLOCK_BYTES: Final = 64 * KIB
"""The size of the Arrow data in a block, in bytes. Java closes its blocks at 64000 encoded bytes."""

_ROWS_MAY_BE_LARGE_FROM: Final = MAX_AVRO_BLOCK_BYTES // 32
"""Encoded rows take less than 32 times the memory of their Arrow data, even if these are single bits."""


def check_rows(columns: Sequence[pa.Array], fields: Sequence[DataField]) -> None:
    """Refuse a row that is larger than any block. Only rows that may be are encoded: batches are halved until none is.

    Raises:
        InvalidData: names the sizes.
    """
    if sum(column.nbytes for column in columns) < _ROWS_MAY_BE_LARGE_FROM:
        return
    rows = len(columns[0])
    if rows > 1:
        half = rows // 2
        check_rows([column.slice(0, half) for column in columns], fields)
        check_rows([column.slice(half) for column in columns], fields)
        return
    size = len(encoded_rows(columns, [field.type for field in fields]))
    if size > MAX_AVRO_BLOCK_BYTES:
        raise _too_large(size)


class AvroFileWriter:
    """Writes one file; see ``FormatWriter``."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> None:
        self._sink = CountingSink(sink)
        self._fields = tuple(fields)
        self._types = [arrow_type(f.type) for f in fields]
        self._schema = json.dumps(avro_schema(fields), separators=(",", ":"), ensure_ascii=False).encode()
        self._codec = avro_codec(checked_codec("avro", options))
        self._zstd_level = options.zstd_level
        self._bounds = MeasuredBounds(fields)
        self._rows = 0
        self._sync = b""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows whose columns are the fields of the file, in order.

        Raises:
            InvalidData: the columns do not match the fields, or a value cannot be stored.
        """
        if batch.schema.types != self._types:
            message = f"expected columns of types {list(map(str, self._types))}, found {batch.schema}"
            raise InvalidData(message)
        self._bounds.add(batch)
        rows_per_block = max(int(_BLOCK_BYTES * batch.num_rows / max(batch.nbytes, 1)), 1)
        for start in range(0, batch.num_rows, rows_per_block):
            self._write_block(batch.slice(start, rows_per_block))
        self._rows += batch.num_rows

    def reaches(self, target_bytes: int) -> bool:
        """Return whether the file has reached ``target_bytes`` bytes."""
        return self._sink.tell() >= target_bytes

    def close(self) -> WrittenFile:
        """Write the buffered rows and the end of the file, and return the facts of the file."""
        if not self._rows:
            self._begin(b"")
        return WrittenFile(self._rows, self._sink.tell(), self._bounds.result())

    def discard(self) -> None:
        """Do nothing, because nothing is buffered."""

    def _write_block(self, batch: pa.RecordBatch) -> None:
        rows = encoded_rows(batch.columns, [f.type for f in self._fields])
        if len(rows) > MAX_AVRO_BLOCK_BYTES:
            if batch.num_rows == 1:
                raise _too_large(len(rows))
            half = batch.num_rows // 2
            self._write_block(batch.slice(0, half))
            self._write_block(batch.slice(half))
            return
        if not self._sync:
            self._begin(rows)
        stored = compress(self._codec, rows, zstd_level=self._zstd_level)
        self._sink.write(b"".join((long_bytes(batch.num_rows), long_bytes(len(stored)), stored, self._sync)))

    def _begin(self, first_block: bytes) -> None:
        # Equal rows produce equal files. The marker only has to be unlikely inside blocks.
        self._sync = hashlib.blake2b(self._schema + first_block, digest_size=SYNC_BYTES).digest()
        self._sink.write(container_header(self._schema, self._codec, self._sync))


def _too_large(size: int) -> InvalidData:
    return InvalidData(f"a row of {size} bytes; the maximum in an Avro file is {MAX_AVRO_BLOCK_BYTES}")
