"""Which rows a commit changed, by partition of the table and by Dagster partition of its asset, from metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import dagster as dg

from dagster_paimon.tables.column_keys import keys_of_column
from dagster_paimon.tables.measure import partition_key
from dagster_paimon.tables.table_assets import TableAsset
from table_format import CommitKind, Snapshot
from table_format.engine import FileKind, ManifestEntry, TableFacts
from table_format.engine.support import keeps_rows
from table_format.errors import SnapshotExpired
from table_format.types import InternalValue

Values: TypeAlias = tuple[InternalValue, ...]


@dataclass(frozen=True, slots=True)
class RowsByPartition:
    """The rows that changed by Dagster partition, and the partitions of the table that have no key."""

    rows: Mapping[str, int]
    others: Sequence[str] = ()


def changed_rows(facts: TableFacts, snapshot: Snapshot) -> Mapping[Values, int] | None:
    """Return rows added minus rows removed by partition; empty if the commit changed no rows.

    A compaction changes the rows of the partitions that had files on level 0, if readers skip this level.
    """
    changed = facts.changed_files(snapshot) if snapshot.commit_kind is not CommitKind.ANALYZE else ()
    if changed is None:
        return {} if keeps_rows(snapshot) else None
    if keeps_rows(snapshot):
        shown = {entry.partition for entry in changed if _was_hidden(facts, entry)}
        changed = [entry for entry in changed if entry.partition in shown]
    rows: Counter[Values] = Counter()
    for entry in changed:
        added = entry.file.row_count if entry.kind is FileKind.ADD else -entry.file.row_count
        rows[_values(facts, entry.partition)] += added
    marks = snapshot.index_manifest and not keeps_rows(snapshot)
    before = facts.snapshots.find(snapshot.id - 1) if marks else None
    if before is not None:
        with suppress(SnapshotExpired):
            for bucket_id, _, deleted in facts.new_deletions(before, snapshot):
                rows[_values(facts, bucket_id.partition)] -= deleted
    return rows


def _was_hidden(facts: TableFacts, entry: ManifestEntry) -> bool:
    """Return whether a commit removed a file whose rows readers did not see: on level 0, or in a postponed bucket."""
    hides_level_0 = facts.schema.is_primary_key_table and facts.options.skips_level_0
    return entry.kind is FileKind.DELETE and entry.file.level == 0 and (hides_level_0 or entry.bucket < 0)


def _values(facts: TableFacts, partition: bytes) -> Values:
    return tuple(facts.partitions.values(partition))


def rows_by_partition(
    asset: TableAsset, facts: TableFacts, changed: Mapping[Values, int], instance: dg.DagsterInstance
) -> RowsByPartition:
    """Return changed rows by Dagster partition; none if the partitions of the table are not those of the asset."""
    columns = _columns(asset, facts)
    if columns is None or not changed:
        return RowsByPartition({})
    fields = facts.schema.partition_fields
    keys_of = {
        name: keys_of_column(part, fields[at], {values[at] for values in changed}, instance)
        for name, (part, at) in columns.items()
    }
    found: Counter[str] = Counter()
    others: list[str] = []
    for values, rows in changed.items():
        keys = {name: keys_of[name].get(values[at]) for name, (_, at) in columns.items()}
        placed = {name: key for name, key in keys.items() if key is not None and not _is_divided(asset, key)}
        if len(placed) == len(keys):
            found[_joined(asset, placed)] += rows
        else:
            texts = [f"{field.name} = {partition_key(field, v)}" for field, v in zip(fields, values, strict=True)]
            others.append(", ".join(texts))
    return RowsByPartition(dict(found), others)


def _is_divided(asset: TableAsset, key: str) -> bool:
    """Return whether Dagster would take a key for those of two dimensions."""
    return isinstance(asset.partitions, dg.MultiPartitionsDefinition) and "|" in key


def _joined(asset: TableAsset, keys: Mapping[str, str]) -> str:
    if isinstance(asset.partitions, dg.MultiPartitionsDefinition):
        return dg.MultiPartitionKey(keys)
    return next(iter(keys.values()))


def _columns(asset: TableAsset, facts: TableFacts) -> dict[str, tuple[dg.PartitionsDefinition[Any], int]] | None:
    """Return each dimension with the position of its partition column; ``None`` if one is not a partition column."""
    columns, partitions = facts.schema.partition_keys, asset.partitions
    if partitions is None or not columns:
        return None
    named = asset.metadata.get("partition_expr")
    if isinstance(partitions, dg.MultiPartitionsDefinition):
        parts = {part.name: part.partitions_def for part in partitions.partitions_defs}
        by_name = named if isinstance(named, Mapping) else {name: name for name in parts}
        wanted = {name: str(by_name.get(name)) for name in parts}
    else:
        parts, wanted = {"": partitions}, {"": named if isinstance(named, str) else columns[0]}
        if not isinstance(named, str) and len(columns) > 1:
            return None
    if not set(wanted.values()) <= set(columns):
        return None
    return {name: (part, columns.index(wanted[name])) for name, part in parts.items()}
