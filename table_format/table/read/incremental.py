"""What changed between two snapshots, as splits (Java ``IncrementalDeltaStartingScanner``, ``IncrementalDiff...``).

Changes are the rows that commits wrote (delta files; of APPEND commits only, since compaction changes nothing and an
overwrite names what it replaced in no row), the rows of changelog files, or the difference between two states. They are
shown in the latest schema. Of a deleted row there is nothing to show without row kinds: a plain scan leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from table_format.errors import InvalidOption, SnapshotExpired, SnapshotNotFound, UnsupportedFeature
from table_format.formats.newer_schemas import refuse_newer
from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.references.expired_reads import telling_expired
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import PlanCounts, by_bucket, changed_files, live_files
from table_format.metastore.snapshot.changelog_store import ChangeHistory, ChangelogStore
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.predicate import Predicate, columns_of
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.split import DataSplit, SplitContent
from table_format.options.merge import MergeEngine
from table_format.options.scan import (
    FALLBACK_BRANCH,
    INCREMENTAL_BETWEEN,
    INCREMENTAL_BETWEEN_TIMESTAMP,
    INCREMENTAL_SCAN_MODE,
)
from table_format.options.stream import ChangelogProducer
from table_format.table.facts import TableFacts
from table_format.table.read.file_tests import bucket_key_hashes, file_test
from table_format.table.read.filters import bound_filter
from table_format.table.read.plan import Plan
from table_format.table.read.splits import DeletionFiles, deletion_files_of, pack
from table_format.table.read.time_travel import epoch_ms

DELTA: Final = "delta"
CHANGELOG: Final = "changelog"
DIFF: Final = "diff"


@dataclass(frozen=True, slots=True)
class _Range:
    """Changes after the snapshot ``start`` up to and with ``end``; tags are snapshots that may be gone."""

    start: int
    end: int
    tags: tuple[Snapshot, Snapshot] | None = None


def incremental_plan(facts: TableFacts, columns: Sequence[str] | None, filter: str | Predicate | None) -> Plan:
    """The splits of the changes that the options ``incremental-between`` and its kin name.

    Raises:
        InvalidOption: the options are malformed or contradict each other.
        SnapshotExpired, SnapshotNotFound: changes of the range are gone or to come.
        UnsupportedFeature: they cannot be told, such as the difference between states of other bucket counts.
    """
    require_one_branch(facts)
    span = _range(facts)
    if span is None or span.start == span.end:
        return _empty(facts, columns, filter)
    mode = facts.options.scan.incremental_scan_mode
    if (span.tags is not None and not facts.options.scan.incremental_tag_to_snapshot) or mode == DIFF:
        before, after = span.tags or (facts.snapshots.load(span.start), facts.snapshots.load(span.end))
        return difference_plan(facts, columns, filter, before, after)
    wanted = changes_mode(facts) if mode == "auto" else mode
    found = [_change(facts, snapshot_id, span) for snapshot_id in range(span.start + 1, span.end + 1)]
    return changes_plan(facts, columns, filter, [s for s in found if _counts(s, wanted)], wanted, last=found[-1])


def require_one_branch(facts: TableFacts) -> None:
    """Refuse to show changes of a table that takes partitions from another branch: its snapshots are others.

    Raises:
        UnsupportedFeature: the table has a fallback branch.
    """
    branch = facts.options.scan.fallback_branch
    if branch is not None and branch != facts.store.paths.branch:
        feature = f"changes of a table with {FALLBACK_BRANCH.key}={branch}"
        raise UnsupportedFeature(feature)


def changes_mode(facts: TableFacts) -> str:
    """Where the changes of the table are found: in changelog files, if it has them, or in what commits add."""
    return DELTA if facts.options.stream.changelog_producer is ChangelogProducer.NONE else CHANGELOG


def changes_of(facts: TableFacts) -> ChangeHistory:
    """The changes of the table by id."""
    return ChangeHistory(facts.snapshots, ChangelogStore(facts.store))


def changes_plan(
    facts: TableFacts,
    columns: Sequence[str] | None,
    filter: str | Predicate | None,
    snapshots: Sequence[Snapshot],
    mode: str,
    *,
    last: Snapshot,
    whole_buckets: bool = False,
) -> Plan:
    """The splits of what these snapshots wrote, in their order: delta files or, in mode ``changelog``, changelog files.

    With ``whole_buckets`` the changes of a bucket stay together, as a stream wants them; as in the reference it is also
    content with what an APPEND adds when that removes files too.
    """
    plan = replace(_empty(facts, columns, filter), snapshot=last, changes_of=tuple(s.id for s in snapshots))
    wanted = FileFilter.of(plan.schema, plan.predicate, key_hashes=bucket_key_hashes(plan.schema, plan.predicate))
    may_match = file_test(plan.predicate, plan.schema, facts)
    entries: list[ManifestEntry] = []
    counts = PlanCounts()
    for snapshot in snapshots:
        manifests = facts.manifests
        changed = manifests.changelog_manifests if mode == CHANGELOG else manifests.delta_manifests
        with telling_expired(facts.store, snapshot.id, as_changes=True):
            found = changed_files(manifests, changed(snapshot), schema=plan.schema, filter=wanted)
        added = [e for e in found.entries if e.kind is FileKind.ADD]
        if len(added) < len(found.entries) and not whole_buckets and snapshot.commit_kind is CommitKind.APPEND:
            feature = f"changes of snapshot {snapshot.id}, an APPEND that removes files"
            message = f"{feature}, cannot be told from its delta; use {INCREMENTAL_SCAN_MODE.key}={DIFF}"
            raise UnsupportedFeature(feature, message)
        kept = [e for e in added if may_match(e.file)]
        dropped = replace(found.counts, files=len(kept), files_dropped_by_value_stats=len(added) - len(kept))
        counts = _sum(counts, dropped)
        entries.extend(kept)
    oldest_id = min((s.id for s in snapshots), default=last.id)
    splits = (
        replace(split, oldest_snapshot_id=oldest_id)
        for split in change_splits(facts, plan, entries, last, whole_buckets=whole_buckets)
    )
    return _with_splits(facts, replace(plan, counts=counts), tuple(splits))


def replacement_plan(
    facts: TableFacts, columns: Sequence[str] | None, filter: str | Predicate | None, snapshot: Snapshot
) -> Plan:
    """The splits of what one overwrite of a primary key table removed and added."""
    plan = replace(_empty(facts, columns, filter), snapshot=snapshot, changes_of=(snapshot.id,))
    wanted = FileFilter.of(plan.schema, plan.predicate, key_hashes=bucket_key_hashes(plan.schema, plan.predicate))
    with telling_expired(facts.store, snapshot.id):
        delta = facts.manifests.delta_manifests(snapshot)
        found = changed_files(facts.manifests, delta, schema=plan.schema, filter=wanted)
    removed = [e for e in found.entries if e.kind is FileKind.DELETE]
    added = [e for e in found.entries if e.kind is FileKind.ADD]
    previous = facts.snapshots.find(snapshot.id - 1) if removed else None
    with telling_expired(facts.store, snapshot.id - 1):
        marked = {} if previous is None else facts.deletion_files(previous)
    # What it replaced is there as long as the snapshot before it.
    before_id = snapshot.id - 1 if removed else snapshot.id
    splits = tuple(_two_sided(plan, removed, added, snapshot, SplitContent.REPLACEMENT, (marked, {}), before_id))
    return _with_splits(facts, replace(plan, counts=found.counts), splits)


def difference_plan(
    facts: TableFacts,
    columns: Sequence[str] | None,
    filter: str | Predicate | None,
    before: Snapshot,
    after: Snapshot,
) -> Plan:
    """The splits of the difference between two states; files that both have are not read."""
    plan = replace(_empty(facts, columns, filter), snapshot=after, changes_of=(before.id, after.id))
    wanted = FileFilter.of(plan.schema, plan.predicate, key_hashes=bucket_key_hashes(plan.schema, plan.predicate))
    # A row that the filter selects may have replaced one that it does not.
    lowest = int(plan.schema.is_primary_key_table and facts.options.skips_level_0)
    wanted = replace(wanted, value_predicate=None, min_level=lowest)
    with telling_expired(facts.store, before.id, after.id):
        old, new = (
            live_files(facts.manifests, state, schema=plan.schema, schemas=facts.schemas, filter=wanted)
            for state in (before, after)
        )
        marked = facts.deletion_files(before), facts.deletion_files(after)
    _require_same_buckets(facts, before, old.entries, after, new.entries)
    # A newer version need not win, or be all of a row. (The reference shows it as if it did.)
    merge, is_single = facts.options.merge, facts.options.skips_level_0
    depends = not is_single and (merge.engine is not MergeEngine.DEDUPLICATE or bool(merge.sequence_fields))
    removed, added = _without_common(
        old.entries, new.entries, *marked, whole_buckets=depends and plan.schema.is_primary_key_table
    )
    if removed and not plan.schema.primary_keys:
        feature = f"the difference between snapshots {before.id} and {after.id} of an append table"
        message = (
            f"{feature}, files of which were rewritten in between, is not supported: without a key nobody can tell "
            f"which rows are new; use {INCREMENTAL_SCAN_MODE.key}={DELTA}"
        )
        raise UnsupportedFeature(feature, message)
    counts = replace(_sum(old.counts, new.counts), files=len(removed) + len(added))
    splits = tuple(_two_sided(plan, removed, added, after, SplitContent.DIFFERENCE, marked, before.id))
    return _with_splits(facts, replace(plan, counts=counts), splits)


# --- which changes ---------------------------------------------------------------------------------------------------


def _range(facts: TableFacts) -> _Range | None:
    """The range the options name; ``None`` when nothing can be in it."""
    scan = facts.options.scan
    if scan.incremental_between is not None:
        start, end = _two(INCREMENTAL_BETWEEN.key, scan.incremental_between)
        return _between(facts, start, end)
    start, end = _two(INCREMENTAL_BETWEEN_TIMESTAMP.key, scan.incremental_between_timestamp or "")
    return _between_times(facts, _time(start), _time(end))


def _between(facts: TableFacts, start: str, end: str) -> _Range | None:
    tags = TagStore(facts.store)
    names = tags.names()
    if start in names and end in names:
        first, last = tags.load(start).snapshot, tags.load(end).snapshot
        _check_order(INCREMENTAL_BETWEEN.key, first.id, last.id)
        return _Range(first.id, last.id, (first, last))
    if not (_is_number(start) and _is_number(end)):
        message = f"'{start}' and '{end}' are neither two tags nor the ids of two snapshots; the tags are "
        raise InvalidOption(INCREMENTAL_BETWEEN.key, message + (", ".join(names) or "none"))
    _check_order(INCREMENTAL_BETWEEN.key, int(start), int(end))
    return None if facts.snapshots.latest_id() is None else _Range(int(start), int(end))


def _between_times(facts: TableFacts, start_ms: int, end_ms: int) -> _Range | None:
    _check_order(INCREMENTAL_BETWEEN_TIMESTAMP.key, start_ms, end_ms)
    earliest_id, latest = facts.snapshots.earliest_id(), facts.snapshots.latest()
    if earliest_id is None or latest is None:
        return None
    earliest = facts.snapshots.load(earliest_id)
    if start_ms == end_ms or start_ms > latest.time_millis or end_ms < earliest.time_millis:
        return None
    first = facts.snapshots.before(start_ms + 1)
    last = facts.snapshots.at_or_before(end_ms)
    return _Range(earliest.id - 1 if first is None else first.id, last.id)


def _change(facts: TableFacts, snapshot_id: int, span: _Range) -> Snapshot:
    found = changes_of(facts).find(snapshot_id)
    if found is not None:
        return found
    latest = facts.snapshots.latest_id() or 0
    message = f"the changes after snapshot {span.start} to snapshot {span.end} are not all there: "
    if snapshot_id > latest:
        message += f"snapshot {snapshot_id} does not exist yet, the latest is {latest}"
        raise SnapshotNotFound(message)
    message += f"snapshot {snapshot_id} has been expired, the earliest is {changes_of(facts).earliest_id()}"
    raise SnapshotExpired(message)


def _counts(snapshot: Snapshot, mode: str) -> bool:
    if mode == DELTA:
        return snapshot.commit_kind is CommitKind.APPEND
    return snapshot.commit_kind is not CommitKind.OVERWRITE


def _two(key: str, text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InvalidOption(key, f"{text!r} is not 'start,end': it takes a start, which is excluded, and an end")
    return parts[0], parts[1]


def _time(text: str) -> int:
    return int(text) if _is_number(text) else epoch_ms(INCREMENTAL_BETWEEN_TIMESTAMP.key, text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _check_order(key: str, start: int, end: int) -> None:
    if end < start:
        raise InvalidOption(key, f"the end, {end}, is before the start, {start}")


# --- splits ----------------------------------------------------------------------------------------------------------


def _empty(facts: TableFacts, columns: Sequence[str] | None, filter: str | Predicate | None) -> Plan:
    schema = facts.schema
    return Plan(
        table=facts.name,
        snapshot=facts.snapshots.latest(),
        schema=schema,
        fields=schema.fields if columns is None else schema.select(columns),
        predicate=bound_filter(filter, schema.fields),
        changes_of=(),
        facts=facts,
    )


def change_splits(
    facts: TableFacts, plan: Plan, entries: Sequence[ManifestEntry], last: Snapshot, *, whole_buckets: bool
) -> Iterator[DataSplit]:
    """Splits of files whose rows are changes, in the order of the files."""
    keyed = bool(plan.schema.primary_keys)
    for (partition, bucket), group in sorted(by_bucket(entries).items()):
        files = [e.file for e in group]
        together = whole_buckets and (keyed or facts.options.bucket.count > 0)
        for piece in [files] if together else pack(files, lambda file: file.file_size, facts.options.scan):
            yield DataSplit(
                snapshot_id=last.id,
                partition=partition,
                bucket=bucket,
                total_buckets=group[0].total_buckets,
                files=tuple(piece),
                raw_convertible=not keyed,
                content=SplitContent.CHANGES,
            )


def _two_sided(
    plan: Plan,
    removed: Sequence[ManifestEntry],
    added: Sequence[ManifestEntry],
    last: Snapshot,
    content: SplitContent,
    marked: tuple[DeletionFiles, DeletionFiles],
    before_id: int,
) -> Iterator[DataSplit]:
    before, after = by_bucket(removed), by_bucket(added)
    for partition, bucket in sorted(before.keys() | after.keys()):
        old, new = before.get((partition, bucket), []), after.get((partition, bucket), [])
        files, before_files = tuple(e.file for e in new), tuple(e.file for e in old)
        was_marked, is_marked = (vectors.get((partition, bucket), {}) for vectors in marked)
        yield DataSplit(
            snapshot_id=last.id,
            partition=partition,
            bucket=bucket,
            total_buckets=(new or old)[0].total_buckets,
            files=files,
            raw_convertible=not plan.schema.primary_keys,
            deletion_files=deletion_files_of(files, is_marked),
            content=content,
            before_files=before_files,
            before_deletion_files=deletion_files_of(before_files, was_marked),
            oldest_snapshot_id=before_id,
        )


def _without_common(
    old: Sequence[ManifestEntry],
    new: Sequence[ManifestEntry],
    was_marked: DeletionFiles,
    is_marked: DeletionFiles,
    *,
    whole_buckets: bool,
) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    """The files that only one of two states has, or that have other deleted rows in each.

    With ``whole_buckets`` all files of a bucket that has such a file: what a row is then depends on older versions.
    """

    def place(entry: ManifestEntry) -> tuple[bytes, int]:
        return entry.partition, entry.bucket

    def unchanged(entry: ManifestEntry) -> bool:
        name = entry.file.file_name
        return was_marked.get(place(entry), {}).get(name) == is_marked.get(place(entry), {}).get(name)

    known = {e.identifier for e in old} & {e.identifier for e in new}
    differing = [
        e for e in (*old, *new) if e.bucket != POSTPONE_BUCKET and not (e.identifier in known and unchanged(e))
    ]
    touched = {place(e) for e in differing}
    wanted = {e.identifier for e in differing}
    removed, added = (
        [e for e in entries if e.identifier in wanted or (whole_buckets and place(e) in touched)]
        for entries in (old, new)
    )
    return removed, added


def _with_splits(facts: TableFacts, plan: Plan, splits: tuple[DataSplit, ...]) -> Plan:
    needed: set[int] = {file.schema_id for split in splits for file in _all_files(split)}
    schemas = {i: facts.schemas[i] for i in sorted(needed)}
    columns = () if plan.predicate is None else plan.schema.select(sorted(columns_of(plan.predicate)))
    refuse_newer(schemas.values(), plan.schema, (*plan.fields, *columns), where=facts.name, rewriting=False)
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
    if facts.options.bucket.count == -1:
        return
    counts: dict[bytes, int] = {e.partition: e.total_buckets for e in old if e.total_buckets >= 0}
    for entry in new:
        expected = counts.get(entry.partition, entry.total_buckets)
        if entry.total_buckets >= 0 and entry.total_buckets != expected:
            feature = "the difference between states of other bucket counts"
            message = (
                f"{feature} is not supported: a partition has {expected} buckets in snapshot {before.id} and "
                f"{entry.total_buckets} in snapshot {after.id}"
            )
            raise UnsupportedFeature(feature, message)


def _sum(left: PlanCounts, right: PlanCounts) -> PlanCounts:
    return PlanCounts(**{f.name: getattr(left, f.name) + getattr(right, f.name) for f in fields(PlanCounts)})
