"""Writes one Parquet file as Java Paimon does: same schema and field ids, data pages v1, a checksum for each page.

Rows are collected up to a row group, which is encoded in memory and then moved to the sink. Bounds are taken from the
footer, except where Arrow's statistics are missing or would mislead readers: NaN, INT96, very long values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from table_format.errors import InvalidData
from table_format.formats.codecs import checked_codec
from table_format.formats.hidden_nulls import may_hide_nulls, without_hidden_nulls
from table_format.formats.parquet_bounds import MAX_STATISTICS_BYTES, footer_bounds, leaf_positions
from table_format.formats.parquet_dictionary import dictionary_columns
from table_format.formats.parquet_footer import rewrite_tail
from table_format.formats.parquet_types import holds_int96, int96_paths, is_int96, parquet_schema, to_storage
from table_format.formats.protocol import WrittenFile
from table_format.formats.sinks import EncodedBytes
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.statistics import column_bounds, has_nan, merge_bounds
from table_format.limits import MIB
from table_format.model.arrow_types import arrow_type
from table_format.model.types import NESTED, DataField, DataType
from table_format.options.files import FileOptions

MAX_ROW_GROUP_ROWS: Final = 1_000_000
ROW_GROUP_BYTES: Final = 64 * MIB
"""The default size of the Arrow data in a row group, in bytes, which is also the memory that one open file takes.

The option ``file.block-size`` changes it.
"""

_SMALL_CHUNK_ROWS: Final = 4096
_CLOSE_ENOUGH: Final = 0.95
_CODECS: Final = {"none": "NONE", "zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "lz4": "LZ4"}


class ParquetFileWriter:
    """Writes one file; see ``FormatWriter``."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> None:
        self._sink = sink
        self._encoded = EncodedBytes()
        self._fields = tuple(fields)
        self._types = [arrow_type(f.type) for f in fields]
        self._options = options
        self._schema = parquet_schema(fields)
        self._int96 = int96_paths(fields)
        self._group_bytes = options.block_size or ROW_GROUP_BYTES
        self._writer: pq.ParquetWriter | None = None
        self._metadata: list[pq.FileMetaData] = []
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._encoded_bytes = 0
        # For each row group, the bounds that the footer will not contain, by column.
        self._measured: list[list[ColumnBounds | None]] = []
        self._with_nan: set[tuple[str, ...]] = set()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows whose columns are the fields of the file, in order.

        Raises:
            InvalidData: the columns do not match the fields, or a value cannot be stored.
        """
        if batch.schema.types != self._types:
            message = f"expected columns of types {list(map(str, self._types))}, found {batch.schema}"
            raise InvalidData(message)
        for piece in self._pieces(batch):
            self._pending.append(piece)
            self._pending_rows += piece.num_rows
            self._pending_bytes += piece.nbytes
            if self._pending_rows >= MAX_ROW_GROUP_ROWS or self._pending_bytes >= self._group_bytes:
                self._encode()

    def reaches(self, target_bytes: int) -> bool:
        """Return whether the file, with its buffered rows, has reached ``target_bytes`` bytes."""
        ratio = self._encoded.total / self._encoded_bytes if self._encoded_bytes else 1.0
        if self._encoded.total + self._pending_bytes * ratio < target_bytes:
            return False
        # This is only an estimate: encode the buffered rows to get the actual size.
        self._encode()
        return self._encoded.total >= target_bytes * _CLOSE_ENOUGH

    def close(self) -> WrittenFile:
        """Write the buffered rows and the end of the file, and return the facts of the file."""
        self._encode()
        writer = self._open([]) if self._writer is None else self._writer
        self._encoded.moved_to(self._sink)
        writer.close()
        if self._int96 or self._with_nan:
            footer = self._encoded.getvalue()
            self._encoded.exchange(rewrite_tail(footer, int96=self._int96, without_statistics=self._with_nan))
        self._encoded.moved_to(self._sink)
        metadata = self._metadata[0]
        return WrittenFile(metadata.num_rows, self._encoded.total, tuple(self._bounds(metadata)))

    def discard(self) -> None:
        """Discard the buffered rows; the file stays incomplete."""
        self._pending.clear()
        if self._writer is not None:
            # Closing writes a footer to memory. It is not needed, and neither are its errors after a failed write.
            with suppress(pa.ArrowException, OSError, RuntimeError):
                self._writer.close()

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the batch in parts small enough to keep the row group near its target size."""
        row_bytes = max(batch.nbytes / max(batch.num_rows, 1), 1)
        start = 0
        while start < batch.num_rows:
            room = int((self._group_bytes - self._pending_bytes) / row_bytes) + 1
            rows = max(min(room, MAX_ROW_GROUP_ROWS - self._pending_rows), 1)
            yield batch.slice(start, rows)
            start += rows

    def _encode(self) -> None:
        """Write the buffered rows as one row group."""
        if not self._pending_rows:
            return
        columns = [pa.chunked_array([b.column(i) for b in self._pending]) for i in range(len(self._fields))]
        if len(self._pending) * _SMALL_CHUNK_ROWS > self._pending_rows:
            columns = [pa.chunked_array([column.combine_chunks()]) for column in columns]
        self._measured.append([self._measure(c, f) for c, f in zip(columns, self._fields, strict=True)])
        stored = [_stored(c, f.type) for c, f in zip(columns, self._fields, strict=True)]
        if self._writer is None:
            self._writer = self._open(stored)
        try:
            self._writer.write_table(pa.Table.from_arrays(stored, schema=self._schema), MAX_ROW_GROUP_ROWS)
        except pa.ArrowInvalid as error:
            message = f"rows cannot be stored in a Parquet file: {error}"
            raise InvalidData(message) from error
        self._encoded.moved_to(self._sink)
        self._encoded_bytes += self._pending_bytes
        self._pending.clear()
        self._pending_rows = self._pending_bytes = 0

    def _open(self, first: Sequence[pa.ChunkedArray]) -> pq.ParquetWriter:
        has_statistics = [f.name for f in self._fields if not isinstance(f.type, NESTED) and not is_int96(f.type)]
        dictionary: bool | list[str] | None = self._options.parquet_dictionary
        if dictionary is None:
            dictionary = dictionary_columns((f.name, column) for f, column in zip(self._fields, first, strict=False))
        compression = checked_codec("parquet", self._options)
        # Delta encodings would be smaller, but Java 0.9 cannot read them.
        return pq.ParquetWriter(
            self._encoded,
            self._schema,
            version="1.0",
            data_page_version="1.0",
            compression=cast("Any", _CODECS[compression]),  # the stubs accept only lower-case names
            compression_level=self._options.zstd_level if compression == "zstd" else None,
            use_dictionary=cast("bool", dictionary),  # or column names
            write_statistics=has_statistics,
            write_page_checksum=True,
            write_page_index=True,
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            metadata_collector=self._metadata,
        )

    def _measure(self, column: pa.ChunkedArray, field: DataField) -> ColumnBounds | None:
        """Return the bounds of a column whose statistics in the footer will be missing or wrong, else ``None``."""
        if is_int96(field.type) or _has_long_values(column):
            return column_bounds(column, field.type)
        if has_nan(column):
            self._with_nan.add((field.name,))
            return ColumnBounds(None, None, column.null_count, len(column))
        return None

    def _bounds(self, metadata: pq.FileMetaData) -> Iterator[ColumnBounds]:
        positions = leaf_positions(self._schema)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        for index, field in enumerate(self._fields):
            yield merge_bounds(
                measured[index] or footer_bounds(group, positions[index], field.type)
                for group, measured in zip(groups, self._measured, strict=True)
            )


def _stored(column: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray:
    if holds_int96(data_type):
        column = pa.chunked_array([to_storage(chunk, data_type) for chunk in column.chunks])
    if may_hide_nulls(column.type):
        column = pa.chunked_array([without_hidden_nulls(chunk) for chunk in column.chunks])
    return column


def _has_long_values(column: pa.ChunkedArray) -> bool:
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return False
    longest = pc.max(pc.binary_length(column)).as_py()
    return longest is not None and longest > MAX_STATISTICS_BYTES
