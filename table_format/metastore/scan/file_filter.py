"""What a scan wants of a table's files, decided before any file is opened (format chapter 04, sections 2 to 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.model.predicate import Predicate, only_on
from table_format.model.schema import TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFilter:
    """Conditions that a file must possibly meet; ``None`` stands for no condition.

    Predicates name columns of the schema the scan reads with: ``partition_predicate`` partition keys,
    ``key_predicate`` columns of the trimmed primary key, ``value_predicate`` any column. ``partitions`` are serialised
    BinaryRows. ``key_hashes`` are hashes of bucket keys; the bucket follows from them and the bucket count a file was
    written with. Files below ``min_level`` are not wanted. ``is_merged`` says that no two of the files wanted hold live
    rows of one key, whatever their key ranges: then each is judged by its own statistics.
    """

    partition_predicate: Predicate | None = None
    partitions: frozenset[bytes] | None = None
    buckets: frozenset[int] | None = None
    key_hashes: frozenset[int] | None = None
    levels: frozenset[int] | None = None
    min_level: int = 0
    key_predicate: Predicate | None = None
    value_predicate: Predicate | None = None
    is_merged: bool = False

    @classmethod
    def of(
        cls,
        schema: TableSchema,
        predicate: Predicate | None,
        *,
        buckets: frozenset[int] | None = None,
        key_hashes: frozenset[int] | None = None,
        levels: frozenset[int] | None = None,
        min_level: int = 0,
        is_merged: bool = False,
    ) -> FileFilter:
        """The strongest conditions that a predicate over rows puts on files."""
        keys = frozenset(schema.trimmed_primary_keys)
        return cls(
            partition_predicate=only_on(predicate, frozenset(schema.partition_keys)),
            buckets=buckets,
            key_hashes=key_hashes,
            levels=levels,
            min_level=min_level,
            is_merged=is_merged,
            key_predicate=only_on(predicate, keys) if keys else None,
            value_predicate=predicate,
        )

    def admits_bucket(self, bucket: int, total_buckets: int) -> bool:
        """Whether rows with one of the hashes may be in a bucket of a partition with that many.

        >>> f = FileFilter(key_hashes=frozenset({-7}))
        >>> [f.admits_bucket(b, 4) for b in range(4)], f.admits_bucket(0, -1)
        ([False, False, False, True], True)
        """
        if self.key_hashes is None or total_buckets <= 0:
            return True
        return any(abs(h) % total_buckets == bucket for h in self.key_hashes)


ALL_FILES: Final = FileFilter()
