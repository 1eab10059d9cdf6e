"""The last stage of pruning: which row groups of the planned files the filter keeps, by their footers.

Planning reads no data file, so the caller asks for this explicitly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass

from table_format.formats.data_file_reader import DataFileReader
from table_format.lsm.merge_read import merged_files
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit, SplitContent
from table_format.pruning.pruning import Pruning
from table_format.table.facts import TableFacts


@dataclass(frozen=True, slots=True)
class RowGroupCounts:
    """Row groups of the planned files and their stored rows; a file of a format without row groups counts as one."""

    row_groups: int = 0
    row_groups_kept: int = 0
    rows: int = 0
    rows_kept: int = 0

    @classmethod
    def total(cls, parts: Iterable[RowGroupCounts]) -> RowGroupCounts:
        """The sums of some counts."""
        counts = [astuple(part) for part in parts]
        return cls(*(sum(column) for column in zip(*counts, strict=True)))


def row_group_counts(
    facts: TableFacts, splits: Iterable[DataSplit], schemas: Mapping[int, TableSchema], pruning: Pruning
) -> RowGroupCounts:
    """Read the footers of the files of some splits.

    Raises:
        CorruptionError: a file is missing or damaged.
        UnsupportedFeature: a file has a format that this version cannot read.
    """
    reader = DataFileReader(facts.store, schemas, pruning.schema, facts.options)
    row_groups = row_groups_kept = rows = rows_kept = 0
    for split in splits:
        for file, condition in _conditions(split, pruning):
            found = reader.row_groups(split.partition, split.bucket, file, condition)
            row_groups += found.count
            row_groups_kept += len(found.kept)
            rows += file.row_count
            rows_kept += sum(map(len, found.kept))
    return RowGroupCounts(row_groups, row_groups_kept, rows, rows_kept)


def _conditions(split: DataSplit, pruning: Pruning) -> Iterator[tuple[DataFileMeta, Predicate | None]]:
    """Yield each file of a split with the condition by which its reader skips row groups."""
    schema = pruning.schema
    merges = schema.is_primary_key_table and not split.raw_convertible and split.content is not SplitContent.CHANGES
    # Two states are compared as a whole.
    is_compared = schema.is_primary_key_table and split.content is SplitContent.DIFFERENCE
    for files in (split.before_files, split.files):
        for file, merged in merged_files(files, schema, raw_convertible=not merges):
            yield file, None if is_compared else pruning.row_group_condition(merged=merged)
