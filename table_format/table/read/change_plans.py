"""Plans of changes: what snapshots wrote, what an overwrite replaced, and how two states differ.

Changes are the rows that APPEND commits wrote (delta files), the rows of changelog files, or the difference between
two states. The schema of a snapshot tells which of the first two has its changes. A compaction changes no rows, and an
overwrite has no rows for what it replaced. Changes are shown in the latest schema. A scan without row kinds leaves out
deleted rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Final, assert_never

from table_format.counted import counted
from table_format.errors import UnsupportedFeature
from table_format.formats.newer_schemas import refuse_dropped, refuse_newer
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import PlanCounts, changed_files, live_files
from table_format.metastore.snapshot.changelog_store import ChangeHistory, ChangelogStore
from table_format.model.condition import Filter
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.predicate import columns_of
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.split import DataSplit, SplitContent
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware
from table_format.options.merge import MergeEngine
from table_format.options.scan import INCREMENTAL_SCAN_MODE
from table_format.options.stream import CHANGELOG_PRODUCER, ChangelogProducer
from table_format.pruning.pruning import Pruning
from table_format.pruning.read_kind import ReadKind
from table_format.table.facts import TableFacts
from table_format.table.read.change_splits import change_splits, two_sided_splits, without_common_files
from table_format.table.read.filters import bound_filter
from table_format.table.read.newer_options import refuse_newer_options
from table_format.table.read.plan import Plan

DELTA: Final = "delta"
CHANGELOG: Final = "changelog"
DIFF: Final = "diff"


def changes_mode(facts: TableFacts, snapshot: Snapshot) -> str:
    """Return the source of the changes of a snapshot: changelog files, if it was written with them, or added files.

    ``changelog-producer`` may have changed since the snapshot, or since the table was loaded. A commit under another
    producer than that of the latest schema is refused, so the schema of a snapshot names its producer.
    """
    producer = producer_of(facts, facts.schemas[snapshot.schema_id])
    return DELTA if producer is ChangelogProducer.NONE else CHANGELOG


def producer_of(facts: TableFacts, schema: TableSchema) -> ChangelogProducer:
    """Return the changelog producer of a schema, unless the options of the scan name another one."""
    given = facts.options.stream.changelog_producer
    stored = CHANGELOG_PRODUCER.read(facts.schema.options)
    return given if given is not stored else CHANGELOG_PRODUCER.read(schema.options)


def changes_of(facts: TableFacts) -> ChangeHistory:
    """The changes of the table by id."""
    return ChangeHistory(facts.snapshots, ChangelogStore(facts.store))


def empty_plan(
    facts: TableFacts,
    columns: Sequence[str] | None,
    filter: Filter | None,
    kind: ReadKind = ReadKind.CHANGES,
) -> Plan:
    """A plan of no changes, in the latest schema."""
    schema = facts.schema
    return Plan(
        table=facts.name,
        snapshot=facts.snapshots.latest(),
        schema=schema,
        fields=schema.fields if columns is None else schema.select(columns),
        pruning=Pruning.of(kind, schema, facts.options, bound_filter(filter, schema.fields)),
        changes_of=(),
        facts=facts,
    )


def changes_plan(
    facts: TableFacts,
    columns: Sequence[str] | None,
    filter: Filter | None,
    changes: Sequence[tuple[Snapshot, str]],
    *,
    last: Snapshot,
    whole_buckets: bool = False,
) -> Plan:
    """Plan the files that snapshots wrote, in order: delta files or, in mode ``changelog``, changelog files.

    Each snapshot has its mode.

    With ``whole_buckets``, the changes of a bucket stay together, as streams need. As in the reference, this mode
    also accepts an APPEND that removes files, and shows only the added rows.
    """
    plan = replace(
        empty_plan(facts, columns, filter, ReadKind.CHANGES), snapshot=last, changes_of=tuple(s.id for s, _ in changes)
    )
    may_match = plan.pruning.value_statistics_test(facts.schemas)
    entries: list[ManifestEntry] = []
    counts = PlanCounts()
    for snapshot, mode in changes:
        manifests = facts.manifests
        changed = manifests.changelog_manifests if mode == CHANGELOG else manifests.delta_manifests
        with explaining_expiry(facts.store, snapshot, as_changes=True):
            found = changed_files(manifests, changed(snapshot), pruning=plan.pruning)
        added = [e for e in found.entries if e.kind is FileKind.ADD]
        if len(added) < len(found.entries) and not whole_buckets and snapshot.commit_kind is CommitKind.APPEND:
            feature = f"changes of snapshot {snapshot.id}, an APPEND that removes files"
            message = f"{feature}, are not in its delta files; use {INCREMENTAL_SCAN_MODE.key}={DIFF}"
            raise UnsupportedFeature(feature, message)
        kept = added if may_match is None else [e for e in added if may_match(e.file)]
        dropped = replace(found.counts, files=len(kept), files_dropped_by_value_stats=len(added) - len(kept))
        counts = _sum(counts, dropped)
        entries.extend(kept)
    oldest_id = min((s.id for s, _ in changes), default=last.id)
    splits = (
        replace(split, oldest_snapshot_id=oldest_id)
        for split in change_splits(facts, plan.schema, entries, last, whole_buckets=whole_buckets)
    )
    return _with_splits(facts, replace(plan, counts=counts), tuple(splits))


def replacement_plan(
    facts: TableFacts, columns: Sequence[str] | None, filter: Filter | None, snapshot: Snapshot
) -> Plan:
    """Plan the files that one overwrite of a primary key table removed and added.

    The removed rows come first: a key may have moved to another bucket, by a rescale or with dynamic buckets, and a
    reader that applies the changes in their order must not delete its new row.
    """
    plan = replace(
        empty_plan(facts, columns, filter, ReadKind.REPLACEMENT), snapshot=snapshot, changes_of=(snapshot.id,)
    )
    refuse_newer_options(facts, snapshot)
    with explaining_expiry(facts.store, snapshot):
        delta = facts.manifests.delta_manifests(snapshot)
        found = changed_files(facts.manifests, delta, pruning=plan.pruning)
    removed = [e for e in found.entries if e.kind is FileKind.DELETE]
    added = [e for e in found.entries if e.kind is FileKind.ADD]
    previous = facts.snapshots.find(snapshot.id - 1) if removed else None
    with explaining_expiry(facts.store, snapshot.id - 1):
        deletion_files = {} if previous is None else facts.deletion_files(previous)
    content = SplitContent.REPLACEMENT
    # The removed files exist as long as the snapshot before it.
    splits = (
        *two_sided_splits(plan.schema, removed, (), snapshot, content, (deletion_files, {}), snapshot.id - 1),
        *two_sided_splits(plan.schema, (), added, snapshot, content, ({}, {}), snapshot.id),
    )
    return _with_splits(facts, replace(plan, counts=found.counts), splits)


def difference_plan(
    facts: TableFacts,
    columns: Sequence[str] | None,
    filter: Filter | None,
    before: Snapshot | None,
    after: Snapshot,
) -> Plan:
    """Plan the difference between two states. Files of both states are not read.

    ``before`` is ``None`` for the state before the first snapshot, which has no rows.
    """
    ids = (after.id,) if before is None else (before.id, after.id)
    plan = replace(empty_plan(facts, columns, filter, ReadKind.DIFFERENCE), snapshot=after, changes_of=ids)
    wanted = FileFilter(min_level=int(plan.schema.is_primary_key_table and facts.options.skips_level_0))
    refuse_newer_options(facts, *(() if before is None else (before,)), after)
    with explaining_expiry(facts.store, before, after):
        old, new = (
            live_files(
                facts.manifests,
                state,
                schema=plan.schema,
                schemas=facts.schemas,
                filter=wanted,
                pruning=plan.pruning,
            )
            for state in (before, after)
        )
        deletion_files = {} if before is None else facts.deletion_files(before), facts.deletion_files(after)
    if before is not None:
        _require_same_buckets(facts, before, old.entries, after, new.entries)
    # A newer version need not win, and may hold only parts of a row. (The reference ignores this.)
    merge, is_single = facts.options.merge, facts.options.skips_level_0
    depends = not is_single and (merge.engine is not MergeEngine.DEDUPLICATE or bool(merge.sequence_fields))
    removed, added = without_common_files(
        old.entries, new.entries, *deletion_files, whole_buckets=depends and plan.schema.is_primary_key_table
    )
    if removed and not plan.schema.primary_keys:
        feature = f"the difference between snapshots {ids[0]} and {after.id} of an append table"
        message = (
            f"{feature}, files of which were rewritten in between, is not supported: without a key, new rows "
            f"cannot be recognized; use {INCREMENTAL_SCAN_MODE.key}={DELTA}"
        )
        raise UnsupportedFeature(feature, message)
    counts = replace(_sum(old.counts, new.counts), files=len(removed) + len(added))
    splits = tuple(
        two_sided_splits(plan.schema, removed, added, after, SplitContent.DIFFERENCE, deletion_files, ids[0])
    )
    return _with_splits(facts, replace(plan, counts=counts), splits)


def _with_splits(facts: TableFacts, plan: Plan, splits: tuple[DataSplit, ...]) -> Plan:
    needed: set[int] = {file.schema_id for split in splits for file in _all_files(split)}
    schemas = {i: facts.schemas[i] for i in sorted(needed)}
    columns = () if plan.predicate is None else plan.schema.select(sorted(columns_of(plan.predicate)))
    shown = (*plan.fields, *columns)
    if plan.snapshot is not None and plan.snapshot.schema_id > plan.schema.id:
        # Files may have been pruned by columns that they no longer have.
        refuse_dropped(facts.schemas[plan.snapshot.schema_id], plan.schema, shown, where=facts.name)
    refuse_newer(schemas.values(), plan.schema, shown, where=facts.name, rewriting=False)
    return replace(plan, splits=splits, schemas=schemas)


def _all_files(split: DataSplit) -> tuple[DataFileMeta, ...]:
    return (*split.before_files, *split.files)


def _require_same_buckets(
    facts: TableFacts,
    before: Snapshot,
    old: Sequence[ManifestEntry],
    after: Snapshot,
    new: Sequence[ManifestEntry],
) -> None:
    mode = facts.bucket_mode
    match mode:
        case Dynamic() | Unaware() | CrossPartition():
            return
        case Fixed() | Postponed():
            pass
        case _:
            assert_never(mode)
    counts: dict[bytes, int] = {e.partition: e.total_buckets for e in old if e.total_buckets >= 0}
    for entry in new:
        expected = counts.get(entry.partition, entry.total_buckets)
        if entry.total_buckets >= 0 and entry.total_buckets != expected:
            feature = "the difference between states of other bucket counts"
            message = (
                f"{feature} is not supported: a partition has {counted(expected, 'bucket')} in snapshot "
                f"{before.id} and {entry.total_buckets} in snapshot {after.id}"
            )
            raise UnsupportedFeature(feature, message)


def _sum(left: PlanCounts, right: PlanCounts) -> PlanCounts:
    return PlanCounts(**{f.name: getattr(left, f.name) + getattr(right, f.name) for f in fields(PlanCounts)})
