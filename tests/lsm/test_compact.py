"""Compaction of a bucket: rewritten files, files that only move, and failures."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_format.codecs.deletion_vector import DeletionVector
from table_format.errors import BadEncoding, MissingFile
from table_format.lsm.bucket_deletion_vectors import BucketDeletions, BucketVectors
from table_format.lsm.compact import due_compaction, run_compaction
from table_format.model.data_file import DataFileMeta, FileSource
from tests.lsm.tables import A, Bucket, D

WRITE_ONLY = {"write-only": "true"}


def test_a_full_compaction_leaves_one_run_without_retracts():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0), (A, 2, "b", 0), (A, 3, "c", 0))
    bucket.write((D, 1, None, 0), (A, 2, "B", 0))
    message = bucket.compact()
    (file,) = message.compact_after
    assert message.new_files == ()
    assert (file.level, file.row_count, file.delete_row_count) == (5, 2, 0)
    assert (file.min_sequence_number, file.max_sequence_number) == (2, 4)
    assert file.file_source is FileSource.COMPACT
    assert bucket.read("k", "v") == [(2, "B"), (3, "c")]


def test_a_compaction_keeps_retracts_that_an_older_run_needs():
    bucket = Bucket({**WRITE_ONLY, "num-sorted-run.compaction-trigger": "3"})
    bucket.write(*((A, i, "x" * 100 + str(i), 0) for i in range(3000)))
    bucket.compact()
    bucket.write((D, 1, None, 0))
    bucket.write((D, 2, None, 0))
    message = bucket.compact(full=False)
    (file,) = message.compact_after
    assert (file.level, file.row_count, file.delete_row_count) == (2, 2, 2)
    assert len(bucket.read("k")) == 2998
    bucket.compact()
    assert [f.delete_row_count for f in bucket.live] == [0]
    assert len(bucket.read("k")) == 2998


def test_a_bucket_of_deleted_rows_only_becomes_empty():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0))
    bucket.write((D, 1, None, 0))
    message = bucket.compact()
    assert (len(message.compact_before), message.compact_after) == (2, ())
    assert bucket.live == ()


def test_big_files_that_overlap_nothing_move_up_unread():
    bucket = Bucket({**WRITE_ONLY, "target-file-size": "1 b"})
    bucket.write((A, 1, "a", 0))
    bucket.write((A, 2, "b", 0))
    old = bucket.live
    message = bucket.compact()
    assert message.compact_after == tuple(f.upgrade(5) for f in old)
    assert set(message.compact_before) == set(old)
    assert sorted(bucket.data_files) == sorted(f.file_name for f in old)


def test_small_neighbours_become_one_file():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0))
    bucket.write((A, 2, "b", 0))
    assert [f.row_count for f in bucket.compact().compact_after] == [2]


def test_output_is_rolled_at_the_target_size_into_disjoint_files():
    bucket = Bucket({**WRITE_ONLY, "target-file-size": "20 kb"})
    for offset in range(2):
        bucket.write(*((A, i, f"{(i * 2654435761 + offset) % 2**32:x}" * 4, i) for i in range(offset, 4000, 2)))
    before = bucket.read()
    bucket.compact()
    assert len(bucket.live) > 1
    assert bucket.read() == before


def test_a_second_full_compaction_has_nothing_to_do():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0))
    bucket.compact()
    assert bucket.compact().is_empty
    assert bucket.compact(full=False).is_empty


def test_a_bucket_below_the_trigger_is_left_alone():
    bucket = Bucket(WRITE_ONLY)
    bucket.write((A, 1, "a", 0))
    assert bucket.compact(full=False).is_empty


def test_a_table_written_with_more_levels_compacts_to_its_highest():
    bucket = Bucket({**WRITE_ONLY, "num-levels": "9"})
    bucket.write((A, 1, "a", 0))
    bucket.compact()
    assert [f.level for f in bucket.live] == [8]
    bucket.options = WRITE_ONLY
    bucket.write((A, 1, "b", 0))
    bucket.compact()
    assert [f.level for f in bucket.live] == [8]


def test_a_compaction_that_fails_leaves_no_file_behind():
    bucket = Bucket({**WRITE_ONLY, "target-file-size": "2 kb", "compaction.small-file-ratio": "0.1"})
    bucket.write((A, 1, "a", 0), (A, 3, "a", 0))
    bucket.write((A, 2, "b", 0))
    bucket.write(*((A, 100 + i, f"{i * 2654435761:x}" * 8, 0) for i in range(200)))
    bucket.write((A, 1000, "a", 0), (A, 1003, "a", 0))
    bucket.write((A, 1002, "b", 0))
    lost = bucket.live[-1]
    bucket.store.io.delete(bucket.store.paths.data_file("", 0, lost))
    before = bucket.data_files
    live = bucket.live
    with pytest.raises(MissingFile, match=lost.file_name):
        bucket.compact()
    assert bucket.data_files == before
    assert bucket.live == live


def with_damaged_values(bucket: Bucket, file: DataFileMeta) -> None:
    """Damage the column ``v`` of a file."""
    path = bucket.store.paths.data_file("", 0, file)
    data = bytearray(bucket.store.io.read(path))
    group = pq.read_metadata(pa.BufferReader(bytes(data))).row_group(0)
    column = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == "v")
    data[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    bucket.store.io.overwrite(path, bytes(data))


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_only_the_keys_of_a_file_that_moves_up_are_read_to_mark_older_rows(producer: str) -> None:
    bucket = Bucket({"deletion-vectors.enabled": "true"})
    old = bucket.write(*((A, k, f"old {k}", 0) for k in range(0, 200, 2))).new_files[0].upgrade(5)
    bucket.live = (old,)
    (new,) = bucket.write((A, 3, "new", 0), (A, 4, "new", 0), (A, 198, "new", 0)).new_files
    with_damaged_values(bucket, old)
    with_damaged_values(bucket, new)
    bucket.options = {**bucket.options, "changelog-producer": producer}
    unit, vectors = due_compaction(bucket.files, bucket.levels), BucketVectors(bucket.files, BucketDeletions())
    assert unit is not None
    if producer == "lookup":
        # The changelog has the older rows.
        with pytest.raises(BadEncoding):
            run_compaction(bucket.files, bucket.levels, unit, vectors)
        return
    result = run_compaction(bucket.files, bucket.levels, unit, vectors)
    assert (result.before, result.after) == ((new,), (new.upgrade(4),))
    assert vectors.of(old) == DeletionVector.of([2, 99])
