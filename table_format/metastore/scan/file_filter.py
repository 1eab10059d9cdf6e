"""Selects files of a table by partition, bucket and level (format chapter 04, sections 2 to 5).

``table_format.pruning`` selects files with a filter on rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

from table_format.model.predicate import Predicate, conjunction


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFilter:
    """Conditions that a file must meet; ``None`` means no condition.

    ``partition_predicate`` is a condition on the partition keys of the read schema. ``partitions`` are serialised
    BinaryRows. Files below ``min_level`` are not selected.
    """

    partition_predicate: Predicate | None = None
    partitions: frozenset[bytes] | None = None
    buckets: frozenset[int] | None = None
    levels: frozenset[int] | None = None
    min_level: int = 0

    def in_partitions(self, condition: Predicate | None) -> Self:
        """Return the filter with an additional condition on partition keys."""
        found = tuple(p for p in (self.partition_predicate, condition) if p is not None)
        return replace(self, partition_predicate=conjunction(found))


ALL_FILES: Final = FileFilter()
