"""The plan of a scan: its splits, and what each stage of pruning kept and dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyroaring import FrozenBitMap

from table_format.counted import counted
from table_format.formats.newer_schemas import refuse_newer
from table_format.indexes.file_index import FileIndexes
from table_format.metastore.references.expired_reads import explaining_expiry, explaining_expiry_of_splits
from table_format.metastore.scan.file_plan import PlanCounts
from table_format.model.manifest import ManifestEntry
from table_format.model.predicate import Predicate
from table_format.model.row_order import RowLimit
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit, DeletionFile, SplitContent
from table_format.model.types import DataField
from table_format.pruning.pruning import Pruning
from table_format.table.facts import TableFacts
from table_format.table.read.file_notes import FileNote, file_notes
from table_format.table.read.filters import filter_text
from table_format.table.read.row_groups import RowGroupCounts, row_group_counts


@dataclass(frozen=True, slots=True)
class Limited:
    """What a limit left out of a plan: the reason for each file, by file name.

    ``bound`` is a condition that holds for the first rows, and was added to ``filter``.
    """

    limit: RowLimit
    files: int
    left_out: Mapping[str, str]
    filter: Predicate | None
    bound: Predicate | None = None

    def __str__(self) -> str:
        """One line.

        >>> str(Limited(RowLimit(5), 3, {"a": "left out by enough rows in other files"}, None))
        'LIMIT 5 reads 2 of 3 files'
        """
        return f"{self.limit} reads {self.files - len(self.left_out)} of {counted(self.files, 'file')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The splits of a scan of one snapshot. ``str(plan)`` explains them.

    ``schema`` is the schema of the result, ``fields`` are the columns of the scan, and ``schemas`` holds, by id, the
    schemas of the files. A task needs only these and the table options to read a split. ``changes_of`` names the
    snapshots whose changes are read, if the scan does not read a state. ``facts`` is the table.
    ``candidates`` are the files that indexes and statistics could prune; only for a plan of a state. ``fallback`` is
    the plan of the splits from the fallback branch, which ``splits`` includes. ``pruning`` is the filter of the scan.
    ``exact_rows`` holds, by file name, the positions of exactly the rows that the filter selects, for files with such
    indexes and without merge; ``indexes`` is the reader of these indexes.
    ``limited`` says what the limit of the scan left out.
    """

    table: str
    snapshot: Snapshot | None
    schema: TableSchema
    fields: tuple[DataField, ...]
    pruning: Pruning
    splits: tuple[DataSplit, ...] = ()
    counts: PlanCounts = field(default_factory=PlanCounts)
    schemas: Mapping[int, TableSchema] = field(default_factory=dict)
    changes_of: tuple[int, ...] | None = None
    facts: TableFacts | None = field(default=None, repr=False, compare=False)
    fallback: Plan | None = None
    candidates: tuple[ManifestEntry, ...] = field(default=(), repr=False, compare=False)
    exact_rows: Mapping[str, FrozenBitMap] = field(default_factory=dict, repr=False, compare=False)
    indexes: FileIndexes | None = field(default=None, repr=False, compare=False)
    limited: Limited | None = None

    def __repr__(self) -> str:
        at = "no snapshot" if self.snapshot is None else f"snapshot {self.snapshot.id}"
        size = f"{counted(len(self.splits), 'split')}, {counted(self.row_count, 'stored row', thousands=True)}"
        return f"Plan({self.table}, {at}, {size}; print it for an explanation)"

    @property
    def predicate(self) -> Predicate | None:
        """The condition that holds for every row of the result."""
        return self.pruning.residual

    def __iter__(self) -> Iterator[DataSplit]:
        return iter(self.splits)

    def __len__(self) -> int:
        return len(self.splits)

    def __getitem__(self, index: int) -> DataSplit:
        return self.splits[index]

    def part_of(self, split: DataSplit) -> Plan:
        """Return the plan whose schemas and options apply to a split."""
        return self.fallback if self.fallback is not None and split.branch is not None else self

    @property
    def parts(self) -> tuple[Plan, ...]:
        """Plans that together read the same, each with one set of schemas and options."""
        if self.fallback is None:
            return (self,)
        own = tuple(split for split in self.splits if split.branch is None)
        return (replace(self, splits=own, fallback=None), self.fallback)

    @property
    def without_splits(self) -> Plan:
        """The plan without its splits, for tasks that get one split each."""
        fallback = None if self.fallback is None else self.fallback.without_splits
        return replace(self, splits=(), fallback=fallback, candidates=(), exact_rows={}, indexes=None, limited=None)

    def showing(self, columns: Sequence[str]) -> Plan:
        """Return the same plan with other columns.

        Raises:
            ColumnNotFound: a column does not exist.
            SchemaChanged: files have a newer schema, and the older one would truncate values of a column.
        """
        fields = self.schema.select(columns)
        newer = (schema for schema_id, schema in sorted(self.schemas.items()) if schema_id > self.schema.id)
        refuse_newer(newer, self.schema, fields, where=self.table, rewriting=False)
        fallback = None if self.fallback is None else self.fallback.showing(columns)
        return replace(self, fields=fields, fallback=fallback)

    @property
    def file_count(self) -> int:
        """Data files to read."""
        return sum(len(split.before_files) + len(split.files) for split in self.splits)

    @property
    def row_count(self) -> int:
        """Rows in those files, before merging and filtering."""
        return sum(split.row_count for split in self.splits)

    @property
    def byte_count(self) -> int:
        """Bytes of those files as stored."""
        return sum(file.file_size for split in self.splits for file in (*split.before_files, *split.files))

    @property
    def deletion_files(self) -> tuple[DeletionFile, ...]:
        """The deletion vectors that mark rows of those files."""
        return tuple(found for split in self.splits for found in split.deletion_files if found is not None)

    def row_groups(self) -> RowGroupCounts:
        """Return the row groups that the filter keeps. Reads the footers of the files.

        Raises:
            CorruptionError: a file is missing or damaged.
        """
        if self.facts is None:
            return RowGroupCounts()
        if self.fallback is not None:
            return RowGroupCounts.total(part.row_groups() for part in self.parts)
        with explaining_expiry_of_splits(self.facts.store, self.splits):
            return row_group_counts(self.facts, self.splits, self.schemas, self.pruning)

    def file_notes(self) -> tuple[FileNote, ...]:
        """Return a note on each file that partitions, buckets and statistics did not prune.

        Reads the indexes again. Raises ``OSError``.
        """
        if self.facts is None or self.snapshot is None:
            return ()
        with explaining_expiry(self.facts.store, self.snapshot):
            own = tuple(split for split in self.splits if split.branch is None) if self.fallback else self.splits
            left_out = {} if self.limited is None else self.limited.left_out
            notes = tuple(file_notes(self.facts, self.pruning, self.candidates, own, left_out))
        return notes if self.fallback is None else (*notes, *self.fallback.file_notes())

    def explain(self, *, row_groups: bool = False, files: bool = False) -> str:
        """Return a text with what each stage of pruning kept and dropped.

        With ``row_groups``, include the row groups; this reads the footers of all planned files. With ``files``,
        include which index excluded each file, or how many of its rows were selected; this reads the indexes again.

        Raises:
            CorruptionError: with ``row_groups``, a file is missing or damaged.
        """
        lines = list(self._report())
        if row_groups and self.snapshot is not None:
            found = self.row_groups()
            stage = _stage("row groups", found.row_groups, ("statistics", found.row_groups - found.row_groups_kept))
            of = counted(found.rows, "stored row is", "stored rows are")
            lines.append(f"{stage}; {found.rows_kept} of {of} decoded")
        if files:
            lines += [f"  file       {note}" for note in self.file_notes()]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()

    def _report(self) -> Iterator[str]:
        if self.fallback is not None:
            for part in self.parts:
                yield from part._report()
            return
        if self.snapshot is None:
            yield f"scan of {self.table}: no snapshot, no rows"
            return
        if self.changes_of is None:
            yield f"scan of {self.table}, snapshot {self.snapshot.id}, schema {self.schema.id}"
        else:
            changes = ", ".join(map(str, self.changes_of)) or "none"
            yield f"changes of {self.table}, snapshots {changes}, schema {self.schema.id}"
        yield f"  columns    {', '.join(f.name for f in self.fields) or 'none'}"
        filter = self.predicate if self.limited is None else self.limited.filter
        if filter is not None:
            yield f"  filter     {filter_text(filter, self.schema.fields)}"
        yield from self._pruning(self.counts)
        if self.limited is not None:
            yield from self._limit(self.limited, self.schema.fields)
        merged = sum(not split.raw_convertible and split.content is not SplitContent.CHANGES for split in self.splits)
        yield (
            f"  splits     {len(self)}: {len(self) - merged} read as they are, {merged} merged; "
            f"{counted(self.file_count, 'file')}, {counted(self.row_count, 'stored row')}, {self.byte_count} bytes"
        )
        chosen = [
            (len(selected), file.row_count)
            for split in self.splits
            for selected, file in zip(split.selections, split.files, strict=False)
            if selected is not None
        ]
        if chosen:
            rows, stored = map(sum, zip(*chosen, strict=True))
            of = f"{counted(stored, 'row')} in {counted(len(chosen), 'file')}"
            yield f"  selected   {rows} of {of} by {self._choosers}"
        if self.deletion_files:
            known = [file.range.cardinality for file in self.deletion_files if file.range.cardinality is not None]
            least = "" if len(known) == len(self.deletion_files) else "at least "
            yield f"  deleted    {least}{counted(sum(known), 'row')} in {counted(len(self.deletion_files), 'file')}"

    @property
    def _choosers(self) -> str:
        """What chose rows of files."""
        return "their indexes" if self.limited is None else "their indexes or the limit"

    @staticmethod
    def _limit(limited: Limited, fields: Sequence[DataField]) -> Iterator[str]:
        bound = "" if limited.bound is None else f", bound {filter_text(limited.bound, fields)}"
        yield f"  limit      {limited.limit}{bound}"
        reasons = Counter(limited.left_out.values())
        yield _stage(
            "files", limited.files, *((reason.removeprefix("left out by "), n) for reason, n in sorted(reasons.items()))
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
            ("file index", counts.files_dropped_by_index),
        )
        yield _stage("files", counts.files + sum(number for _, number in dropped), *dropped)


def _stage(name: str, count: int, *dropped: tuple[str, int]) -> str:
    """One line of the report.

    >>> _stage("files", 9, ("bucket", 4), ("value statistics", 0))
    '  files      9, dropped 4 by bucket, kept 5'
    """
    parts = [f"{number} by {reason}" for reason, number in dropped if number]
    kept = count - sum(number for _, number in dropped)
    return f"  {name:<10} {count}, dropped {', '.join(parts) or 'none'}, kept {kept}"
