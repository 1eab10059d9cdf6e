"""Looking keys up in the older runs of a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.codecs.deletion_vector import DeletionVector
from table_format.io.memory import MemoryFileIO
from table_format.kernels.merge import LEVEL
from table_format.lsm.keys import key_ranges
from table_format.lsm.lookup import Found, Lookup
from table_format.lsm.marks import BucketDeletions, MarkedRows
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from tests.lsm.tables import SCHEMA, A, Bucket

FIELDS = (SEQUENCE_NUMBER, VALUE_KIND, *SCHEMA.fields)


def bucket_of(levels: dict[int, Sequence[int]], options: dict[str, str] | None = None) -> Bucket:
    """A bucket with these keys on these levels, and a file on level 0 with every key."""
    bucket = Bucket(options or {})
    for level, keys in sorted(levels.items(), reverse=True):
        if keys:
            message = bucket.write(*((A, k, f"{level}:{k}", level) for k in keys))
            added = tuple(file.upgrade(level) for file in message.new_files)
            bucket.live = tuple(f for f in bucket.live if f not in message.new_files) + added
    bucket.write(*((A, k, "new", 0) for k in range(100)))
    return bucket


def lookup(bucket: Bucket, marks: MarkedRows | None = None) -> Lookup:
    levels = bucket.levels
    return Lookup(
        bucket.files, levels.higher, FIELDS, among=levels.level0, key_range=key_ranges(SCHEMA), deletions=marks
    )


def keys(values: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch({"k": pa.array(values, pa.int32()), "other": pa.nulls(len(values))})


def shown(found: Found | None) -> list[tuple[int, int]]:
    """Key and level of what was found, after a look at where it says the rows lie."""
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
    marks = MarkedRows(bucket.files, BucketDeletions())
    (old,) = (file for file in bucket.live if file.level == 5)
    marks.mark(old, np.array([1]))
    assert marks.of(old) == DeletionVector.of([1])
    found = lookup(bucket, marks).find(keys([2, 3]))
    assert shown(found) == [(3, 5)]
    assert found is not None
    assert found.positions.tolist() == [2]


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.integers(1, 5), st.sets(st.integers(0, 99), max_size=30), max_size=3),
    st.sets(st.integers(0, 99), min_size=1),
    st.integers(1, 20),
    st.sampled_from([{}, {"file.block-size": "1 b"}, {"target-file-size": "1 b"}, {"file.format": "avro"}]),
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


class WatchedFileIO(MemoryFileIO):
    """Remembers which files were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()

    def open_input(self, path: str) -> pa.NativeFile:
        self.opened.add(path.rsplit("/", 1)[-1])
        return super().open_input(path)


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
