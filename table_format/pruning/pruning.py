"""Applies the filter of one scan in all its stages: what may be skipped, and what remains to be tested.

A stage never skips data that may contain a selected row, or a row that must be merged with one. ``read_kind`` decides
which statistics and indexes each kind of read may use; only this module applies that decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from table_format.kernels.bounds import may_match
from table_format.kernels.predicate import normalise
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate, columns_of, only_on
from table_format.model.schema import TableSchema
from table_format.options.table_options import TableOptions
from table_format.pruning.bucket_keys import bucket_key_hashes
from table_format.pruning.file_bounds import FileBounds
from table_format.pruning.look_ups import has_look_up
from table_format.pruning.read_kind import RULES, ReadKind, Rules
from table_format.pruning.refused_files import Refusal, refusal_by_keys, refusal_by_values

Answer = TypeVar("Answer")

FileTest: TypeAlias = Callable[[DataFileMeta], bool]
"""Returns whether a file may contain a row that the filter selects."""


@dataclass(frozen=True, slots=True)
class IndexVerdict(Generic[Answer]):
    """The results of the indexes of one file for a filter."""

    by_key: Answer
    """The result for the condition on keys. It is valid even if the file is merged with other files."""
    by_row: Answer
    """The result for the whole filter on stored rows. It is valid only if no row of the file is merged with another."""


@dataclass(frozen=True, kw_only=True)
class Pruning:
    """A filter bound to the schema of a scan, for one kind of read; create it with ``of``.

    ``bucket_hashes`` are the hashes that the bucket key of a selected row can have; ``None`` means all.
    ``computes_values`` is true if a merged row may contain values that no stored row has.
    """

    schema: TableSchema
    predicate: Predicate | None
    kind: ReadKind
    bucket_hashes: frozenset[int] | None = None
    computes_values: bool = False
    may_read_indexes: bool = True

    @classmethod
    def of(cls, kind: ReadKind, schema: TableSchema, options: TableOptions, predicate: Predicate | None) -> Self:
        """Create the pruning of one scan of a table."""
        has_default_hash = options.bucket.function == "default"
        return cls(
            schema=schema,
            predicate=predicate,
            kind=kind,
            bucket_hashes=bucket_key_hashes(schema, predicate) if has_default_hash else None,
            computes_values=options.merge.computes_values,
            may_read_indexes=options.file_index.read_enabled,
        )

    def of_postponed_rows(self) -> Self:
        """Return the same filter for rows that do not have a bucket yet."""
        return replace(self, kind=ReadKind.POSTPONED, bucket_hashes=None)

    # --- partitions and buckets -------------------------------------------------------------------------------------

    @cached_property
    def partition_condition(self) -> Predicate | None:
        """The condition on the partition keys of selected rows. It selects manifests and partitions."""
        return only_on(self.predicate, frozenset(self.schema.partition_keys))

    def admits_bucket(self, bucket: int, total_buckets: int) -> bool:
        """Return whether selected rows may be in a bucket of a partition with ``total_buckets`` fixed buckets.

        >>> schema = TableSchema(id=0, fields=(), highest_field_id=0)
        >>> p = Pruning(schema=schema, predicate=None, kind=ReadKind.APPEND_TABLE, bucket_hashes=frozenset({-7}))
        >>> [p.admits_bucket(b, 4) for b in range(4)], p.admits_bucket(0, -1)
        ([False, False, False, True], True)
        """
        if self.bucket_hashes is None or total_buckets <= 0:
            return True
        return any(abs(h) % total_buckets == bucket for h in self.bucket_hashes)

    @property
    def chooses_key_hashes(self) -> bool:
        """Whether ``admits_key_hashes`` can refuse a dynamic bucket."""
        return self.bucket_hashes is not None

    def admits_key_hashes(self, hashes: npt.NDArray[np.int32]) -> bool:
        """Whether selected rows may be in a dynamic bucket, given the hashes of all keys in it."""
        if self.bucket_hashes is None:
            return True
        return bool(np.isin(self._sorted_hashes, hashes).any())

    @cached_property
    def _sorted_hashes(self) -> npt.NDArray[np.int32]:
        return np.array(sorted(self.bucket_hashes or ()), np.int32)

    # --- files by their statistics ----------------------------------------------------------------------------------

    def key_statistics_test(self, schemas: Mapping[int, TableSchema]) -> FileTest | None:
        """Return a test of files by the bounds of their keys. It is valid even if a file is merged with others.

        ``schemas`` maps ids to the schemas with which the files were written. ``None`` means that all files pass.
        """
        condition = self._key_condition
        if condition is None:
            return None
        bounds = FileBounds(self.schema, schemas, columns_of(condition))
        return lambda file: may_match(condition, bounds.of_keys(file))

    def key_refusal(self, schemas: Mapping[int, TableSchema]) -> Refusal | None:
        """Return a fast test of many files at once. A file that it refuses also fails ``key_statistics_test``. ``None``
        means that no file is refused.
        """
        condition = self._key_condition
        return None if condition is None else refusal_by_keys(condition, self.schema, schemas)

    def value_refusal(self, schemas: Mapping[int, TableSchema]) -> Refusal | None:
        """Return a fast test of many files at once. A file that it refuses also fails ``value_statistics_test``.
        ``None`` means that no file is refused.
        """
        if self.predicate is None or not self._rules.value_statistics:
            return None
        return refusal_by_values(self.predicate, self.schema, schemas)

    @property
    def _key_condition(self) -> Predicate | None:
        keys = frozenset(self.schema.trimmed_primary_keys)
        return only_on(self.predicate, keys) if self._rules.key_statistics and keys else None

    def value_statistics_test(self, schemas: Mapping[int, TableSchema]) -> FileTest | None:
        """Return a test of files by the bounds of all their columns; ``kept_files`` uses it.

        ``schemas`` maps ids to the schemas with which the files were written. ``None`` means that all files pass.
        """
        condition = self.predicate
        if condition is None or not self._rules.value_statistics:
            return None
        bounds = FileBounds(self.schema, schemas, columns_of(condition))
        return lambda file: may_match(condition, bounds.of_values(file))

    @property
    def has_each_key_once(self) -> bool:
        """Whether each key is live in at most one file, so that only retractions need merging."""
        return self.kind is ReadKind.MERGE_ON_WRITE

    @property
    def may_merge(self) -> bool:
        """Whether a read of this kind can merge rows of several files of a bucket."""
        return self.kind not in (ReadKind.APPEND_TABLE, ReadKind.CHANGES)

    def merges(self, files: Sequence[DataFileMeta]) -> bool:
        """Return whether a read merges rows of these files of one bucket if their key ranges overlap."""
        if not self.may_merge:
            return False
        # A retract row withdraws a row of another file.
        return not (self.has_each_key_once and all(file.delete_row_count == 0 for file in files))

    def kept_files(self, files: Sequence[DataFileMeta], may_hold: FileTest, *, merged: bool) -> Sequence[DataFileMeta]:
        """Return the files to read, given which of them may hold a selected stored row.

        Files that are ``merged`` with each other are kept or dropped together: dropping one of two files with the
        same key would bring back the version in the other. A merge that computes values may produce values that no
        file has.
        """
        if not merged:
            return [file for file in files if may_hold(file)]
        return files if self.computes_values or any(map(may_hold, files)) else ()

    # --- files by their indexes -------------------------------------------------------------------------------------

    @cached_property
    def index_condition(self) -> Predicate | None:
        """The condition to evaluate on file indexes; ``None`` if they must not or need not be read."""
        if self.predicate is None or not (self._rules.file_indexes and self.may_read_indexes):
            return None
        return normalise(self.predicate)

    @cached_property
    def is_look_up(self) -> bool:
        """Whether the filter looks up single values of a column with bloom filters."""
        return self.predicate is not None and has_look_up(normalise(self.predicate), self.schema)

    def index_verdict(self, evaluate: Callable[[Predicate], Answer], unknown: Answer) -> IndexVerdict[Answer]:
        """Return the results of the indexes of one file, given their results for a condition on stored rows.

        If a file of a primary-key table does not contain a key, it neither adds nor retracts the row with this key. For
        other columns, the file may contain outdated values. ``unknown`` is the result if there is no condition to
        evaluate.
        """
        condition = self.index_condition
        if condition is None:
            return IndexVerdict(unknown, unknown)
        on_key = self._key_part(condition)
        by_key = unknown if on_key is None else evaluate(on_key)
        return IndexVerdict(by_key, by_key if on_key == condition else evaluate(condition))

    # --- row groups and rows ----------------------------------------------------------------------------------------

    def row_group_condition(self, *, merged: bool) -> Predicate | None:
        """Return the condition that may skip row groups of a file; if the file is ``merged`` with others, only the
        part on its key.
        """
        return self._key_part(self.predicate) if merged else self.predicate

    @property
    def residual(self) -> Predicate | None:
        """The condition that each row must still be tested with: no stage proves that it holds for all rows
        of a file.
        """
        return self.predicate

    # ----------------------------------------------------------------------------------------------------------------

    @property
    def _rules(self) -> Rules:
        return RULES[self.kind]

    def _key_part(self, condition: Predicate | None) -> Predicate | None:
        """Return the part of a condition that holds for every version of a row; all of it if rows have one version."""
        if not self.schema.is_primary_key_table:
            return condition
        return only_on(condition, frozenset(self.schema.primary_keys))
