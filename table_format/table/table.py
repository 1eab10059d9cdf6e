"""A table as one uses it: read it, write to it, look after it.

A ``Table`` is a value: the schema and options it was opened with, and no state of a work under way. Every scan and
every commit reads the table's current state. Scans show rows in the schema the table was opened with. Operations that
write, rewrite or delete read the current schema first, and act under it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from table_format.errors import InvalidInputError, SchemaChanged
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.expire_snapshots import ExpiryReport, expire_snapshots
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.arguments import flag, mappings, options_by_key
from table_format.model.arrow_types import arrow_schema
from table_format.model.identifier import Identifier
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataField, DataType
from table_format.options.check import check_dynamic
from table_format.options.declare import Operation
from table_format.options.scan import MODE, STARTING_POINTS
from table_format.options.table_options import TableOptions
from table_format.secrets import masked_repr
from table_format.table.changes import row_actions
from table_format.table.facts import TableFacts
from table_format.table.read.order_by import row_limit
from table_format.table.read.scan import Scan, columns_argument
from table_format.table.read.stream import StreamScan
from table_format.table.rows.input import Rows
from table_format.table.rows.partition_values import partition_spec, rows_of_partition
from table_format.table.upkeep import branches as branch_actions
from table_format.table.upkeep import cleaning as cleaning_actions
from table_format.table.upkeep import compact as compact_actions
from table_format.table.upkeep import consumers as consumer_actions
from table_format.table.upkeep import tags as tag_actions
from table_format.table.upkeep.analyze import analyze
from table_format.table.upkeep.index_rewrite import rewrite_table_indexes
from table_format.table.upkeep.partition_done import mark_partitions_done
from table_format.table.upkeep.partition_expiry import expire_partitions
from table_format.table.upkeep.rescale import rescale_table
from table_format.table.upkeep.upkeep_facts import due_upkeep_of
from table_format.table.verify.verify import verify_table
from table_format.table.write.batch_commit import BatchCommit, CommitArguments, expire_after_commit, fresh_user
from table_format.table.write.commit_retries import Messages, is_repeatable, write_and_commit
from table_format.table.write.table_write import TableWrite
from table_format.table.write.turns import WriterTurns

_STARTING_POINTS = tuple(key for option in STARTING_POINTS for key in option.keys)


@dataclass(frozen=True, repr=False)
class Table:
    """An opened table; travels between processes. ``dynamic_options`` lie on top of those of the schema."""

    identifier: Identifier
    store: TableStore
    schema: TableSchema
    dynamic_options: Mapping[str, str] = field(default_factory=dict)

    __repr__ = masked_repr

    def __reduce__(self) -> tuple[object, ...]:
        return (Table, (self.identifier, self.store, self.schema, dict(self.dynamic_options)))

    @cached_property
    def options(self) -> TableOptions:
        """The table's options with the dynamic ones on top."""
        stored = dict(self.schema.options)
        if any(key in self.dynamic_options for key in _STARTING_POINTS):
            # One starting point replaces another.
            stored = {key: value for key, value in stored.items() if key not in (*_STARTING_POINTS, *MODE.keys)}
        return TableOptions.parse({**stored, **self.dynamic_options})

    @cached_property
    def facts(self) -> TableFacts:
        """What operations on the table start from."""
        return TableFacts(str(self.identifier), self.store, self.schema, self.options)

    def current(self) -> Table:
        """The table under the schema it has now, with the same dynamic options on top; itself if nothing changed.

        Raises:
            TableNotFound: the table was dropped or renamed.
            TableReplaced: it was dropped, and another was made in its place.
            SchemaChanged: a dynamic option contradicts the present options of the table.
        """
        require_same_table(self.store)
        latest = self.facts.schema_store.latest()
        if latest.id == self.schema.id:
            return self
        try:
            check_dynamic(latest, self.dynamic_options)
        except InvalidInputError as error:
            message = f"{self.identifier} has schema {latest.id} now: {error}. Load the table again and repeat"
            raise SchemaChanged(message) from error
        return Table(self.identifier, self.store, latest, self.dynamic_options)

    @property
    def current_facts(self) -> TableFacts:
        """What operations that write or delete start from; raises as ``current``."""
        now = self.current()
        if now is self or _columns(now.schema.fields) == _columns(self.schema.fields):
            return now.facts
        return replace(now.facts, opened=self.schema)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema: what ``append`` takes and ``scan`` gives."""
        return arrow_schema(self.schema.fields)

    def copy(self, options: Mapping[str, str]) -> Table:
        """The same table with further dynamic options.

        Raises:
            InvalidOption: a key is unknown, a value malformed, or the option never changes.
            UnsupportedFeature: an option has an effect that this version lacks.
        """
        options = options_by_key(options, "options")
        check_dynamic(self.schema, options)
        kept = dict(self.dynamic_options)
        if any(key in options for key in _STARTING_POINTS):
            kept = {key: value for key, value in kept.items() if key not in (*_STARTING_POINTS, *MODE.keys)}
        return Table(self.identifier, self.store, self.schema, {**kept, **options})

    # --- reading ----------------------------------------------------------------------------------------------------

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Predicate | None = None,
        options: Mapping[str, str] | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Scan:
        """A reading of some columns (all without) and of the rows a filter selects (SQL text or a predicate).

        With ``limit`` so many rows at most: the first of ``order_by``, which is what follows ORDER BY in SQL, or any
        without it. As in Spark null is first in an ascending order and last in a descending one, unless NULLS FIRST
        or NULLS LAST is given; NaN is larger than all numbers. Files that cannot hold one of the rows are left out.

        >>> table.scan(order_by="price DESC NULLS LAST", limit=10).to_arrow()  # doctest: +SKIP

        Raises:
            InvalidOption, UnsupportedFeature: an option is not acceptable; see ``copy``.
            InvalidInputError: the limit is negative, the order has none, or cannot be parsed.
        """
        facts = self.facts if options is None else self.copy(options).facts
        return Scan(facts, columns_argument(columns), filter, limit=row_limit(order_by, limit))

    def stream(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Predicate | None = None,
        options: Mapping[str, str] | None = None,
    ) -> StreamScan:
        """A reading of the table as it grows: plan after plan, each of rows with their kinds.

        It starts as ``scan.mode`` says, without one with the latest state; a ``consumer-id`` goes on where it was.

        Raises:
            InvalidOption, UnsupportedFeature: an option is not acceptable, or a stream cannot start so.
        """
        facts = self.facts if options is None else self.copy(options).facts
        return StreamScan(facts, columns_argument(columns), filter)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """The retained snapshots, oldest first."""
        found = (self.facts.snapshots.find(snapshot_id) for snapshot_id in self.facts.snapshots.ids())
        return tuple(snapshot for snapshot in found if snapshot is not None)

    def latest_snapshot(self) -> Snapshot | None:
        """The latest snapshot; ``None`` for a table without any."""
        return self.facts.snapshots.latest()

    # --- writing ----------------------------------------------------------------------------------------------------

    def append(
        self,
        data: Rows,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> tuple[Snapshot, ...]:
        """Write rows in one commit; on a primary key table they replace older rows of their keys.

        Under one ``commit_user`` an ``identifier`` is committed once: a repeated call writes nothing and returns
        nothing. Identifiers of a user ascend.

        Raises:
            InvalidData: a column or a value does not fit.
            SchemaChanged: it does not fit, and the table has got other columns since it was opened.
            ConflictError: another commit made this one impossible; nothing is visible, and no file of it is left.
            CommitOutcomeUnknown: it may have been committed; repeat it under the same user and identifier.
        """
        CommitArguments.of(identifier, properties=properties)
        commit = self.new_commit(commit_user)
        if identifier is not None and commit.is_committed(identifier):
            return ()
        return write_and_commit(
            self.store,
            commit,
            write=lambda: self.new_write(commit.commit_user).write(data),
            publish=lambda messages: commit.commit(messages, identifier=identifier, properties=properties),
            is_repeatable=is_repeatable(data),
            turns=WriterTurns.of(self.facts),
        )

    def overwrite(
        self,
        data: Rows,
        *,
        partition: Mapping[str, object] | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> tuple[Snapshot, ...]:
        """Replace rows in one commit: those of a partition, given by values of partition columns, which the rows may
        lack; without, those of the partitions the new rows touch or, with ``dynamic-partition-overwrite`` = false and
        for a table without partitions, all.

        Raises:
            InvalidInputError: a row, or a value of ``partition``, does not fit.
            ConflictError, CommitOutcomeUnknown: as for ``append``.
        """
        CommitArguments.of(identifier, properties=properties)
        facts = self.current_facts
        commit = BatchCommit(facts, commit_user)
        if identifier is not None and commit.is_committed(identifier):
            return ()
        with facts.blaming_old_columns():
            spec = None if partition is None else partition_spec(facts.schema, partition)

        def write() -> Messages:
            with facts.blaming_old_columns():
                rows = data if partition is None else rows_of_partition(data, facts.schema, partition)
            return TableWrite(facts, replacing=True, commit_user=commit.commit_user).write(rows)

        return write_and_commit(
            self.store,
            commit,
            write=write,
            publish=lambda messages: commit.overwrite(
                messages, partition=spec, identifier=identifier, properties=properties
            ),
            is_repeatable=is_repeatable(data),
            turns=WriterTurns.of(self.facts),
        )

    delete = row_actions.delete
    update = row_actions.update
    merge = row_actions.merge

    def truncate(self) -> tuple[Snapshot, ...]:
        """Remove all rows, in one commit."""
        facts = self.current_facts
        facts.require(Operation.WRITE)
        snapshots = facts.committer(fresh_user(facts)).truncate()
        expire_after_commit(facts)
        return snapshots

    def drop_partitions(self, partitions: Sequence[Mapping[str, object]]) -> tuple[Snapshot, ...]:
        """Remove all rows of partitions, each given by values of some or all partition columns, in one commit.

        Raises:
            InvalidInputError: there is none, or one names other columns.
        """
        facts = self.current_facts
        facts.require(Operation.WRITE)
        specs = [partition_spec(facts.schema, partition) for partition in mappings(partitions, "partitions")]
        snapshots = facts.committer(fresh_user(facts)).drop_partitions(specs)
        expire_after_commit(facts)
        return snapshots

    def new_write(self, commit_user: str | None = None, *, compactor: Executor | None = None) -> TableWrite:
        """The first phase: rows become files, and messages for ``new_commit`` of the same user.

        With a ``compactor``, such as a pool of threads, a stream of writes goes on while buckets are compacted; what
        came of it is among the messages of a later write, and in the end of ``finish``.
        """
        return TableWrite(self.current_facts, compactor=compactor, shared=False, commit_user=commit_user)

    def new_commit(self, commit_user: str | None = None) -> BatchCommit:
        """The second phase: messages become visible; without a user, under a fresh one."""
        return BatchCommit(self.current_facts, commit_user)

    # --- looking after it -------------------------------------------------------------------------------------------

    compact = compact_actions.compact_table

    run_compaction = compact_actions.run_compaction
    rescale = rescale_table
    rewrite_file_index = rewrite_table_indexes

    def analyze(self, columns: Sequence[str] | None = None) -> tuple[Snapshot, ...]:
        """Count the rows, and of the given columns distinct values, nulls, bounds and lengths; one ANALYZE snapshot.

        ``$statistics`` shows the result. Nothing happens on a table without snapshots.

        Raises:
            ColumnNotFound: there is no such column.
            UnsupportedFeature: a column holds ARRAY, MAP, MULTISET or ROW.
        """
        facts = self.current_facts
        with facts.blaming_old_columns():
            snapshots = analyze(facts, fresh_user(facts), columns_argument(columns) or ())
        expire_after_commit(facts)
        return snapshots

    def expire_snapshots(
        self,
        *,
        dry_run: bool = False,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than_ms: int | None = None,
        limit: int | None = None,
        retain_floor_ms: int | None = None,
    ) -> ExpiryReport:
        """Delete old snapshots and the files that only they need, by the table's options or those given here.

        Nothing younger than ``retain_floor_ms`` goes (15 minutes without): give 0 only when nobody else writes.

        Where changes outlive snapshots (``changelog.*-retained``) they become long-lived changelogs.

        Raises:
            InvalidOption: the bounds contradict each other.
        """
        flag(dry_run, "dry_run")
        facts = self.current_facts
        facts.require(Operation.EXPIRE)
        return expire_snapshots(
            facts.store,
            facts.options,
            dry_run=dry_run,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than_ms=older_than_ms,
            limit=limit,
            retain_floor_ms=retain_floor_ms,
        )

    due_upkeep = due_upkeep_of
    verify = verify_table

    expire_partitions = expire_partitions
    mark_partitions_done = mark_partitions_done
    expire_changelogs = cleaning_actions.expire_changelogs
    remove_orphan_files = cleaning_actions.remove_orphan_files

    # --- what keeps snapshots, and going back: the functions say what each does ---------------------------------------

    tags = tag_actions.tags
    create_tag = tag_actions.create_tag
    replace_tag = tag_actions.replace_tag
    rename_tag = tag_actions.rename_tag
    delete_tag = tag_actions.delete_tag
    create_automatic_tags = tag_actions.create_automatic_tags
    expire_tags = tag_actions.expire_tags

    branches = branch_actions.branches
    create_branch = branch_actions.create_branch
    delete_branch = branch_actions.delete_branch
    rename_branch = branch_actions.rename_branch
    fast_forward = branch_actions.fast_forward
    rollback_to = branch_actions.rollback_to
    rollback_to_timestamp = branch_actions.rollback_to_timestamp
    rollback_before = branch_actions.rollback_before
    plan_rollback = branch_actions.plan_rollback
    plan_rollback_to_timestamp = branch_actions.plan_rollback_to_timestamp
    plan_rollback_before = branch_actions.plan_rollback_before

    consumers = consumer_actions.consumers
    reset_consumer = consumer_actions.reset_consumer
    delete_consumer = consumer_actions.delete_consumer


def _columns(fields: Sequence[DataField]) -> list[tuple[int, str, DataType]]:
    return [(field.id, field.name, field.type) for field in fields]
