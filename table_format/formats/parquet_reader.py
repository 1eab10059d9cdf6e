"""Reads one Parquet file: named columns in batches of bounded size; row groups are skipped by their statistics.

Page checksums are verified if the writer stored them. Every error that Arrow reports about a broken file becomes
``BadEncoding`` with its path; errors of the store pass through as ``OSError``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_format.errors import BadEncoding
from table_format.formats.batch_rows import UNMEASURED_BYTES, MeasuredRows, is_of_any_width
from table_format.formats.decoding import decoding
from table_format.formats.deleted_rows import only_selected
from table_format.formats.nested import empty_columns
from table_format.formats.parquet_bounds import footer_bounds, leaf_positions
from table_format.formats.parquet_footer import has_int96, read_footer, with_int96_as_bytes
from table_format.formats.parquet_pages import PagedFile, Positions, rows_within, split_by_group
from table_format.formats.parquet_sizes import BYTE_ARRAY, Sizes, misfit, size_statistics
from table_format.formats.parquet_types import from_storage
from table_format.formats.protocol import RowGroupFilter, RowGroups
from table_format.io.file_io import Prefetching
from table_format.limits import MIB
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import DataField

_BUFFER_BYTES: Final = 1 * MIB

_MIN_PAGED_BYTES: Final = 256 * 1024
"""A smaller file is decoded completely, which is faster than locating its pages."""

_MIN_CHOSEN_BYTES: Final = 1 * MIB
"""A smaller file with a single row group is decoded, which is faster than the check of its footer. The manifest has
excluded most of the files without a row of the result.
"""

_CHECKS_PER_COLUMN: Final = 3
"""Decoding a column in one more batch costs as much as checking three column chunks (about 15 µs each)."""

_MAX_NUMBER_BYTES: Final = 12
"""The size of the largest physical type of numbers (INT96)."""

_MAX_SHARE_OF_PAGES: Final = 0.6
"""If a larger share of a row group is needed, reading the whole row group is faster than reading single pages."""


class ParquetFileReader:
    """Reads one file; see ``FormatReader``."""

    def __init__(self, source: pa.NativeFile, path: str, *, use_threads: bool) -> None:
        self._source = source
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
        rows = sum(self._group_rows)
        if rows != self._metadata.num_rows:
            raise BadEncoding(path, f"the footer states {self._metadata.num_rows} rows, its row groups {rows}")

    @property
    def row_count(self) -> int:
        """The number of rows in the file."""
        return int(self._metadata.num_rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the file in order."""
        return self._names

    def batches(
        self, fields: Sequence[DataField], *, row_groups: RowGroupFilter | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns ``fields``, at most ``batch_rows`` rows at a time.

        Raises:
            BadEncoding: the content does not match the footer, or the types do not match those of ``fields``.
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

    def selected(
        self,
        fields: Sequence[DataField],
        positions: Positions,
        *,
        row_groups: RowGroupFilter | None,
        batch_rows: int,
    ) -> Iterator[tuple[pa.RecordBatch, Positions]]:
        """Yield the rows at these positions; pages without such a row are not read. See ``FormatReader``."""
        sizes = self._group_rows
        starts = [0, *accumulate(sizes)]
        wanted = frozenset(self._wanted(row_groups))
        paged = PagedFile(self._source, self._footer, self._path)
        for group, rows in split_by_group(positions, sizes):
            if group in wanted:
                for batch, found in self._of_group(paged, group, fields, rows, batch_rows):
                    yield batch, found + starts[group]

    def row_groups(self, row_groups: RowGroupFilter | None) -> RowGroups:
        """Return the row groups that ``batches`` reads with this filter, in the same order."""
        sizes = self._group_rows
        starts = [0, *accumulate(sizes)]
        return RowGroups(len(sizes), tuple(range(starts[i], starts[i + 1]) for i in self._wanted(row_groups)))

    @cached_property
    def _group_rows(self) -> list[int]:
        """The number of rows of each row group."""
        return [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]

    def _of_group(
        self, paged: PagedFile, group: int, fields: Sequence[DataField], rows: Positions, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, Positions]]:
        """Yield the selected rows of one row group with their positions in it."""
        if not fields:
            yield empty_columns(len(rows)), rows
        elif self._is_worth_pages(paged, group, fields, rows):
            yield from self._from_pages(paged, group, fields, rows, batch_rows)
        else:
            batches = self._decoded(fields, [group], batch_rows)
            whole = [range(self._group_rows[group])]
            yield from only_selected(batches, whole, rows, path=self._path)

    def _is_worth_pages(self, paged: PagedFile, group: int, fields: Sequence[DataField], rows: Positions) -> bool:
        """Return whether reading single pages is faster, because few of the pages of these columns hold the rows."""
        names = {f.name for f in fields}
        if self._source.size() < _MIN_PAGED_BYTES or not all(map(paged.is_flat, names)):
            return False
        columns = [paged.pages(group, name) for name in names]
        needed = sum(column.bytes_of(column.holding(rows)) for column in columns)
        return needed <= _MAX_SHARE_OF_PAGES * sum(column.bytes_of(column.pages) for column in columns)

    def _from_pages(
        self, paged: PagedFile, group: int, fields: Sequence[DataField], rows: Positions, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, Positions]]:
        """Yield the rows from the pages that hold them; ``rows`` count from the start of the row group."""
        schema = arrow_schema(fields)
        window = MeasuredRows(batch_rows, widest_bytes=self._widest_row(fields, [group]))
        start = 0
        while start < len(rows):
            wanted = rows[start : start + window.rows]
            columns = {f.name: self._column(paged, group, f.name, wanted, window.rows) for f in fields}
            with decoding(self._path, "Parquet"):
                arrays = [from_storage(columns[f.name], f.type) for f in fields]
                batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            window.add(batch)
            start += len(wanted)
            yield batch, wanted

    def _column(self, paged: PagedFile, group: int, name: str, rows: Positions, batch_rows: int) -> pa.Array:
        """Return the stored values of one column in these rows."""
        pages = paged.pages(group, name).holding(rows)
        at = rows_within(pages, rows)
        stated = sum(page.rows for page in pages)
        with decoding(self._path, "Parquet"):
            part = pq.ParquetFile(paged.part(group, name, pages), pre_buffer=False, page_checksum_verification=True)
            stream = part.reader.iter_batches(batch_rows, row_groups=[0], column_indices=[0], use_threads=False)
            found = [batch.column(0) for batch, _ in only_selected(stream, [range(stated)], at, path=self._path)]
        if sum(map(len, found)) != len(rows):
            raise BadEncoding(self._path, f"the pages of '{name}' hold fewer than the stated {stated} rows")
        return pa.concat_arrays(found)

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
        # Use positions instead of names, because Arrow interprets a dot in a name as a path.
        wanted = {f.name for f in fields}
        leaves = [leaf for name in self._names if name in wanted for leaf in self._leaves[name]]
        schema = arrow_schema(fields)
        measured = self._measured_rows(fields, groups, batch_rows)
        for chosen in self._reads(groups, leaves):
            with decoding(self._path, "Parquet"):
                stream = self._file.reader.iter_batches(
                    batch_rows if measured is None else measured.rows,
                    row_groups=chosen,
                    column_indices=leaves,
                    use_threads=self._use_threads,
                )
                for batch in stream:
                    if measured is not None:
                        measured.add(batch)
                        # Arrow reads it before each batch.
                        self._file.reader.set_batch_size(measured.rows)
                    columns = [from_storage(batch.column(f.name), f.type) for f in fields]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _reads(self, groups: list[int], leaves: list[int]) -> Iterator[list[int]]:
        """Yield the row groups that are decoded together. Those of a store are fetched one after the other, each in
        one step.
        """
        # Python before 3.12 is slow to see that a file is not ``Prefetching``.
        if not hasattr(self._source, "prefetch") or not isinstance(self._source, Prefetching):
            yield groups
            return
        for group in groups:
            with decoding(self._path, "Parquet"):
                found = self._sound_metadata.row_group(group)
                self._source.prefetch([_chunk_range(found.column(leaf)) for leaf in leaves])
            yield [group]

    @cached_property
    def _footer(self) -> bytes:
        with decoding(self._path, "Parquet"):
            return read_footer(self._source)

    @cached_property
    def _sizes(self) -> list[Sizes]:
        """The size statistics of all column chunks, ordered by row group and column.

        Raises:
            BadEncoding: they do not match the schema.
        """
        with decoding(self._path, "Parquet"):
            sizes = size_statistics(self._footer)
            wrong = misfit(self._metadata, sizes)
        if wrong is not None:
            raise BadEncoding(self._path, wrong)
        return sizes

    @property
    def _sound_metadata(self) -> pq.FileMetaData:
        """The metadata after a check for column chunks that would crash the process.

        Raises:
            BadEncoding: the size statistics do not match the schema.
        """
        _ = self._sizes
        return self._metadata

    def _measured_rows(self, fields: Sequence[DataField], groups: list[int], batch_rows: int) -> MeasuredRows | None:
        """Return how rows are measured while they are decoded; ``None`` if no batch can become too large.

        No value is larger than all pages of its row group. The other bounds are closer but take the check of the
        footer, which costs more than a further batch if only a few columns are decoded.
        """
        if not any(map(is_of_any_width, fields)):
            return None
        found = [self._metadata.row_group(index) for index in groups]
        rows = min(batch_rows, sum(g.num_rows for g in found))
        widest = max((g.total_byte_size for g in found), default=0)
        if 0 < rows * widest <= UNMEASURED_BYTES:
            return None
        if widest > 0 and self._are_few(fields):
            return MeasuredRows(batch_rows, widest_bytes=widest)
        stated = self._stated_bytes(fields, groups)
        if stated is not None and stated <= UNMEASURED_BYTES:
            return None
        widest = self._widest_row(fields, groups)
        return None if rows * widest <= UNMEASURED_BYTES else MeasuredRows(batch_rows, widest_bytes=widest)

    def _are_few(self, fields: Sequence[DataField]) -> bool:
        chunks = self._metadata.num_columns * self._metadata.num_row_groups
        return _CHECKS_PER_COLUMN * sum(len(self._leaves[f.name]) for f in fields) < chunks

    def _stated_bytes(self, fields: Sequence[DataField], groups: list[int]) -> int | None:
        """Return the bytes of all values of any width after decoding; ``None`` if the file does not state them."""
        total = 0
        for leaf in self._leaves_of_any_width(fields):
            column = self._metadata.schema.column(leaf)
            for group in groups:
                if column.physical_type == BYTE_ARRAY:
                    text_bytes = self._sizes[group * len(self._metadata.schema) + leaf].text_bytes
                    if text_bytes is None or text_bytes < 0:
                        return None
                    total += text_bytes
                else:
                    values = self._sound_metadata.row_group(group).column(leaf).num_values
                    total += values * max(_MAX_NUMBER_BYTES, column.length or 0)
        return total

    def _widest_row(self, fields: Sequence[DataField], groups: list[int]) -> int:
        """Return the maximum size of a row in bytes: no value is larger than all pages of its column."""
        leaves = self._leaves_of_any_width(fields)
        if not leaves:
            return 0
        found = [self._sound_metadata.row_group(index) for index in groups]
        return max((sum(g.column(leaf).total_uncompressed_size for leaf in leaves) for g in found), default=0)

    def _leaves_of_any_width(self, fields: Sequence[DataField]) -> list[int]:
        return [leaf for f in fields if is_of_any_width(f) for leaf in self._leaves[f.name]]

    def _may_match(self, index: int, row_groups: RowGroupFilter | None) -> bool:
        if row_groups is None or (self._metadata.num_row_groups == 1 and self._source.size() < _MIN_CHOSEN_BYTES):
            return True
        group = self._sound_metadata.row_group(index)
        bounds = {f.name: footer_bounds(group, self._leaves[f.name], f.type) for f in row_groups.fields}
        return row_groups.may_match(bounds)


def _chunk_range(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """Return the first byte of a column in a row group, and the first byte after it."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    return max(start, 0), max(start, 0) + max(chunk.total_compressed_size, 0)


def _open(source: pa.NativeFile, metadata: pq.FileMetaData | None) -> pq.ParquetFile:
    return pq.ParquetFile(
        source,
        metadata=metadata,
        pre_buffer=False,
        buffer_size=_BUFFER_BYTES,
        page_checksum_verification=True,
    )
