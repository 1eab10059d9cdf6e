"""Applies the limit of a scan to its plan: leaves out files without any of the first rows, and selects rows of others.

Java ``DataTableBatchScan.applyPushDownLimit`` and ``applyPushDownTopN``, ``FileIndexEvaluator``. Java leaves the
final limit to its engine, and does not combine limits with filters or deletion vectors. This module handles both, and
``kernels.first_rows`` applies the final limit. Where rows are merged, files are pruned like with a filter on the
column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from pyroaring import BitMap, FrozenBitMap

from table_format.indexes.best_rows import BestRows, best_rows
from table_format.indexes.deletion_vectors import DeletionVectors
from table_format.indexes.file_index import FileIndexes, has_index
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.row_places import reached
from table_format.metastore.references.expired_reads import explaining_expiry_of_splits
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate, conjunction
from table_format.model.row_order import RowLimit
from table_format.model.split import DataSplit, SplitContent
from table_format.model.types import DataField
from table_format.pruning.file_bounds import FileBounds
from table_format.table.facts import TableFacts
from table_format.table.read.first_files import FirstFiles, OrderedFile
from table_format.table.read.index_reads import of_each_file
from table_format.table.read.known_rows import KnownRows, PlannedRows, is_read_as_stored
from table_format.table.read.plan import Limited, Plan
from table_format.table.read.splits import with_files

_MAX_SHARE_OF_ROWS: Final = 0.5
"""The maximum share of the rows of a file: with a larger limit, its index would save almost no reading."""
_MAX_INDEXED_ROWS: Final = 10_000
"""With a larger limit, indexes are not read: too many values would have to be compared."""

_BY_ENOUGH_ROWS: Final = "left out by enough rows in other files"
_BY_STATISTICS: Final = "left out by statistics of the order"
_BY_INDEX: Final = "left out by the index of the order"

_Kept = Mapping[tuple[int, int], FrozenBitMap | None]
"""Files by the number of their split and their place in it, with the rows to read; ``None`` leaves them unchanged."""


def limited(facts: TableFacts, plan: Plan, limit: RowLimit) -> Plan:
    """Return the plan with only the files that may hold the first rows. ``facts`` are those of the scan.

    A missing or damaged index leaves out nothing and is logged.

    Raises:
        CorruptionError: a deletion vector is missing or damaged.
        SnapshotExpired: the snapshot was expired in the meantime.
    """
    with explaining_expiry_of_splits(facts.store, plan.splits):
        if limit.count == 0:
            return _with_kept(plan, limit, {}, _BY_ENOUGH_ROWS)
        if any(split.content is not SplitContent.STATE for split in plan.splits):
            return replace(plan, limited=_note(plan, limit, {}, None))
        return _FirstRows(facts, plan, limit).plan() if limit.order else _any_rows(facts, plan, limit)


def _planned_rows(facts: TableFacts, plan: Plan) -> dict[str | None, PlannedRows]:
    """By the branch that splits are of."""
    own = PlannedRows(plan.facts or facts, plan)
    if plan.fallback is None:
        return {None: own}
    other = PlannedRows(plan.fallback.facts or facts, plan.fallback)
    return {None: own, **{split.branch: other for split in plan.fallback.splits}}


# --- any rows --------------------------------------------------------------------------------------------------------


def _any_rows(facts: TableFacts, plan: Plan, limit: RowLimit) -> Plan:
    """Return the first files that certainly have enough rows; all files if that is not certain."""
    rows = _planned_rows(facts, plan)
    kept: dict[tuple[int, int], FrozenBitMap | None] = {}
    left = limit.count
    for number, split in enumerate(plan.splits):
        if not is_read_as_stored(split):
            continue
        for place, known in enumerate(rows[split.branch].of_split(split)):
            if known.count and left:
                kept[number, place] = _first_positions(known, left)
                left -= min(left, known.count)
    if left:
        return replace(plan, limited=_note(plan, limit, {}, None))
    return _with_kept(plan, limit, kept, _BY_ENOUGH_ROWS)


def _first_positions(known: KnownRows, count: int) -> FrozenBitMap | None:
    """Return the first rows of a file if few of them are enough. Files with deleted rows are read completely."""
    if known.deleted or count > _MAX_SHARE_OF_ROWS * known.file.row_count:
        return known.selected
    return FrozenBitMap(range(count) if known.selected is None else known.selected[:count])


# --- the first rows in an order --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _File:
    """A file of a split that is read as stored."""

    number: int
    place: int
    split: DataSplit
    known: KnownRows
    planned: PlannedRows


class _FirstRows:
    """The selection of files and rows for a limit with an order."""

    def __init__(self, facts: TableFacts, plan: Plan, limit: RowLimit) -> None:
        self._facts = facts
        self._plan = plan
        self._limit = limit
        self._rows = _planned_rows(facts, plan)
        self._deletions: dict[int, DeletionVectors | None] = {}
        self._bounds = {
            branch: FileBounds(planned.plan.schema, planned.facts.schemas, [limit.order[0].column])
            for branch, planned in self._rows.items()
        }
        self._indexes = {
            branch: planned.plan.indexes or FileIndexes(planned.facts.store, planned.facts.schemas, planned.plan.schema)
            for branch, planned in self._rows.items()
        }

    def plan(self) -> Plan:
        """Return the plan with the chosen files and rows."""
        first = FirstFiles(self._limit, self._field.type, [self._ordered(file) for file in self._files])
        first.search(self._best)
        chosen = first.kept()
        kept = {
            (file.number, file.place): None if rows is None else FrozenBitMap(rows)
            for at, file in enumerate(self._files)
            if (rows := chosen.get(at, ())) != ()
        }
        by_index = {file.known.file.file_name for at, file in enumerate(self._files) if first.is_indexed(at)}
        for number, split in enumerate(self._plan.splits):
            if not is_read_as_stored(split):
                kept.update(((number, place), None) for place in self._merged(split, first))
        bound = None if first.bound is None else reached(first.bound[0], self._limit.order[0])
        return _with_kept(self._plan, self._limit, kept, _BY_STATISTICS, by_index, bound)

    @cached_property
    def _field(self) -> DataField:
        return self._plan.schema.field(self._limit.order[0].column)

    @cached_property
    def _files(self) -> list[_File]:
        return [
            _File(number, place, split, known, self._rows[split.branch])
            for number, split in enumerate(self._plan.splits)
            if is_read_as_stored(split)
            for place, known in enumerate(self._rows[split.branch].of_split(split))
        ]

    def _ordered(self, file: _File) -> OrderedFile:
        known = file.known
        most = min(_MAX_INDEXED_ROWS, _MAX_SHARE_OF_ROWS * known.file.row_count)
        may_read = file.planned.plan.pruning.may_read_indexes and known.is_known and self._limit.count <= most
        return OrderedFile(self._bounds_of(file.split, known.file), known.count, may_read and has_index(known.file))

    def _bounds_of(self, split: DataSplit, file: DataFileMeta) -> ColumnBounds | None:
        return self._bounds[split.branch].of_values(file).get(self._field.name)

    def _merged(self, split: DataSplit, first: FirstFiles) -> range:
        """Return the places of the files to read of a split whose rows are merged: all or none."""

        def may_hold(file: DataFileMeta) -> bool:
            return first.may_hold(first.place_of_first(self._bounds_of(split, file)))

        pruning = self._rows[split.branch].plan.pruning
        return range(len(split.files) if pruning.kept_files(split.files, may_hold, merged=True) else 0)

    def _best(self, numbers: Sequence[int]) -> Sequence[BestRows | None]:
        files = [(self._files[number], self._live(self._files[number])) for number in numbers]
        return of_each_file(self._facts.store.io, lambda each: self._best_of(*each), files)

    def _live(self, file: _File) -> BitMap:
        """The rows that are selected and not deleted."""
        rows = file.known.positions
        if file.number not in self._deletions:
            self._deletions[file.number] = file.planned.deletions(file.split)
        deletions = self._deletions[file.number]
        vector = None if deletions is None else deletions.of(file.known.file)
        return rows if vector is None else rows - BitMap(vector.positions)

    def _best_of(self, file: _File, rows: BitMap) -> BestRows | None:
        text = file.planned.facts.partitions.text(file.split.partition)
        order = self._limit.order
        return self._indexes[file.split.branch].evaluated(
            text,
            file.split.bucket,
            file.known.file,
            lambda index: best_rows(index, self._field, order[0], self._limit.count, rows, with_ties=len(order) > 1),
            None,
        )


# --- the plan --------------------------------------------------------------------------------------------------------


def _with_kept(
    plan: Plan,
    limit: RowLimit,
    kept: _Kept,
    reason: str,
    by_index: frozenset[str] | set[str] = frozenset(),
    bound: Predicate | None = None,
) -> Plan:
    """The plan with some of its files; ``by_index`` are those that were left out by their indexes, if they were."""
    splits = tuple(_splits(plan, kept))
    names = {file.file_name for split in splits for file in split.files}
    left_out = {
        file.file_name: _BY_INDEX if file.file_name in by_index else reason
        for split in plan.splits
        for file in split.files
        if file.file_name not in names
    }
    bounded = replace(_bounded(plan, bound), splits=splits, limited=_note(plan, limit, left_out, bound))
    if plan.fallback is None:
        return bounded
    others = tuple(split for split in splits if split.branch is not None)
    note = _note(plan.fallback, limit, left_out, bound)
    return replace(bounded, fallback=replace(_bounded(plan.fallback, bound), splits=others, limited=note))


def _note(plan: Plan, limit: RowLimit, left_out: Mapping[str, str], bound: Predicate | None) -> Limited:
    """Return the left-out files of a plan itself, without those of its fallback plan."""
    own = plan.parts[0].splits
    names = [file.file_name for split in own for file in split.files]
    return Limited(
        limit, len(names), {name: left_out[name] for name in names if name in left_out}, plan.predicate, bound
    )


def _bounded(plan: Plan, bound: Predicate | None) -> Plan:
    if bound is None:
        return plan
    given = () if plan.predicate is None else (plan.predicate,)
    return replace(plan, pruning=replace(plan.pruning, predicate=conjunction((*given, bound))))


def _splits(plan: Plan, kept: _Kept) -> Iterator[DataSplit]:
    for number, split in enumerate(plan.splits):
        places = [place for place in range(len(split.files)) if (number, place) in kept]
        if not places:
            continue
        found = with_files(split, places)
        rows = [kept[number, place] for place in places]
        if any(each is not None for each in rows):
            before = found.selections or (None,) * len(places)
            chosen = tuple(old if new is None else new for old, new in zip(before, rows, strict=True))
            found = replace(found, selections=chosen)
        yield found
