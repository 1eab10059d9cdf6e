"""The keys of a lookup, when they are few: they tell which files can hold one of them.

A file whose key range holds none of them, or whose indexes exclude those in it, need not be opened (format chapter 09,
section 7). Where keys are many, nearly every file holds some, and nothing is worked out.
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
"""Files and row groups are chosen by the keys themselves when no more than this may be in a file."""

MAX_LOOKUP_KEYS: Final = 100_000
"""More keys are not held."""

_CHANGED_IN_ORC: Final = (CharType, TimestampType, LocalZonedTimestampType)


@dataclass(frozen=True, slots=True)
class KeysInFile:
    """Those of the keys that may be in a file; at most ``MAX_LISTED_KEYS``, in no order."""

    keys: pa.RecordBatch
    fields: tuple[DataField, ...]

    @property
    def predicate(self) -> Predicate:
        """A condition on the first key column that they all meet."""
        first = self.fields[0]
        return In(first.name, tuple(values_of(pc.unique(self.keys.column(0)), first.type)))

    def matches_of(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """Rows that have in each key column a value that one of the keys has, and perhaps some more."""
        exact = [f.name for f in self.fields if not has_two_zeros(f)]
        each = (pc.is_in(rows.column(name), value_set=self.keys.column(name)) for name in exact)
        return reduce(pc.and_, each)


class KeyFilter:
    """The keys of some files, which are looked up in older files."""

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
        """The keys of ``key_files``; ``None`` when they are too many to exclude any of the ``older`` files."""
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
        """Those of the keys that a file may hold; ``None`` when they are too many to list. Raises ``OSError``."""
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
    """Whether one key may be two values: 0.0 and -0.0."""
    return isinstance(field.type, FloatType | DoubleType)


def differs_from_metadata(file: DataFileMeta, field: DataField) -> bool:
    """Whether a file may give other values back than its key range was made of.

    ORC takes away the spaces at the end of CHAR, and moves timestamps before 1582 by days.
    """
    return file.file_name.endswith(".orc") and isinstance(field.type, _CHANGED_IN_ORC)
