"""Reads one Avro file: locates its blocks, then decodes them one by one into batches of bounded size.

Rows are always decoded completely, because Avro does not store columns separately. Avro has no statistics by which
blocks could be skipped, and no checksums except those of the compression: a damaged value in an uncompressed file may
go unnoticed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.codecs.avro import SYNC_BYTES, ContainerHeader, Cursor, decode_block, read_header
from table_format.codecs.avro_schema import reading_schema
from table_format.codecs.block_compression import decompress
from table_format.codecs.pretty_json import load_json_value
from table_format.errors import BadEncoding, Truncated
from table_format.formats.avro_decoding import decoded_column
from table_format.formats.avro_types import avro_schema
from table_format.formats.deleted_rows import only_selected
from table_format.formats.nested import empty_columns
from table_format.formats.protocol import RowGroupFilter
from table_format.limits import KIB, MAX_AVRO_BLOCK_BYTES, MIB
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import DataField

_FIRST_READ: Final = 64 * KIB
_BLOCK_HEADER_BYTES: Final = 20
_BATCH_BYTES: Final = 8 * MIB
"""The maximum size of the encoded rows of one batch. As Python objects, rows take many times that."""


@dataclass(frozen=True, slots=True)
class _Block:
    offset: int
    size: int
    rows: int


class AvroFileReader:
    """Reads one file; see ``FormatReader``."""

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path
        self._size = source.size()
        self._header, start = self._read_header()
        self._blocks = list(self._find_blocks(start))
        self._names = _column_names(self._header.schema, path)

    @property
    def row_count(self) -> int:
        """The number of rows in the file."""
        return sum(block.rows for block in self._blocks)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the file in order."""
        return self._names

    def batches(
        self,
        fields: Sequence[DataField],
        *,
        row_groups: RowGroupFilter | None,  # noqa: ARG002 - there are no bounds to test
        batch_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns ``fields``, at most ``batch_rows`` rows at a time.

        Raises:
            BadEncoding: the content does not match the header, or the types do not match those of ``fields``.
        """
        if not fields:
            rows_in_all = self.row_count
            for start in range(0, rows_in_all, batch_rows):
                yield empty_columns(min(batch_rows, rows_in_all - start))
            return
        # In thin files, one column may be requested twice: as a key and as a value.
        schema = self._reading_schema({f.name: f for f in fields})
        records: list[dict[str, Any]] = []
        size = 0
        for block in self._blocks:
            data = self._read(block.offset, block.size)
            rows = decompress(self._header.codec, data, path=self._path, allowance=MAX_AVRO_BLOCK_BYTES)
            records += decode_block(schema, rows, block.rows, self._path)
            size += len(rows)
            if len(records) >= batch_rows or size >= _BATCH_BYTES:
                yield from self._batches_of(records, fields, batch_rows)
                records, size = [], 0
        yield from self._batches_of(records, fields, batch_rows)

    def _reading_schema(self, fields: Mapping[str, DataField]) -> Any:  # noqa: ANN401 - a parsed schema has no type
        """Return the schema for decoding records. Writers other than Java declare every column as nullable."""
        for name, field in fields.items():
            if not field.type.nullable and name not in self._names:
                raise BadEncoding(self._path, f"the record lacks the field '{name}'")
        nullable = [replace(field, type=field.type.with_nullable(True)) for field in fields.values()]
        wanted = json.dumps(avro_schema(nullable)).encode()
        return reading_schema(self._header.schema, wanted, path=self._path)

    def selected(
        self,
        fields: Sequence[DataField],
        positions: npt.NDArray[np.int64],
        *,
        row_groups: RowGroupFilter | None,
        batch_rows: int,
    ) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
        """Yield the rows at these positions. See ``FormatReader``."""
        batches = self.batches(fields, row_groups=row_groups, batch_rows=batch_rows)
        yield from only_selected(batches, [range(self.row_count)], positions, path=self._path)

    def _batches_of(
        self, records: list[dict[str, Any]], fields: Sequence[DataField], batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(records), batch_rows):
            rows = records[start : start + batch_rows]
            try:
                columns = [decoded_column([row.get(f.name) for row in rows], f.type) for f in fields]
                batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields))
            except (pa.ArrowException, ValueError, KeyError, OverflowError) as error:
                raise BadEncoding(self._path, f"not a valid Avro file: {error}") from error
            for field, column in zip(fields, columns, strict=True):
                # A value with too many digits becomes null in any column, as in the reference.
                if column.null_count and not field.type.nullable and any(row.get(field.name) is None for row in rows):
                    raise BadEncoding(self._path, f"column '{field.name}' may not be null")
            yield batch

    def _read_header(self) -> tuple[ContainerHeader, int]:
        """Return the header and the position of its end."""
        size = min(_FIRST_READ, self._size)
        while True:
            cursor = Cursor(self._read(0, size), self._path)
            try:
                return read_header(cursor), cursor.at
            except Truncated:
                if size == self._size:
                    raise
                size = min(size * 2, self._size)

    def _find_blocks(self, start: int) -> Iterator[_Block]:
        """Yield the positions of the blocks, and check the sync marker after each."""
        mark = b""
        while True:
            ahead = self._read(start, min(len(mark) + _BLOCK_HEADER_BYTES, self._size - start))
            if ahead[: len(mark)] != mark:
                raise BadEncoding(self._path, f"the sync marker is missing at byte {start}")
            start += len(mark)
            if start == self._size:
                return
            cursor = Cursor(ahead[len(mark) :], self._path)
            rows, size = cursor.long(), cursor.long()
            start += cursor.at
            if rows < 1 or not 0 <= size <= self._size - start - SYNC_BYTES:
                raise BadEncoding(self._path, f"the block at byte {start} states {rows} rows and {size} bytes")
            yield _Block(start, size, rows)
            start += size
            mark = self._header.sync

    def _read(self, offset: int, size: int) -> bytes:
        self._source.seek(offset)
        data: bytes = self._source.read(size)
        if len(data) != size:
            raise Truncated(self._path, expected_bytes=offset + size, found_bytes=offset + len(data))
        return data


def _column_names(schema: bytes, path: str) -> tuple[str, ...]:
    root = load_json_value(schema, path=path)
    if isinstance(root, list):
        # Release 0.9 wrote records in this form.
        root = next((branch for branch in root if isinstance(branch, dict)), None)
    fields = root.get("fields") if isinstance(root, dict) else None
    if not isinstance(fields, list) or not all(isinstance(f, dict) and isinstance(f.get("name"), str) for f in fields):
        raise BadEncoding(path, "the schema in the header is not a record")
    return tuple(f["name"] for f in fields)
