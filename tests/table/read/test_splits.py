"""How live files become splits."""

from __future__ import annotations

from dataclasses import replace

from table_format.codecs.binary_row import serialize_row
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.split import SnapshotRef
from table_format.model.types import BigIntType, DataField
from table_format.options.scan import ScanOptions
from table_format.table.read.splits import make_splits

KEY = DataField(0, "k", BigIntType(nullable=False))
KEYED = TableSchema(0, (KEY,), 0, primary_keys=("k",), options={"bucket": "1"})
APPEND = TableSchema(0, (KEY,), 0)


def entry(
    name: str, first: int = 0, last: int = 9, *, level: int = 0, size: int = 10, bucket: int = 0
) -> ManifestEntry:
    file = DataFileMeta(
        file_name=name,
        file_size=size,
        row_count=5,
        min_key=serialize_row([KEY.type], [first]),
        max_key=serialize_row([KEY.type], [last]),
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=first,
        max_sequence_number=last,
        schema_id=0,
        level=level,
        delete_row_count=0,
    )
    return ManifestEntry(FileKind.ADD, EMPTY_ROW, bucket, 1, file)


def names(entries: list[ManifestEntry], schema: TableSchema, **options: int) -> list[tuple[list[str], bool]]:
    given = replace(ScanOptions(split_open_file_cost=1), **options)  # type: ignore[arg-type]
    splits = make_splits(entries, schema, given, snapshot=SnapshotRef(3))
    return [([f.file_name for f in split.files], split.raw_convertible) for split in splits]


def test_small_files_of_an_append_table_share_a_split_in_order_of_age() -> None:
    entries = [entry("c", 20), entry("a", 0), entry("b", 10)]
    assert names(entries, APPEND) == [(["a", "b", "c"], True)]
    assert names(entries, APPEND, split_target_size=20) == [(["a", "b"], True), (["c"], True)]


def test_opening_a_file_costs_at_least_so_many_bytes() -> None:
    entries = [entry("a", 0, size=1), entry("b", 10, size=1)]
    assert len(names(entries, APPEND, split_target_size=8, split_open_file_cost=5)) == 2


def test_buckets_are_apart() -> None:
    assert names([entry("b", bucket=1), entry("a", bucket=0)], APPEND) == [(["a"], True), (["b"], True)]


def test_files_whose_keys_overlap_stay_together_whatever_the_size() -> None:
    entries = [entry("a", 0, 5), entry("b", 4, 9), entry("c", 10, 12), entry("d", 13, 14)]
    # A file alone holds each key once.
    assert names(entries, KEYED, split_target_size=10) == [(["a", "b"], False), (["c"], True), (["d"], True)]
    assert names(entries, KEYED) == [(["a", "b", "c", "d"], False)]


def test_compacted_files_of_one_level_are_read_as_they_are() -> None:
    entries = [entry("a", 0, 5, level=5), entry("b", 6, 9, level=5)]
    assert names(entries, KEYED) == [(["a", "b"], True)]


def test_a_section_without_any_file_that_may_match_is_left_out() -> None:
    entries = [entry("a", 0, 5), entry("b", 4, 9), entry("c", 10, 12), entry("d", 20, 22), entry("e", 21, 25)]
    splits = make_splits(
        entries, KEYED, ScanOptions(), snapshot=SnapshotRef(1), may_match=lambda file: file.file_name in ("b", "c")
    )
    assert [f.file_name for split in splits for f in split.files] == ["a", "b", "c"]
