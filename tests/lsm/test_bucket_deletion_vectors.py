"""The deletion vectors of a bucket from one compaction to the next."""

from __future__ import annotations

import numpy as np
import pytest

from table_format.codecs.deletion_vector import DeletionVector
from table_format.lsm.bucket_deletion_vectors import BucketDeletions, BucketVectors
from table_format.model.data_file import DataFileMeta
from table_format.model.split import DeletionFile
from tests.lsm.tables import A, Bucket


def bucket_with_files(options: dict[str, str] | None = None) -> tuple[Bucket, DataFileMeta, DataFileMeta]:
    bucket = Bucket(options or {})
    for _ in range(2):
        bucket.write(*((A, k, "v", 0) for k in range(10)))
    first, second = bucket.live
    return bucket, first, second


@pytest.mark.parametrize("wide", ["false", "true"])
def test_marks_are_written_once_with_all_vectors_of_the_bucket(wide: str) -> None:
    bucket, first, second = bucket_with_files({"deletion-vectors.bitmap64": wide})
    deletion_vectors = BucketVectors(bucket.files, BucketDeletions())
    assert deletion_vectors.write(bucket.live) == ((), ())
    deletion_vectors.mark_deleted(first, np.array([1, 5]))
    deletion_vectors.mark_deleted(second, np.array([0]))
    deletion_vectors.mark_deleted(first, np.array([2]))
    gone, (index,) = deletion_vectors.write(bucket.live)
    assert gone == ()
    assert deletion_vectors.write(bucket.live) == ((), ())
    path = bucket.store.paths.index(index.file_name)
    ranges = index.deletion_vector_ranges or ()
    files = {range_.data_file: DeletionFile(path, range_) for range_ in ranges}
    assert (index.file_size, index.row_count) == (len(bucket.store.io.read(path)), 2)
    again = BucketVectors(bucket.files, BucketDeletions(files, (index,)))
    assert again.of(first) == DeletionVector.of([1, 2, 5], is_wide=wide == "true")
    assert again.files_with_deletions(bucket.live) == (first, second)
    assert again.write(bucket.live) == ((), ())


def test_removed_files_are_dropped_from_the_index() -> None:
    bucket, first, second = bucket_with_files()
    deletion_vectors = BucketVectors(bucket.files, BucketDeletions())
    deletion_vectors.mark_deleted(first, np.array([1]))
    _, (index,) = deletion_vectors.write(bucket.live)
    gone, (empty,) = deletion_vectors.write([second])
    assert gone == (index,)
    assert (empty.file_size, empty.row_count, empty.deletion_vector_ranges) == (1, 0, ())
