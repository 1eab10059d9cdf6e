"""Reading one Parquet file: bounded batches of named columns, row groups left out by their statistics.

Checksums of pages are verified wherever the writer made them. Whatever Arrow reports about a broken file becomes
``BadEncoding`` with its path; errors of the store pass through as ``OSError``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_format.errors import BadEncoding
from table_format.formats.batch_rows import UNMEASURED_BYTES, MeasuredRows, is_of_any_width
from table_format.formats.decoding import decoding
from table_format.formats.nested import empty_columns
from table_format.formats.parquet_bounds import footer_bounds, leaf_positions
from table_format.formats.parquet_footer import has_int96, with_int96_as_bytes
from table_format.formats.parquet_types import from_storage
from table_format.formats.protocol import RowGroupFilter, RowGroups
from table_format.limits import MIB
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import DataField

_BUFFER_BYTES: Final = 1 * MIB


class ParquetFileReader:
    """Reads one file; see ``FormatReader``."""

    def __init__(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> None:
        self._path = path
        self._use_threads = use_threads
        with decoding(path, "Parquet"):
            self._file = _open(source, None)
            if has_int96(self._file.metadata):
                self._file = _open(source, with_int96_as_bytes(source))
            self._metadata = self._file.metadata
            schema = self._file.schema_arrow
            self._names = tuple(schema.names)
            self._leaves = dict(zip(schema.names, leaf_positions(schema), strict=True))
        rows = sum(self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups))
        if rows != self._metadata.num_rows:
            raise BadEncoding(path, f"the footer states {self._metadata.num_rows} rows, its row groups {rows}")

    @property
    def row_count(self) -> int:
        """Rows in the whole file."""
        return int(self._metadata.num_rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the file in order."""
        return self._names

    def batches(
        self, fields: Sequence[DataField], *, row_groups: RowGroupFilter | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The columns of those names in types of the format, at most ``batch_rows`` rows at a time.

        Raises:
            BadEncoding: the file does not hold what its footer says, or other types than the fields have.
        """
        wanted = self._wanted(row_groups)
        expected = sum(self._metadata.row_group(i).num_rows for i in wanted)
        found = 0
        for batch in self._decoded(fields, wanted, batch_rows):
            found += batch.num_rows
            yield batch
        if found != expected:
            raise BadEncoding(
                self._path, f"the footer states {expected} rows in {len(wanted)} row groups, found {found}"
            )

    def row_groups(self, row_groups: RowGroupFilter | None) -> RowGroups:
        """The row groups that ``batches`` reads under that filter, in the same order."""
        sizes = [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]
        starts = [0, *accumulate(sizes)]
        return RowGroups(len(sizes), tuple(range(starts[i], starts[i + 1]) for i in self._wanted(row_groups)))

    def _wanted(self, row_groups: RowGroupFilter | None) -> list[int]:
        with decoding(self._path, "Parquet"):
            return [i for i in range(self._metadata.num_row_groups) if self._may_match(i, row_groups)]

    def _decoded(self, fields: Sequence[DataField], groups: list[int], batch_rows: int) -> Iterator[pa.RecordBatch]:
        if not fields:
            for group in groups:
                rows = self._metadata.row_group(group).num_rows
                for start in range(0, rows, batch_rows):
                    yield empty_columns(min(batch_rows, rows - start))
            return
        # Positions and not names: Arrow takes a dot in a name for a path.
        wanted = {f.name for f in fields}
        leaves = [leaf for name in self._names if name in wanted for leaf in self._leaves[name]]
        schema = arrow_schema(fields)
        widest, rows = self._widest_row(fields, groups)
        is_bounded = min(batch_rows, rows) * widest <= UNMEASURED_BYTES
        measured = None if is_bounded else MeasuredRows(batch_rows, widest_bytes=widest)
        with decoding(self._path, "Parquet"):
            stream = self._file.reader.iter_batches(
                batch_rows if measured is None else measured.rows,
                row_groups=groups,
                column_indices=leaves,
                use_threads=self._use_threads,
            )
            for batch in stream:
                if measured is not None:
                    measured.add(batch)
                    # Arrow asks for it before each batch.
                    self._file.reader.set_batch_size(measured.rows)
                columns = [from_storage(batch.column(f.name), f.type) for f in fields]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _widest_row(self, fields: Sequence[DataField], groups: list[int]) -> tuple[int, int]:
        """What a row may take at most, and the rows of the largest row group.

        No value is longer than the pages of its column together.
        """
        leaves = [leaf for f in fields if is_of_any_width(f) for leaf in self._leaves[f.name]]
        if not leaves:
            return 0, 0
        found = [self._metadata.row_group(index) for index in groups]
        widest = max((sum(g.column(leaf).total_uncompressed_size for leaf in leaves) for g in found), default=0)
        return widest, max((g.num_rows for g in found), default=0)

    def _may_match(self, index: int, row_groups: RowGroupFilter | None) -> bool:
        if row_groups is None:
            return True
        group = self._metadata.row_group(index)
        bounds = {f.name: footer_bounds(group, self._leaves[f.name], f.type) for f in row_groups.fields}
        return row_groups.may_match(bounds)


def _open(source: pa.NativeFile, metadata: pq.FileMetaData | None) -> pq.ParquetFile:
    return pq.ParquetFile(
        source,
        metadata=metadata,
        pre_buffer=False,
        buffer_size=_BUFFER_BYTES,
        page_checksum_verification=True,
    )
