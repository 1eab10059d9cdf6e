"""The last stage of pruning: which row groups of the planned files the filter leaves, told from their footers.

Planning reads no data file, so this is asked for explicitly. What is counted here is what reading leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from table_format.formats.data_file_reader import DataFileReader
from table_format.lsm.merge_read import pushed_predicates
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit, SplitContent
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
    facts: TableFacts,
    splits: Iterable[DataSplit],
    schemas: Mapping[int, TableSchema],
    schema: TableSchema,
    predicate: Predicate | None,
) -> RowGroupCounts:
    """Read the footers of the files of some splits.

    Raises:
        CorruptionError: a file is missing or damaged.
        UnsupportedFeature: a file has a format that this version cannot read.
    """
    reader = DataFileReader(facts.store, schemas, schema, facts.options)
    row_groups = row_groups_kept = rows = rows_kept = 0
    for split in splits:
        # Changes are compared or shown one by one, which takes all of them.
        pushed = predicate if split.content is SplitContent.STATE else None
        files = (*split.before_files, *split.files)
        for file, condition in pushed_predicates(files, schema, pushed, raw_convertible=split.raw_convertible):
            found = reader.row_groups(split.partition, split.bucket, file, condition)
            row_groups += found.count
            row_groups_kept += len(found.kept)
            rows += file.row_count
            rows_kept += sum(map(len, found.kept))
    return RowGroupCounts(row_groups, row_groups_kept, rows, rows_kept)
