"""Excludes files from a lookup of few keys.

A file need not be opened if none of the keys is in its key range, or if its indexes exclude those that are (format
chapter 09, section 7). With many keys, nearly every file contains some of them, so no filter is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.file_index import FileIndex, FileIndexes, has_index
from table_format.kernels.file_index.conditions import SoughtValues
from table_format.kernels.values import array_of, values_of
from table_format.lsm.keys import KeyRangeOf
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import In, Predicate
from table_format.model.types import (
    CharType,
    DataField,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    TimestampType,
)

MAX_LISTED_KEYS: Final = 1000
"""Row groups are filtered by the individual keys if at most this many keys may be in a file."""

MAX_LOOKUP_KEYS: Final = 100_000
"""The maximum number of keys that are kept in memory."""

_CHANGED_IN_ORC: Final = (CharType, TimestampType, LocalZonedTimestampType)


@dataclass(frozen=True, slots=True)
class KeysInFile:
    """The keys that may be in a file; at most ``MAX_LISTED_KEYS``, in no particular order."""

    keys: pa.RecordBatch
    fields: tuple[DataField, ...]

    @property
    def predicate(self) -> Predicate:
        """A condition on the first key column that holds for all of these keys."""
        first = self.fields[0]
        return In(first.name, tuple(values_of(pc.unique(self.keys.column(0)), first.type)))

    def matches_of(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """Return a mask of the rows that may have one of the keys: each key column has a value of some key."""
        exact = [f.name for f in self.fields if not has_two_zeros(f)]
        each = (pc.is_in(rows.column(name), value_set=self.keys.column(name)) for name in exact)
        return reduce(pc.and_, each)


class KeyFilter:
    """The keys of new files that are looked up in older files."""

    def __init__(self, bucket: BucketFiles, keys: pa.RecordBatch, key_range: KeyRangeOf) -> None:
        self._bucket = bucket
        self._keys = keys
        self._fields = bucket.schema.select(bucket.schema.trimmed_primary_keys)
        self._key_range = key_range
        self._indexes = FileIndexes(bucket.store, bucket.schemas, bucket.schema)

    @classmethod
    def of(
        cls,
        bucket: BucketFiles,
        key_files: Sequence[DataFileMeta],
        older: Sequence[DataFileMeta],
        key_range: KeyRangeOf,
    ) -> KeyFilter | None:
        """Return a filter for the keys of ``key_files``; ``None`` if they are too many to exclude ``older`` files."""
        fields = bucket.schema.select(bucket.schema.trimmed_primary_keys)
        rows = sum(file.row_count for file in key_files)
        if has_two_zeros(fields[0]):
            return None
        if rows > min(MAX_LOOKUP_KEYS, MAX_LISTED_KEYS * len(older)):
            return None
        reader = bucket.reader()
        batches = (batch for file in key_files for batch in reader.read(bucket.partition, bucket.bucket, file, fields))
        table = pa.Table.from_batches(batches, schema=arrow_schema(fields)).combine_chunks()
        keys = pa.RecordBatch.from_arrays(
            [pa.concat_arrays(c.chunks) if c.num_chunks else pa.array([], c.type) for c in table.columns],
            schema=table.schema,
        )
        return cls(bucket, keys, key_range)

    def may_be_in(self, file: DataFileMeta) -> KeysInFile | None:
        """Return the keys that may be in a file; ``None`` if they are too many to list. Raises ``OSError``."""
        keys = self._keys
        if not differs_from_metadata(file, self._fields[0]):
            (first, *_), (last, *_) = self._key_range(file)
            low, high = array_of([first[1], last[1]], self._fields[0].type)
            column = keys.column(0)
            keys = keys.filter(pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high)))
        if keys.num_rows > MAX_LISTED_KEYS:
            return None
        if keys.num_rows and has_index(file) and self._bucket.options.file_index.read_enabled:
            keys = self._indexed(file, keys)
        return KeysInFile(keys, self._fields)

    def _indexed(self, file: DataFileMeta, keys: pa.RecordBatch) -> pa.RecordBatch:
        def kept(index: FileIndex) -> npt.NDArray[np.bool_]:
            kept = np.ones(keys.num_rows, np.bool_)
            for field in self._fields:
                if has_two_zeros(field):
                    continue
                found = index.may_equal(field, SoughtValues(field.type, keys.column(field.name)))
                if found is not None:
                    kept &= found
            return kept

        everything = np.ones(keys.num_rows, np.bool_)
        bucket = self._bucket
        found = self._indexes.evaluated(bucket.partition_text, bucket.bucket, file, kept, everything)
        return keys.filter(pa.array(found))


def has_two_zeros(field: DataField) -> bool:
    """Return whether a key may have two different values, 0.0 and -0.0."""
    return isinstance(field.type, FloatType | DoubleType)


def differs_from_metadata(file: DataFileMeta, field: DataField) -> bool:
    """Return whether values of a column in a file may differ from those in its metadata.

    ORC removes the spaces at the end of CHAR, and shifts timestamps before 1582 by days.
    """
    return file.file_name.endswith(".orc") and isinstance(field.type, _CHANGED_IN_ORC)
