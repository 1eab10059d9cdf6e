"""The range of values of the keys of a lookup, for any number of keys.

Rows that are updated together often have keys close to each other, such as those of the last days. In an older file,
only the rows between the first and the last of these keys matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.values import array_of
from table_format.lsm.key_filter import differs_from_metadata, has_two_zeros
from table_format.lsm.keys import KeyRangeOf
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import And, Compare, CompareOp, Predicate
from table_format.model.types import DataField, InternalValue


@dataclass(frozen=True, slots=True)
class KeySpan:
    """The first and the last value of the first key column among all keys of a lookup."""

    field: DataField
    low: InternalValue
    high: InternalValue
    key_range: KeyRangeOf

    @classmethod
    def of(cls, field: DataField, key_files: Sequence[DataFileMeta], key_range: KeyRangeOf) -> KeySpan | None:
        """Return the span of the keys of these files; ``None`` if metadata and rows may differ."""
        if not key_files or has_two_zeros(field) or any(differs_from_metadata(f, field) for f in key_files):
            return None
        ranges = [key_range(file) for file in key_files]
        low = min(first[0] for first, _ in ranges)
        high = max(last[0] for _, last in ranges)
        return cls(field, low[1], high[1], key_range)

    def condition(self, file: DataFileMeta) -> Predicate | None:
        """Return a condition that holds for the rows of a file within the span.

        Return ``None`` if the values may differ from the metadata.
        """
        if differs_from_metadata(file, self.field):
            return None
        name = self.field.name
        return And((Compare(name, CompareOp.GE, self.low), Compare(name, CompareOp.LE, self.high)))

    def is_narrow_in(self, file: DataFileMeta) -> bool:
        """Return whether the span is less than half of the key range of a file; false if keys are not integers."""
        (first, *_), (last, *_) = self.key_range(file)
        if not all(isinstance(value, int) for value in (self.low, self.high, first[1], last[1])):
            return False
        low, high = max(self.low, first[1]), min(self.high, last[1])  # type: ignore[type-var]  # all are numbers
        return 2 * (high - low) < last[1] - first[1]  # type: ignore[operator]  # all are integers

    def contains(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """Return a mask of the rows within the span."""
        low, high = array_of([self.low, self.high], self.field.type)
        column = rows.column(self.field.name)
        return pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
