"""The plans of a stream: its initial state, then the changes of one snapshot after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from table_format.formats.newer_schemas import refuse_newer
from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.model.condition import Filter
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.options.bucket_mode import Postponed
from table_format.options.stream import ChangelogProducer
from table_format.table.facts import TableFacts
from table_format.table.read.change_plans import (
    CHANGELOG,
    DELTA,
    changes_mode,
    changes_plan,
    producer_of,
    replacement_plan,
)
from table_format.table.read.change_splits import change_splits
from table_format.table.read.plan import Plan
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import Starting


def first_plan(facts: TableFacts, start: Starting, columns: Sequence[str] | None, filter: Filter | None) -> Plan:
    """Plan the initial state of a stream: all rows that no later plan of changes shows."""
    producer = _next_producer(facts, start.snapshot)
    # A later plan shows the rows of lower levels.
    lowest = producer.first_level_with_changelog(facts.options.compaction.num_levels)
    plan = state_plan(facts, start, columns, filter, min_level=lowest)
    if not isinstance(facts.bucket_mode, Postponed) or producer is not ChangelogProducer.NONE:
        return plan
    return _with_postponed(facts, plan)


def _next_producer(facts: TableFacts, snapshot: Snapshot | None) -> ChangelogProducer:
    """Return what produces the changes after a snapshot, as far as it and the loaded table tell."""
    is_newer = snapshot is not None and snapshot.schema_id > facts.schema.id
    return producer_of(facts, facts.schemas[snapshot.schema_id] if snapshot and is_newer else facts.schema)


def _with_postponed(facts: TableFacts, plan: Plan) -> Plan:
    """The plan with the rows that have no bucket yet; no later plan would show them."""
    if plan.snapshot is None:
        return plan
    found = live_files(
        facts.manifests,
        plan.snapshot,
        schema=plan.schema,
        schemas=facts.schemas,
        filter=FileFilter(buckets=frozenset({POSTPONE_BUCKET})),
        pruning=plan.pruning.of_postponed_rows(),
    )
    splits = change_splits(facts, plan.schema, found.entries, plan.snapshot, whole_buckets=True)
    needed = {e.file.schema_id: facts.schemas[e.file.schema_id] for e in found.entries}
    refuse_newer(needed.values(), plan.schema, plan.fields, where=facts.name, rewriting=False)
    return replace(plan, splits=(*plan.splits, *splits), schemas={**plan.schemas, **needed})


def plan_of_changes(
    facts: TableFacts, snapshot: Snapshot, columns: Sequence[str] | None, filter: Filter | None
) -> Plan | None:
    """Plan the changes of one snapshot; ``None`` if a stream does not show it."""
    options = facts.options.stream
    is_keyed = facts.schema.is_primary_key_table
    mode = changes_mode(facts, snapshot)
    if snapshot.commit_kind is CommitKind.OVERWRITE:
        if is_keyed and options.overwrite:
            return replacement_plan(facts, columns, filter, snapshot)
        if not is_keyed and options.append_overwrite:
            mode = DELTA
        elif mode == DELTA:
            return None
    elif mode == DELTA and snapshot.commit_kind is not CommitKind.APPEND:
        return None
    if mode == CHANGELOG and snapshot.changelog_manifest_list is None:
        return None
    return changes_plan(facts, columns, filter, [(snapshot, mode)], last=snapshot, whole_buckets=True)
