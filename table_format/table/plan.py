"""What a scan will read, and why: the splits, and what pruning kept and dropped at each stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from table_format.metastore.plan import PlanCounts
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.table.filters import filter_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The splits of one scan of one snapshot; ``str(plan)`` explains them.

    ``schema`` is the one rows are shown in, ``fields`` are the columns asked for, and ``schemas`` holds, by id, those
    the files were written with: with the table's options that is all a task needs to read a split.
    """

    table: str
    snapshot: Snapshot | None
    schema: TableSchema
    fields: tuple[DataField, ...]
    predicate: Predicate | None = None
    splits: tuple[DataSplit, ...] = ()
    counts: PlanCounts = field(default_factory=PlanCounts)
    schemas: Mapping[int, TableSchema] = field(default_factory=dict)

    def __iter__(self) -> Iterator[DataSplit]:
        return iter(self.splits)

    def __len__(self) -> int:
        return len(self.splits)

    def __getitem__(self, index: int) -> DataSplit:
        return self.splits[index]

    @property
    def file_count(self) -> int:
        """Data files to read."""
        return sum(len(split.files) for split in self.splits)

    @property
    def row_count(self) -> int:
        """Rows in those files, before merging and filtering."""
        return sum(split.row_count for split in self.splits)

    @property
    def byte_count(self) -> int:
        """Bytes of those files as stored."""
        return sum(file.file_size for split in self.splits for file in split.files)

    def __str__(self) -> str:
        return "\n".join(self._report())

    def _report(self) -> Iterator[str]:
        if self.snapshot is None:
            yield f"scan of {self.table}: no snapshot, no rows"
            return
        yield f"scan of {self.table}, snapshot {self.snapshot.id}, schema {self.schema.id}"
        yield f"  columns    {', '.join(f.name for f in self.fields) or 'none'}"
        if self.predicate is not None:
            yield f"  filter     {filter_text(self.predicate)}"
        yield from self._pruning(self.counts)
        merged = sum(not split.raw_convertible for split in self.splits)
        yield (
            f"  splits     {len(self)}: {len(self) - merged} read as they are, {merged} merged; "
            f"{self.file_count} files, {self.row_count} stored rows, {self.byte_count} bytes"
        )

    @staticmethod
    def _pruning(counts: PlanCounts) -> Iterator[str]:
        yield _stage("manifests", counts.manifests, ("partition, bucket or level", counts.manifests_dropped))
        yield _stage(
            "entries",
            counts.entries_read,
            ("partition", counts.entries_dropped_by_partition),
            ("bucket", counts.entries_dropped_by_bucket),
            ("level", counts.entries_dropped_by_level),
            ("deletion", counts.entries_cancelled),
        )
        dropped = (
            ("bucket", counts.files_dropped_by_bucket),
            ("key statistics", counts.files_dropped_by_key_stats),
            ("value statistics", counts.files_dropped_by_value_stats),
        )
        yield _stage("files", counts.files + sum(number for _, number in dropped), *dropped)


def _stage(name: str, met: int, *dropped: tuple[str, int]) -> str:
    """One line of the report.

    >>> _stage("files", 9, ("bucket", 4), ("value statistics", 0))
    '  files      9, dropped 4 by bucket, kept 5'
    """
    parts = [f"{number} by {reason}" for reason, number in dropped if number]
    kept = met - sum(number for _, number in dropped)
    return f"  {name:<10} {met}, dropped {', '.join(parts) or 'none'}, kept {kept}"
