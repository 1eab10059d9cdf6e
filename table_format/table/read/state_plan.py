"""Plans one state of a table, from its snapshot to the splits of the files that pruning keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from table_format.formats.newer_schemas import refuse_dropped, refuse_newer
from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.condition import Filter
from table_format.model.predicate import columns_of
from table_format.pruning.pruning import Pruning
from table_format.pruning.read_kind import ReadKind
from table_format.table.facts import TableFacts
from table_format.table.read.file_indexes import index_results
from table_format.table.read.filters import bound_filter
from table_format.table.read.hash_index_buckets import pruned_by_hash_index
from table_format.table.read.newer_options import refuse_other_options
from table_format.table.read.plan import Plan
from table_format.table.read.plan_check import check_whole_plan
from table_format.table.read.splits import make_splits
from table_format.table.read.time_travel import Starting, with_schema_of_snapshot


def state_plan(
    facts: TableFacts,
    start: Starting,
    columns: Sequence[str] | None,
    filter: Filter | None,
    *,
    min_level: int | None = None,
    levels: frozenset[int] | None = None,
) -> Plan:
    """Plan one state of the table for a batch read, or only the levels from ``min_level`` up.

    With ``levels``, plan only these levels.

    Raises:
        SnapshotExpired: the snapshot has expired in the meantime.
        UnsupportedFeature: the state has an unsupported feature that affects its rows.
        SchemaChanged: files have a newer schema, and the older one would truncate values, show dropped columns or merge
            rows by other options. Or a fast-forward has replaced the schemas of the snapshot since it was found.
    """
    facts = facts.in_schema(start.schema)
    with explaining_expiry(facts.store, start.snapshot):
        start = with_schema_of_snapshot(facts, start)
        if start.written is not None:
            refuse_other_options(facts.name, start.schema, start.written)
        plan = _state_plan(facts, start, columns, filter, min_level=min_level, levels=levels)
    if start.written is not None:
        # The schemas of the files were read since then; none of them is later than that of the snapshot.
        facts.require_same_schema(start.written)
    return plan


def _state_plan(
    facts: TableFacts,
    start: Starting,
    columns: Sequence[str] | None,
    filter: Filter | None,
    *,
    min_level: int | None,
    levels: frozenset[int] | None,
) -> Plan:
    schema = start.schema
    fields = schema.fields if columns is None else schema.select(columns)
    lowest = int(schema.is_primary_key_table and facts.options.skips_level_0) if min_level is None else min_level
    kind = ReadKind.of_state(schema, facts.options, min_level=lowest)
    pruning = Pruning.of(kind, schema, facts.options, bound_filter(filter, schema.fields))
    plan = partial(
        Plan, table=facts.name, snapshot=start.snapshot, schema=schema, fields=fields, pruning=pruning, facts=facts
    )
    if start.snapshot is None:
        # A table that was dropped since the first look at it has no snapshot either.
        require_same_table(facts.store)
        return plan()
    condition = pruning.residual
    shown = fields if condition is None else (*fields, *schema.select(sorted(columns_of(condition))))
    if start.written is not None:  # before files are pruned by columns that they no longer have
        refuse_dropped(start.written, schema, shown, where=facts.name)
    wanted = FileFilter(levels=levels, min_level=lowest)
    found = live_files(
        facts.manifests, start.snapshot, schema=schema, schemas=facts.schemas, filter=wanted, pruning=pruning
    )
    newer = sorted({e.file.schema_id for e in found.entries if e.file.schema_id > schema.id})
    refuse_newer((facts.schemas[i] for i in newer), schema, shown, where=facts.name, rewriting=False)
    deletion_files = facts.deletion_files(start.snapshot)
    if condition is None and levels is None and lowest <= 1:
        check_whole_plan(facts, start.snapshot, found, deletion_files)
    planned = pruned_by_hash_index(facts, start.snapshot, found.entries, pruning)
    # Postponed rows are not part of the table until a compaction gives them their bucket.
    entries = [entry for entry in planned if entry.bucket != POSTPONE_BUCKET and start.is_wanted(entry.file)]
    admits = pruning.value_statistics_test(facts.schemas)
    indexed = index_results(facts, pruning, entries)
    splits = make_splits(
        [entry for entry in entries if entry.file.file_name not in indexed.excluded_by_key],
        schema,
        facts.options.scan,
        snapshot=start.snapshot,
        pruning=pruning,
        may_match=lambda file: file.file_name not in indexed.excluded_by_row and (admits is None or admits(file)),
        deletion_files=deletion_files,
        selections=indexed.selections,
    )
    kept = [file for split in splits for file in split.files]
    left_out = {entry.file.file_name for entry in entries}.difference(file.file_name for file in kept)
    by_index = len(left_out & (indexed.excluded_by_key | indexed.excluded_by_row))
    counts = replace(
        found.counts,
        files=len(kept),
        files_dropped_by_bucket=found.counts.files_dropped_by_bucket + len(found.entries) - len(planned),
        files_dropped_by_value_stats=found.counts.files_dropped_by_value_stats + len(left_out) - by_index,
        files_dropped_by_index=by_index,
    )
    needed = sorted({file.schema_id for file in kept})
    return plan(
        splits=splits,
        counts=counts,
        schemas={schema_id: facts.schemas[schema_id] for schema_id in needed},
        candidates=tuple(entries),
        exact_rows=indexed.exact,
        indexes=indexed.indexes,
    )
