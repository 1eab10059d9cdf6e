"""Which files of a table are wanted, by what identifies a file (format chapter 04, sections 2 to 5).

What a filter over rows says about files is ``table_format.pruning``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

from table_format.model.predicate import Predicate, conjunction


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFilter:
    """Conditions that a file must meet; ``None`` stands for no condition.

    ``partition_predicate`` names partition keys of the schema the scan reads with; ``partitions`` are serialised
    BinaryRows. Files below ``min_level`` are not wanted.
    """

    partition_predicate: Predicate | None = None
    partitions: frozenset[bytes] | None = None
    buckets: frozenset[int] | None = None
    levels: frozenset[int] | None = None
    min_level: int = 0

    def in_partitions(self, condition: Predicate | None) -> Self:
        """The filter with a further condition on partition keys."""
        found = tuple(p for p in (self.partition_predicate, condition) if p is not None)
        return replace(self, partition_predicate=conjunction(found))


ALL_FILES: Final = FileFilter()
