"""The deletion vectors of an append table as index files (format chapter 08, section 2)."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from table_format.codecs.deletion_vector import DeletionVector
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vector_files import write_deletion_vector_files
from table_format.model.manifest import IndexFileMeta
from table_format.options.bucket_mode import is_bucketed


def write_vectors(bucket: BucketFiles, vectors: Mapping[str, DeletionVector]) -> tuple[IndexFileMeta, ...]:
    """Write vectors to index files that nothing names yet: of a bucket one, without buckets rolled at a size."""
    size = bucket.options.deletion_vectors.index_file_target_size
    limit = sys.maxsize if is_bucketed(bucket.bucket_mode) else size
    return write_deletion_vector_files(bucket.store, vectors, bucket.index_path, target_bytes=limit)
