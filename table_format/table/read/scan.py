"""Reading a table: which columns, which rows, of which snapshot; planned first, then read in any of several shapes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import pyarrow as pa

from table_format.errors import UnsupportedFeature
from table_format.formats.newer_schemas import refuse_newer
from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.references.expired_reads import again_if_expired, telling_expired
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.arguments import name_or_names
from table_format.model.arrow_types import arrow_schema
from table_format.model.manifest import ManifestEntry
from table_format.model.predicate import Predicate, columns_of
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit
from table_format.options.declare import Operation
from table_format.options.startup import StartupMode, startup_mode
from table_format.table.facts import TableFacts
from table_format.table.read.fallback_branch import read_planned, with_fallback
from table_format.table.read.file_indexes import excluded_files
from table_format.table.read.file_tests import bucket_key_hashes, check_whole_plan, file_test, is_made_since
from table_format.table.read.filters import bound_filter
from table_format.table.read.incremental import incremental_plan
from table_format.table.read.key_buckets import without_other_keys
from table_format.table.read.plan import Plan
from table_format.table.read.split_reader import read_in_order
from table_format.table.read.splits import make_splits
from table_format.table.read.time_travel import Starting, named_snapshot, starting_point
from table_format.table.rows.arrow_rows import ArrowRows


@dataclass(frozen=True)
class Scan(ArrowRows):
    """One reading of a table; nothing happens before it is planned or read, and it is planned once.

    ``columns`` of ``None`` means all; ``filter`` is SQL text or a predicate. With ``levels`` only what lies on these
    levels is read. ``min_level`` is the lowest level that is read, by default what readers of the table see: 0 shows
    all that was committed, also where level 0 waits for a compaction.
    """

    facts: TableFacts
    columns: tuple[str, ...] | None = None
    filter: str | Predicate | None = None
    levels: frozenset[int] | None = None
    min_level: int | None = None

    @cached_property
    def _plan(self) -> Plan:
        return _make_plan(self)

    def plan(self) -> Plan:
        """The splits to read.

        Raises:
            NotFoundError: the snapshot or tag, or a column, does not exist; ``SnapshotExpired`` where it did.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            UnsupportedFeature: the table has a feature without which its rows would be wrong.
            SchemaChanged: the table was altered since it was opened, and its old schema would cut values.
            TableNotFound, TableReplaced: it was dropped since it was opened.
        """
        return self._plan

    def read(self, split: DataSplit) -> Generator[pa.RecordBatch]:
        """The rows of one split of the plan."""
        return read_planned(self.facts, self._plan, split)

    def to_batches(self, *, threads: int | None = None) -> Generator[pa.RecordBatch]:
        """The rows in batches, with bounded memory; in the order of the splits.

        ``threads`` bounds how many splits are read side by side; 1 reads on the caller's thread.
        """
        return read_in_order(self._plan.splits, self.read, threads=threads)

    def to_reader(self, *, threads: int | None = None) -> pa.RecordBatchReader:
        """The rows as an Arrow stream with its schema."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(threads=threads))

    def to_arrow(self, *, threads: int | None = None) -> pa.Table:
        """All rows as one table."""
        return pa.Table.from_batches(self.to_batches(threads=threads), schema=self.schema)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema(self._plan.fields)


def _make_plan(scan: Scan) -> Plan:
    facts = scan.facts
    require_same_table(facts.store)
    facts.require(Operation.READ)
    if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL:
        if scan.levels is not None:
            feature = "changes of a read-optimized table"
            raise UnsupportedFeature(feature)
        return incremental_plan(facts, scan.columns, scan.filter)
    # A snapshot that is expired while it is planned is gone; the latest of that moment is not.
    return again_if_expired(
        lambda: with_fallback(
            facts,
            lambda f: state_plan(
                f, starting_point(f), scan.columns, scan.filter, min_level=scan.min_level, levels=scan.levels
            ),
        )
    )


def state_plan(
    facts: TableFacts,
    start: Starting,
    columns: Sequence[str] | None,
    filter: str | Predicate | None,
    *,
    min_level: int | None = None,
    levels: frozenset[int] | None = None,
) -> Plan:
    """The splits of one state of the table as a batch sees it, or of what of it lies on ``min_level`` and above.

    With ``levels`` only what lies on these levels.

    Raises:
        SnapshotExpired: the snapshot was expired meanwhile.
        UnsupportedFeature: the state has a feature without which its rows would be wrong.
        SchemaChanged: files were written under a newer schema, and the older one would cut their values.
    """
    with telling_expired(facts.store, *(() if start.snapshot is None else (start.snapshot.id,))):
        return _state_plan(facts, start, columns, filter, min_level=min_level, levels=levels)


def _state_plan(
    facts: TableFacts,
    start: Starting,
    columns: Sequence[str] | None,
    filter: str | Predicate | None,
    *,
    min_level: int | None,
    levels: frozenset[int] | None,
) -> Plan:
    schema = start.schema
    fields = schema.fields if columns is None else schema.select(columns)
    predicate = bound_filter(filter, schema.fields)
    plan = partial(
        Plan,
        table=facts.name,
        snapshot=start.snapshot,
        schema=schema,
        fields=fields,
        predicate=predicate,
        facts=facts,
    )
    if start.snapshot is None:
        # So does a table look that was dropped after the first look at it.
        require_same_table(facts.store)
        return plan()
    keyed, options = schema.is_primary_key_table, facts.options
    lowest = int(keyed and options.skips_level_0) if min_level is None else min_level
    is_merged = keyed and lowest > 0 and options.merges_on_write
    key_hashes = bucket_key_hashes(schema, predicate)
    wanted = FileFilter.of(
        schema,
        predicate,
        key_hashes=key_hashes,
        levels=levels,
        min_level=lowest,
        is_merged=is_merged,
    )
    found = live_files(facts.manifests, start.snapshot, schema=schema, schemas=facts.schemas, filter=wanted)
    shown = fields if predicate is None else (*fields, *schema.select(sorted(columns_of(predicate))))
    newer = sorted({e.file.schema_id for e in found.entries if e.file.schema_id > schema.id})
    refuse_newer((facts.schemas[i] for i in newer), schema, shown, where=facts.name, rewriting=False)
    deletion_files = facts.deletion_files(start.snapshot)
    if predicate is None and levels is None and lowest <= 1:
        check_whole_plan(facts, start.snapshot, found, deletion_files)
    planned: Sequence[ManifestEntry] = found.entries
    if key_hashes is not None and facts.has_dynamic_buckets:
        planned = without_other_keys(facts, start.snapshot, planned, key_hashes)
    # Postponed rows are not part of the table until a compaction gives them their bucket.
    entries = [entry for entry in planned if entry.bucket != POSTPONE_BUCKET]
    if start.files_since_ms is not None:
        entries = [entry for entry in entries if is_made_since(entry.file, start.files_since_ms)]
    by_statistics = file_test(predicate, schema, facts)
    excluded = excluded_files(facts, schema, predicate, entries)
    splits = make_splits(
        [entry for entry in entries if entry.file.file_name not in excluded.alone],
        schema,
        options.scan,
        snapshot_id=start.snapshot.id,
        may_match=lambda file: file.file_name not in excluded.together and by_statistics(file),
        is_merged=is_merged,
        deletion_files=deletion_files,
    )
    kept = [file for split in splits for file in split.files]
    left_out = {entry.file.file_name for entry in entries}.difference(file.file_name for file in kept)
    by_index = len(left_out & (excluded.alone | excluded.together))
    counts = replace(
        found.counts,
        files=len(kept),
        files_dropped_by_bucket=found.counts.files_dropped_by_bucket + len(found.entries) - len(planned),
        files_dropped_by_value_stats=found.counts.files_dropped_by_value_stats + len(left_out) - by_index,
        files_dropped_by_index=by_index,
    )
    needed = sorted({file.schema_id for file in kept})
    return plan(splits=splits, counts=counts, schemas={schema_id: facts.schemas[schema_id] for schema_id in needed})


def shown_schema(facts: TableFacts) -> TableSchema:
    """The schema a scan shows rows in: that of the snapshot it travels to, or the table's."""
    if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL:
        return facts.schema
    named = named_snapshot(facts.options.scan, facts)
    return facts.schema if named is None else facts.schemas[named.schema_id]


def columns_argument(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Column names as given by a caller; a single text is one name."""
    return None if columns is None else name_or_names(columns, "columns")
