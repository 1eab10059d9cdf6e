"""Looking up keys in the older runs of a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.codecs.deletion_vector import DeletionVector
from table_format.errors import BadEncoding
from table_format.io.memory import MemoryFileIO
from table_format.kernels.merge import LEVEL
from table_format.lsm.bucket_deletion_vectors import BucketDeletions, BucketVectors
from table_format.lsm.keys import key_ranges
from table_format.lsm.lookup import Lookup, LookupResult
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from tests.lsm.tables import SCHEMA, A, Bucket, WatchedFileIO, batch_of

INDEXED = {"file-index.bloom-filter.columns": "k", "file-index.bloom-filter.k.items": "30"}
FIELDS = (SEQUENCE_NUMBER, VALUE_KIND, *SCHEMA.fields)


def bucket_of(
    levels: dict[int, Sequence[int]], options: dict[str, str] | None = None, io: MemoryFileIO | None = None
) -> Bucket:
    """A bucket with these keys on these levels, and a file on level 0 with every key."""
    bucket = Bucket(options or {})
    if io is not None:
        bucket.store = replace(bucket.store, io=io)
    for level, keys in sorted(levels.items(), reverse=True):
        if keys:
            message = bucket.write(*((A, k, f"{level}:{k}", level) for k in keys))
            added = tuple(file.upgrade(level) for file in message.new_files)
            bucket.live = tuple(f for f in bucket.live if f not in message.new_files) + added
    bucket.write(*((A, k, "new", 0) for k in range(100)))
    return bucket


def lookup(bucket: Bucket, deletion_vectors: BucketVectors | None = None) -> Lookup:
    levels = bucket.levels
    return Lookup(
        bucket.files,
        levels.higher,
        FIELDS,
        key_files=levels.level0,
        key_range=key_ranges(SCHEMA),
        deletions=deletion_vectors,
    )


@pytest.mark.parametrize("names", [("v",), ("v", "k")])
def test_keys_that_are_not_a_single_number_are_found(names: tuple[str, ...]) -> None:
    fields = tuple(replace(f, type=f.type.with_nullable(f.name not in names)) for f in SCHEMA.fields)
    bucket = Bucket(schema=replace(SCHEMA, fields=fields, primary_keys=names))
    message = bucket.write(*((A, k, f"{k:02}", 0) for k in range(0, 40, 2)))
    bucket.live = tuple(file.upgrade(5) for file in message.new_files)
    bucket.write(*((A, k, f"{k:02}", 0) for k in range(40)))
    asked = batch_of([(A, k, f"{k:02}", 0) for k in (3, 4, 17, 38)], bucket.schema)
    search = Lookup(
        bucket.files,
        bucket.levels.higher,
        bucket.schema.fields,
        key_files=bucket.levels.level0,
        key_range=key_ranges(bucket.schema),
    )
    found = search.find(asked)
    assert found is not None
    assert (found.rows.column("k").to_pylist(), found.positions.tolist()) == ([4, 38], [2, 19])


def keys(values: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch({"k": pa.array(values, pa.int32()), "other": pa.nulls(len(values))})


def shown(found: LookupResult | None) -> list[tuple[int, int]]:
    """The keys and levels of the rows found, after a check of their positions."""
    if found is None:
        return []
    assert SEQUENCE_NUMBER.name in found.rows.schema.names
    levels = found.rows.column(found.rows.schema.get_field_index(LEVEL)).to_pylist()
    assert [found.files[number].level for number in found.file_numbers] == levels
    assert sum(len(positions) for _, positions in found.by_file()) == found.rows.num_rows
    return list(zip(found.rows.column("k").to_pylist(), levels, strict=True))


def test_the_lowest_level_above_0_that_has_a_key_answers() -> None:
    bucket = bucket_of({5: [1, 2, 3, 50], 4: [2, 60], 3: [3, 2]})
    assert shown(lookup(bucket).find(keys([1, 2, 3, 4, 50, 60, 99]))) == [(1, 5), (2, 3), (3, 3), (50, 5), (60, 4)]


def test_positions_are_those_in_the_file() -> None:
    bucket = bucket_of({5: range(0, 40, 2)}, {"file.block-size": "1 b"})
    found = lookup(bucket).find(keys([4, 5, 38]))
    assert found is not None
    assert found.positions.tolist() == [2, 19]


def test_marked_rows_are_not_found() -> None:
    bucket = bucket_of({5: [1, 2, 3]})
    deletion_vectors = BucketVectors(bucket.files, BucketDeletions())
    (old,) = (file for file in bucket.live if file.level == 5)
    deletion_vectors.mark_deleted(old, np.array([1]))
    assert deletion_vectors.of(old) == DeletionVector.of([1])
    found = lookup(bucket, deletion_vectors).find(keys([2, 3]))
    assert shown(found) == [(3, 5)]
    assert found is not None
    assert found.positions.tolist() == [2]


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.integers(1, 5), st.sets(st.integers(0, 99), max_size=30), max_size=3),
    st.sets(st.integers(0, 99), min_size=1),
    st.integers(1, 20),
    st.sampled_from(
        [
            {},
            {"file.block-size": "1 b"},
            {"target-file-size": "1 b"},
            {"file.format": "avro"},
            {**INDEXED, "target-file-size": "1 b"},
        ]
    ),
)
def test_batches_of_keys_find_what_a_dictionary_would(
    levels: dict[int, set[int]], asked: set[int], size: int, options: dict[str, str]
) -> None:
    bucket = bucket_of({level: sorted(found) for level, found in levels.items()}, options)
    expected = {key: level for level in sorted(levels, reverse=True) for key in levels[level]}
    search, wanted, found = lookup(bucket), sorted(asked), []
    for start in range(0, len(wanted), size):
        found += shown(search.find(keys(wanted[start : start + size])))
    assert found == [(key, expected[key]) for key in wanted if key in expected]


def test_a_run_is_not_opened_if_newer_runs_have_all_keys() -> None:
    io = WatchedFileIO()
    bucket = bucket_of({5: range(60), 4: range(10, 40)}, io=io)
    io.opened.clear()
    newer, older = (
        [f.file_name for run in bucket.levels.higher if run.level == at for f in run.files] for at in (4, 5)
    )
    search = lookup(bucket)
    assert io.opened == set()
    for keys in ([], [12, 20], [30]):
        found = search.find(batch_of([(A, k, "new", 0) for k in keys]))
        assert (found.rows.column("v").to_pylist() if found else []) == [f"4:{k}" for k in keys]
    assert set(newer) <= io.opened
    assert not set(older) & io.opened
    found = search.find(batch_of([(A, k, "new", 0) for k in (39, 45)]))
    assert found is not None
    assert found.rows.column("v").to_pylist() == ["4:39", "5:45"]


def test_files_that_can_hold_none_of_the_keys_are_not_opened() -> None:
    io = WatchedFileIO()
    bucket = Bucket({"target-file-size": "1 b"})
    bucket.store = replace(bucket.store, io=io)
    for first in (0, 1000, 2000):
        message = bucket.write(*((A, k, "old", 0) for k in range(first, first + 10)))
        bucket.live = (*bucket.live[: -len(message.new_files)], *(f.upgrade(5) for f in message.new_files))
    bucket.write((A, 1003, "new", 0))
    io.opened.clear()
    assert shown(lookup(bucket).find(keys([1003]))) == [(1003, 5)]
    _first, middle, _last, new = bucket.live
    assert io.opened == {middle.file_name, new.file_name}


def old_and_new(
    old: Sequence[int], new: Sequence[int], options: dict[str, str], io: MemoryFileIO | None = None
) -> Bucket:
    """A bucket with old keys on level 5 and new ones on level 0."""
    bucket = Bucket(options)
    if io is not None:
        bucket.store = replace(bucket.store, io=io)
    message = bucket.write(*((A, k, f"old {k}", 0) for k in old))
    bucket.live = tuple(file.upgrade(5) for file in message.new_files)
    bucket.write(*((A, k, "new", 0) for k in new))
    return bucket


@pytest.mark.parametrize("threshold", ["0 b", "1 mb"])
def test_a_file_whose_index_has_none_of_the_keys_is_not_opened(threshold: str) -> None:
    options = {**INDEXED, "file-index.bloom-filter.k.fpp": "0.0001", "file-index.in-manifest-threshold": threshold}
    even = range(0, 60, 2)
    for asked, found in (([1, 31, 57], []), ([1, 30], [(30, 5)])):
        io = WatchedFileIO()
        bucket = old_and_new(even, asked, options, io)
        io.opened.clear()
        assert shown(lookup(bucket).find(keys(asked))) == found
        old, new = bucket.live
        assert (old.file_name in io.opened, new.file_name in io.opened) == (bool(found), True)
        io.opened.clear()
        bucket.options = {**options, "file-index.read.enabled": "false"}
        assert shown(lookup(bucket).find(keys(asked))) == found
        assert old.file_name in io.opened


def test_a_file_whose_key_range_contains_none_of_the_sought_keys_is_not_opened() -> None:
    io = WatchedFileIO()
    bucket = old_and_new([10, 20], [15], {}, io)
    bucket.write((A, 5, "new", 0), (A, 25, "new", 0))
    io.opened.clear()
    assert shown(lookup(bucket).find(keys([5, 25]))) == []
    assert shown(lookup(bucket).find(keys([5, 15, 25]))) == []


MANY = 25_000


def test_few_keys_in_a_large_file_are_found_with_all_their_columns() -> None:
    bucket = old_and_new(range(0, 2 * MANY, 2), [3, 400, 402, 30_000, 49_998], {"file.block-size": "20 kb"})
    deletion_vectors = BucketVectors(bucket.files, BucketDeletions())
    deletion_vectors.mark_deleted(next(file for file in bucket.live if file.level == 5), np.array([201]))
    search = lookup(bucket, deletion_vectors)
    first, second = search.find(keys([3, 400, 402])), search.find(keys([30_000, 49_998]))
    assert (shown(first), shown(second)) == ([(400, 5)], [(30_000, 5), (49_998, 5)])
    assert first is not None
    assert second is not None
    assert first.rows.column("v").to_pylist() == ["old 400"]
    assert (first.positions.tolist(), second.positions.tolist()) == ([200], [15_000, 24_999])


def test_other_columns_are_read_only_where_a_key_matches() -> None:
    bucket = old_and_new(range(0, 2 * MANY, 2), [3, 40_001], {"file.block-size": "20 kb"})
    (old,) = (file for file in bucket.live if file.level == 5)
    path = bucket.store.paths.data_file("", 0, old)
    data = bytearray(bucket.store.io.read(path))
    column = pq.read_metadata(pa.BufferReader(bytes(data))).row_group(0).column(3)
    assert column.path_in_schema == "v"
    data[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    bucket.store.io.overwrite(path, bytes(data))
    assert shown(lookup(bucket).find(keys([3, 40_001]))) == []
    bucket.write((A, 4, "new", 0))
    with pytest.raises(BadEncoding):
        lookup(bucket).find(keys([4]))


@pytest.mark.parametrize("start", [0, 30_000, 48_000])
@pytest.mark.parametrize("old_rows", [MANY, 5_000])
def test_for_many_adjacent_keys_only_the_rows_around_them_are_read(start: int, old_rows: int) -> None:
    old_keys = range(0, 2 * MANY, 2 * MANY // old_rows)
    new_keys = range(start, start + 2_000)
    bucket = old_and_new(old_keys, new_keys, {"file.block-size": "20 kb"})
    (old,) = (file for file in bucket.live if file.level == 5)
    path = bucket.store.paths.data_file("", 0, old)
    data = bytearray(bucket.store.io.read(path))
    metadata = pq.read_metadata(pa.BufferReader(bytes(data)))
    far = metadata.row_group(metadata.num_row_groups // 2 if start != 30_000 else 0).column(3)
    data[far.data_page_offset + far.total_compressed_size // 2] ^= 0xFF
    bucket.store.io.overwrite(path, bytes(data))
    deletion_vectors = BucketVectors(bucket.files, BucketDeletions())
    gone = next(at for at, key in enumerate(old_keys) if key >= start + 100)
    deletion_vectors.mark_deleted(old, np.array([gone]))
    search, expected = lookup(bucket, deletion_vectors), set(old_keys) & set(new_keys) - {old_keys[gone]}
    found = [search.find(keys(new_keys[at : at + 700])) for at in range(0, len(new_keys), 700)]
    rows = [row for result in found if result is not None for row in shown(result)]
    assert rows == [(key, 5) for key in sorted(expected)]
    positions = [at for result in found if result is not None for at in result.positions.tolist()]
    assert [old_keys[at] for at in positions] == sorted(expected)


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(0, 99), min_size=1), st.sets(st.integers(0, 99), min_size=1), st.booleans())
def test_a_first_row_is_kept_whatever_indexes_there_are(old: set[int], new: set[int], indexed: bool) -> None:
    bucket = Bucket({"merge-engine": "first-row", "target-file-size": "1 b", **(INDEXED if indexed else {})})
    for number, found in enumerate((old, new)):
        bucket.write(*((A, k, f"{number}", 0) for k in sorted(found)))
        bucket.compact(full=False)
    assert dict(bucket.read("k", "v")) == {k: "0" if k in old else "1" for k in old | new}
