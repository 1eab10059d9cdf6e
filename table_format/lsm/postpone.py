"""Writes postponed rows, which have no bucket yet (format chapter 11, section 4; Java ``PostponeBucketWriter``).

Rows are written directly to the open file, in the order of their arrival. They are not sorted, merged or numbered, and
a compaction replays them. Files are therefore Avro files without statistics, whatever the table's format, if Avro can
store its columns.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.codecs.binary_row import serialize_row
from table_format.formats.bucket_files import BucketFiles
from table_format.formats.rolling_writer import RollingDataFileWriter
from table_format.formats.straight_writer import StraightWriter
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.retracts import check_retracts
from table_format.lsm.runs import is_add, physical_batch
from table_format.model.commit import CommitMessage
from table_format.model.data_file import EMPTY_STATS, DataFileMeta, FileSource, SimpleStats
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.options.check_files import can_hold
from table_format.options.file_formats import AVRO
from table_format.options.files import FORMAT, STATS_MODE

_UNKNOWN_SEQUENCE: Final = -1
_PLAIN_USER: Final = re.compile(r"(?!.*-[sw]-)[A-Za-z0-9_.-]+")
"""Separators in the names, at which readers split them."""


class PostponeWriter(StraightWriter):
    """Writes rows of one partition to its postponed bucket, in files whose names begin with ``prefix``.

    ``postponed_prefix`` returns the prefix.
    """

    def __init__(self, bucket: BucketFiles, *, prefix: str) -> None:
        super().__init__()
        self._schema = bucket.schema
        self._is_bare = can_hold(bucket.schema, AVRO)
        self._spec = merge_spec(bucket.schema, bucket.options)
        if self._is_bare:
            options = bucket.options.with_options({FORMAT.key: AVRO.name, STATS_MODE.key: "none"})
            bucket = replace(bucket, options=options)
        self._bucket = bucket
        self._prefix = prefix

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows with the table's columns and ``_VALUE_KIND`` (int8).

        Raises:
            RetractNotSupported: the merge engine does not support a retract row.
        """
        if self._spec.ignore_delete:
            batch = batch.filter(is_add(batch.column(VALUE_KIND.name)))
        elif self._spec.engine is not None:
            check_retracts(batch, self._spec.engine)
        numbers = pa.array(np.full(batch.num_rows, _UNKNOWN_SEQUENCE, np.int64))
        self._append(physical_batch(batch.append_column(SEQUENCE_NUMBER.name, numbers), self._schema))

    def _open(self) -> RollingDataFileWriter:
        return RollingDataFileWriter(self._bucket, level=0, source=FileSource.APPEND, prefix=self._prefix)

    def _message(self, files: tuple[DataFileMeta, ...]) -> CommitMessage:
        message = self._bucket.message(
            new_files=tuple(map(self._without_statistics, files)) if self._is_bare else files
        )
        # Postponed rows are read with the schema that the table has when they are assigned to buckets.
        return replace(message, schema_id=None)

    def _without_statistics(self, file: DataFileMeta) -> DataFileMeta:
        types = [f.type.with_nullable(True) for f in self._schema.key_fields]
        nothing = (None,) * len(types)
        unknown = serialize_row(types, nothing)
        key_stats = SimpleStats(unknown, unknown, nothing)
        return replace(file, key_stats=key_stats, value_stats=EMPTY_STATS, value_stats_cols=())


def is_plain_user(commit_user: str) -> bool:
    """Return whether a commit user can be recognised as a part of a file name.

    >>> is_plain_user("job-7"), is_plain_user("a/b"), is_plain_user("a-s-b")
    (True, False, False)
    """
    return _PLAIN_USER.fullmatch(commit_user) is not None
