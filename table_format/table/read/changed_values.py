"""Finds the values of one column in rows that some commits changed, to recompute what depends on these values.

The values come from rows that the commits added, changed or removed, in their old and new versions. The values of a
partition column come from the manifests. Otherwise only single columns are read: on an append table, the column in
those of the added and removed files whose statistics do not tell the values; on a primary key table, the keys in these
files, then the column of the rows with these keys in the states before and after.

When an append table is overwritten, all its rows count as changed, even if the new rows are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.references.expired_reads import explaining_expiry, explaining_expiry_of_rows
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.arrow_types import arrow_type
from table_format.model.bucket_id import BucketId
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.table.facts import TableFacts
from table_format.table.read.change_splits import change_splits
from table_format.table.read.changelog_rows import read_changes
from table_format.table.read.distinct_values import FileOfColumn, KnownValues, distinct, partition_values
from table_format.table.read.incremental import require_one_branch
from table_format.table.read.split_reader import read_split
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import Starting

_WITHOUT_ROWS: Final = CommitKind.ANALYZE


def changed_values(
    facts: TableFacts,
    column: str,
    before: Snapshot | None,
    snapshots: Sequence[Snapshot],
    *,
    watched: Sequence[str] | None = None,
) -> pa.Array:
    """Return the distinct values of ``column``, including null, in rows that ``snapshots`` added, changed or removed.

    ``snapshots`` are consecutive, oldest first. ``before`` is the preceding snapshot, ``None`` if the table was
    empty. With ``watched``, a written row of a primary key table counts only if one of these columns, or ``column``,
    has changed; otherwise every written row counts.

    Raises:
        ColumnNotFound: the column does not exist.
        SnapshotExpired: a snapshot has expired, so its changes are unknown.
        UnsupportedFeature: the table has a fallback branch.
    """
    require_one_branch(facts)
    field = facts.schema.field(column)
    compared = None if watched is None else facts.schema.select(sorted({*watched, column}))
    if not snapshots:
        return distinct([], field)
    last = snapshots[-1]
    facts = facts.as_files_say  # discard the rows of a snapshot that has expired in the meantime
    with explaining_expiry(facts.store, *(s.id for s in (*(() if before is None else (before,)), *snapshots))):
        entries = [*_touched_entries(facts, snapshots), *_entries_with_new_deletions(facts, before, snapshots)]
        if column in facts.schema.partition_keys:
            return distinct([partition_values(facts, column, (e.partition for e in entries))], field)
    if not facts.schema.primary_keys:
        return _values_in_files(facts, field, entries, last)
    touched = by_bucket(entries)
    were, are = (_splits_by_bucket(facts, state, touched) for state in (before, last))
    found: list[pa.Array] = []
    for bucket_id, group in sorted(touched.items()):
        keys = _keys_in_files(facts, group, last)
        old, new = (
            _rows_with_keys(facts, state, splits.get(bucket_id, ()), compared or (field,), keys)
            for state, splits in ((before, were), (last, are))
        )
        if compared is not None:
            old, new = _differing(old, new), _differing(new, old)
        found += [*old[column].chunks, *new[column].chunks]
    return distinct(found, field)


def _touched_entries(facts: TableFacts, snapshots: Iterable[Snapshot]) -> Iterator[ManifestEntry]:
    """Return the files with the rows that commits added or removed.

    A compaction changes no row. But if readers see only compacted files, the compaction of a file makes its rows
    visible.
    """
    hidden_level_0 = facts.schema.is_primary_key_table and facts.options.skips_level_0
    for snapshot in snapshots:
        if snapshot.commit_kind is _WITHOUT_ROWS:
            continue
        entries = facts.manifests.delta_entries(snapshot)
        if snapshot.commit_kind is CommitKind.COMPACT and not any(e.bucket == POSTPONE_BUCKET for e in entries):
            entries = [e for e in entries if hidden_level_0 and e.kind is FileKind.DELETE and e.file.level == 0]
        yield from (e for e in entries if e.bucket != POSTPONE_BUCKET)


def _entries_with_new_deletions(
    facts: TableFacts, before: Snapshot | None, snapshots: Sequence[Snapshot]
) -> list[ManifestEntry]:
    """Return the files of an append table of which one of the commits deleted rows.

    Each commit is compared with the one before it: a later compaction may have removed a file with its deleted rows.
    """
    states = snapshots if before is None else (before, *snapshots)
    found = {
        (bucket_id, name)
        for state, commit in pairwise(states)
        if commit.commit_kind is not CommitKind.COMPACT
        for bucket_id, name, _ in facts.new_deletions(state, commit)
    }
    if not found:
        return []
    added = (entry for snapshot in snapshots for entry in facts.manifests.delta_entries(snapshot))
    known = (*facts.live_files(before).entries, *added)
    return [entry for entry in known if (entry.bucket_id, entry.file.file_name) in found]


def _changes_of(
    facts: TableFacts, entries: Sequence[ManifestEntry], last: Snapshot, fields: Sequence[DataField]
) -> Iterator[pa.RecordBatch]:
    """Return columns of all stored rows of some files, including deletes."""
    each_once = {entry.file.file_name: replace(entry, kind=FileKind.ADD) for entry in entries}
    for split in change_splits(facts, facts.schema, tuple(each_once.values()), last, whole_buckets=False):
        yield from read_changes(facts.store, facts.schemas, facts.schema, facts.options, split, fields)


def _values_in_files(facts: TableFacts, field: DataField, entries: Sequence[ManifestEntry], last: Snapshot) -> pa.Array:
    def read(entry: ManifestEntry) -> Iterator[pa.Array]:
        return (batch.column(0) for batch in _changes_of(facts, [entry], last, (field,)))

    each_once = {entry.file.file_name: entry for entry in entries}
    values = KnownValues(facts, field)
    values.add_files(FileOfColumn(entry.file, partial(read, entry)) for entry in each_once.values())
    return values.found


def _keys_in_files(facts: TableFacts, entries: Sequence[ManifestEntry], last: Snapshot) -> pa.Table:
    names = facts.schema.primary_keys
    fields = facts.schema.select(names)
    schema = pa.schema([pa.field(f.name, arrow_type(f.type)) for f in fields])
    batches = [batch.select(list(names)).cast(schema) for batch in _changes_of(facts, entries, last, fields)]
    return pa.Table.from_batches(batches, schema=schema).group_by(list(names)).aggregate([])


def _splits_by_bucket(
    facts: TableFacts, snapshot: Snapshot | None, touched: Mapping[BucketId, object]
) -> dict[BucketId, list[DataSplit]]:
    """Return the splits of the affected buckets in one state."""
    if snapshot is None:
        return {}
    plan = state_plan(facts, Starting(snapshot, facts.schema), facts.schema.primary_keys, None)
    splits: dict[BucketId, list[DataSplit]] = {}
    for split in plan.splits:
        bucket_id = BucketId(split.partition, split.bucket)
        if bucket_id in touched:
            splits.setdefault(bucket_id, []).append(split)
    return splits


def _rows_with_keys(
    facts: TableFacts,
    state: Snapshot | None,
    splits: Sequence[DataSplit],
    columns: Sequence[DataField],
    keys: pa.Table,
) -> pa.Table:
    """Return the columns of the rows of a state that have one of the keys."""
    names = facts.schema.primary_keys
    fields = tuple({f.name: f for f in (*facts.schema.select(names), *columns)}.values())
    schema = pa.schema([pa.field(f.name, arrow_type(f.type)) for f in fields])
    kept = []
    for split in splits if state is not None and keys.num_rows else ():
        rows = read_split(facts.store, facts.schemas, facts.schema, facts.options, split, fields)
        for batch in explaining_expiry_of_rows(facts.store, split, rows):
            table = pa.Table.from_batches([batch]).cast(schema)
            kept.append(_semi_join(table, keys, names))
    return pa.concat_tables(kept) if kept else schema.empty_table()


def _semi_join(rows: pa.Table, keys: pa.Table, names: Sequence[str]) -> pa.Table:
    if len(names) == 1:
        return rows.filter(pc.is_in(rows[names[0]], value_set=keys[names[0]].combine_chunks()))
    return rows.join(keys, keys=list(names), join_type="left semi")


def _differing(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Return the rows that are not in the other table. A null equals nothing, so a row with a null counts as
    different.
    """
    return rows.join(others, keys=rows.column_names, join_type="left anti")
