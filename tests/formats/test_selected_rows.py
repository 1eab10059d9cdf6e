"""Rows selected by their positions are those of the whole file, in any format; few pages are read for few rows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from table_format.codecs.deletion_vector import DeletionVector
from table_format.errors import BadEncoding
from table_format.formats.data_file_reader import POSITION, DataFileReader
from table_format.formats.parquet_footer import read_footer
from table_format.formats.parquet_pages import PagedFile
from table_format.formats.registry import format_of
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import EMPTY_ROW
from table_format.model.predicate import Compare, CompareOp
from table_format.model.types import BigIntType, DataField, DataType, DoubleType, VarCharType
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.table_options import TableOptions
from tests.formats.files import Bucket, a_batch, a_schema, format_bytes, parquet_bytes
from tests.formats.test_all_formats import one_column, text
from tests.support.typed_rows import columns, fields_of, rows_of
from tests.support.typed_values import columns_of_type

FORMATS = tuple(FILE_FORMATS)
FIELDS = [DataField(0, "id", BigIntType()), DataField(1, "s", VarCharType()), DataField(2, "n", BigIntType())]
ROWS = 60_000
FOOTER_BYTES = 70_000
"""Arrow reads the last 64 KiB of a file for the footer; the offset indexes come on top."""


class CountedSource(io.BytesIO):
    """A file that counts the bytes that are read from it."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        self.taken += len(found)
        return found


def paged_file() -> PagedFile:
    source = pa.BufferReader(MANY)
    return PagedFile(source, read_footer(source), "/f.parquet")


def many_rows(rows: int = ROWS) -> pa.RecordBatch:
    ids = np.arange(rows)
    numbers = np.random.default_rng(7).integers(0, 1 << 60, rows)
    names = pa.array([None if i % 7 == 0 else f"name {i % 11}" for i in range(rows)])
    return pa.record_batch([pa.array(ids), names, pa.array(numbers)], schema=arrow_schema(FIELDS))


def selected(
    file_format: str, data: Any, fields: list[DataField], positions: list[int], batch_rows: int = 1000
) -> tuple[pa.Table, list[int]]:
    source = data if isinstance(data, pa.NativeFile) else pa.BufferReader(data)
    reader = format_of(file_format).open_reader(source, f"/f.{file_format}", use_threads=False)
    found = list(reader.selected(fields, np.array(positions, np.int64), row_groups=None, batch_rows=batch_rows))
    for batch, rows in found:
        batch.validate(full=True)
        assert 0 < batch.num_rows == len(rows) <= batch_rows
    batches = [batch for batch, _ in found]
    return pa.Table.from_batches(batches, schema=arrow_schema(fields)), [int(p) for _, rows in found for p in rows]


@pytest.mark.parametrize("file_format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(column=columns_of_type(), chosen=st.sets(st.integers(0, 40)))
def test_any_selection_equals_those_rows_of_the_whole_file(
    file_format: str, column: tuple[DataType, pa.Array], chosen: set[int]
) -> None:
    fields, batch = one_column(*column)
    data, written = format_bytes(file_format, fields, batch, batch.slice(1))
    whole = pa.concat_arrays([batch.column(0), batch.column(0).slice(1)])
    positions = sorted(p for p in chosen if p < written.row_count)
    rows, found = selected(file_format, data, fields, positions, batch_rows=3)
    assert found == positions
    assert rows.column(0).to_pylist() == whole.take(pa.array(positions, pa.int64())).to_pylist()


@pytest.mark.parametrize("file_format", FORMATS)
def test_all_types_together_are_selected_by_position(file_format: str) -> None:
    wanted = columns(file_format, strict=False)
    fields = fields_of(wanted)
    rows = rows_of(wanted, fields)
    data, _ = format_bytes(file_format, fields, *rows.to_batches())
    positions = list(range(1, rows.num_rows, 2))
    assert text(selected(file_format, data, fields, positions)[0], fields) == text(rows.take(positions), fields)


@settings(max_examples=40, deadline=None)
@given(chosen=st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=50, unique=True), batch_rows=st.integers(20, 60))
def test_rows_of_many_pages_and_row_groups_are_selected_by_position(chosen: list[int], batch_rows: int) -> None:
    positions = sorted(chosen)
    rows, found = selected("parquet", MANY, FIELDS, positions, batch_rows)
    assert found == positions
    assert rows.equals(MANY_ROWS.take(positions).combine_chunks())


MANY_ROWS = pa.Table.from_batches([many_rows()])
MANY = parquet_bytes(FIELDS, *MANY_ROWS.slice(0, 45_000).to_batches(), *MANY_ROWS.slice(45_000).to_batches())[0]


def test_a_selection_reads_only_the_pages_that_hold_it() -> None:
    source = CountedSource(MANY)
    rows, _ = selected("parquet", pa.PythonFile(source, mode="r"), FIELDS, [20_001, 20_002])
    assert rows.column("id").to_pylist() == [20_001, 20_002]
    paged = paged_file()
    wanted = np.array([20_001, 20_002])
    needed = sum(found.bytes_of(found.holding(wanted)) for f in FIELDS if (found := paged.pages(0, f.name)))
    everything = sum(found.bytes_of(found.pages) for f in FIELDS if (found := paged.pages(0, f.name)))
    assert needed * 2 < everything
    assert source.taken <= needed + FOOTER_BYTES


def test_rows_can_be_selected_from_a_file_without_an_offset_index() -> None:
    sink = io.BytesIO()
    pq.write_table(MANY_ROWS, sink, write_page_index=False, store_schema=False)
    rows, found = selected("parquet", sink.getvalue(), FIELDS, [3, 50_000])
    assert (rows.column("id").to_pylist(), found) == ([3, 50_000], [3, 50_000])


def test_a_wrong_offset_index_is_an_error_that_names_the_file() -> None:
    paged = paged_file()
    page = paged.pages(0, "n").pages[1]
    damaged = bytearray(MANY)
    damaged[page.offset + page.size // 2] ^= 1
    with pytest.raises(BadEncoding, match=r"/f\.parquet"):
        selected("parquet", bytes(damaged), FIELDS, [page.first_row])


def test_row_groups_excluded_by_a_condition_are_not_read_for_a_selection() -> None:
    schema = a_schema(*FIELDS)
    bucket = Bucket([schema], options={"file.block-size": "256 kb"})
    (file,) = bucket.write(many_rows())
    reader = DataFileReader(bucket.store, {0: schema}, schema, TableOptions.parse({}))
    condition = Compare("id", CompareOp.GT, 50_000)
    batches = list(
        reader.read(EMPTY_ROW, 0, file, FIELDS, predicate=condition, selected=BitMap([5, 59_999]), with_positions=True)
    )
    assert [batch.column(POSITION).to_pylist() for batch in batches] == [[59_999]]


@pytest.mark.parametrize("file_format", FORMATS)
def test_deleted_rows_and_positions_beyond_the_file_are_not_selected(file_format: str) -> None:
    schema = a_schema(*FIELDS)
    bucket = Bucket([schema], options={"file.format": file_format})
    (file,) = bucket.write(many_rows(10))
    reader = DataFileReader(bucket.store, {0: schema}, schema, TableOptions.parse({}))
    deleted = DeletionVector.of([2, 3])
    wanted = BitMap([1, 2, 9, 10, 4_000_000_000])
    batches = list(reader.read(EMPTY_ROW, 0, file, FIELDS, deleted=deleted, selected=wanted))
    assert [row for batch in batches for row in batch.column("id").to_pylist()] == [1, 9]
    counted = list(reader.read(EMPTY_ROW, 0, file, [], deleted=deleted, selected=wanted))
    assert sum(batch.num_rows for batch in counted) == 2


def test_a_column_with_nan_has_no_bounds_of_pages_and_others_have() -> None:
    fields = [DataField(0, "d", DoubleType()), DataField(1, "id", BigIntType())]
    batch = a_batch(fields, [{"d": float("nan"), "id": 1}, {"d": 2.0, "id": 2}])
    data, _ = parquet_bytes(fields, batch)
    group = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0)
    assert [group.column(i).has_column_index for i in range(2)] == [False, True]
    assert [group.column(i).has_offset_index for i in range(2)] == [True, True]


def test_a_column_that_a_file_lacks_is_named() -> None:
    with pytest.raises(BadEncoding, match="row group 0 has no column chunk 'x'"):
        paged_file().pages(0, "x")
