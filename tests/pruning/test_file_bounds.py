"""Bounds from statistics never exclude a file with a selected row, even if the file format changes values."""

from __future__ import annotations

from table_format.codecs.binary_row import serialize_row
from table_format.kernels.bounds import ColumnBounds
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileSource, SimpleStats
from table_format.model.schema import TableSchema
from table_format.model.types import CharType, DataField, TimestampType
from table_format.pruning.file_bounds import FileBounds

FIELDS = (DataField(0, "c", CharType(4)), DataField(1, "t", TimestampType(3)))
SCHEMA = TableSchema(0, FIELDS, 1)
DAY = 86_400_000_000_000
DAWN = -719_162 * DAY


def bounds_of(name: str, low: tuple[str, int], high: tuple[str, int]) -> dict[str, ColumnBounds]:
    types = [f.type for f in FIELDS]
    stats = SimpleStats(serialize_row(types, low), serialize_row(types, high), (0, 0))
    file = DataFileMeta(
        file_name=name,
        file_size=1,
        row_count=2,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=stats,
        min_sequence_number=0,
        max_sequence_number=1,
        schema_id=0,
        level=0,
        creation_time=0,
        delete_row_count=0,
        file_source=FileSource.APPEND,
    )
    return dict(FileBounds(SCHEMA, {0: SCHEMA}, ["c", "t"]).of_values(file))


def test_chars_in_orc_files_may_be_shorter_than_in_the_statistics() -> None:
    for name, lowest in (("data-1.orc", "a"), ("data-1.parquet", "a   ")):
        found = bounds_of(name, ("a   ", 0), ("b   ", DAY))
        assert (found["c"].minimum, found["c"].maximum) == (lowest, "b   ")
        assert found["t"].maximum == DAY


def test_early_timestamps_in_orc_files_may_differ_by_days_from_the_statistics() -> None:
    assert bounds_of("data-1.orc", ("a", DAWN), ("b", DAY))["t"] == ColumnBounds(None, None, 0, 2)
    assert bounds_of("data-1.avro", ("a", DAWN), ("b", DAY))["t"].minimum == DAWN
