"""A table as one uses it: read it, write to it, look after it.

A ``Table`` is a value: the schema and options it was opened with, and no state of a work under way. Every scan and
every commit looks at the table anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from table_format.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    SnapshotNotFound,
    UnsupportedFeature,
)
from table_format.io.table_store import TableStore
from table_format.metastore.expire import ExpiryReport, expire_snapshots
from table_format.metastore.tag_deletion import delete_tag
from table_format.metastore.tags import TagStore
from table_format.model.arrow_types import arrow_schema
from table_format.model.identifier import Identifier
from table_format.model.predicate import Predicate
from table_format.model.row_kind import ROW_KIND_COLUMN, RowKind
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag
from table_format.options.check import check_dynamic
from table_format.options.declare import Operation
from table_format.options.scan import TIME_TRAVEL
from table_format.options.table_options import TableOptions
from table_format.table.commit import BatchCommit, expire_after_commit, fresh_user
from table_format.table.facts import TableFacts
from table_format.table.input import Rows
from table_format.table.maintenance import compact
from table_format.table.partition_values import partition_spec, rows_of_partition
from table_format.table.scan import Scan, columns_argument
from table_format.table.write import TableWrite


@dataclass(frozen=True)
class Table:
    """An opened table; travels between processes. ``dynamic_options`` lie on top of those of the schema."""

    identifier: Identifier
    store: TableStore
    schema: TableSchema
    dynamic_options: Mapping[str, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        return (Table, (self.identifier, self.store, self.schema, dict(self.dynamic_options)))

    @cached_property
    def options(self) -> TableOptions:
        """The table's options with the dynamic ones on top."""
        stored = dict(self.schema.options)
        starting_points = [key for option in TIME_TRAVEL for key in option.keys]
        if any(key in self.dynamic_options for key in starting_points):
            # One starting point replaces another.
            stored = {key: value for key, value in stored.items() if key not in starting_points}
        return TableOptions.parse({**stored, **self.dynamic_options})

    @cached_property
    def facts(self) -> TableFacts:
        """What operations on the table start from."""
        return TableFacts(str(self.identifier), self.store, self.schema, self.options)

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
        check_dynamic(self.schema, options)
        kept = dict(self.dynamic_options)
        starting_points = [key for option in TIME_TRAVEL for key in option.keys]
        if any(key in options for key in starting_points):
            kept = {key: value for key, value in kept.items() if key not in starting_points}
        return Table(self.identifier, self.store, self.schema, {**kept, **options})

    # --- reading ----------------------------------------------------------------------------------------------------

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Predicate | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Scan:
        """A reading of some columns (all without) and of the rows a filter selects (SQL text or a predicate).

        Raises:
            InvalidOption, UnsupportedFeature: an option is not acceptable; see ``copy``.
        """
        facts = self.copy(options).facts if options else self.facts
        return Scan(facts, columns_argument(columns), filter)

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

        Under one ``commit_user`` an ``identifier`` lands once: a repeated call writes nothing and returns nothing.
        Identifiers of a user ascend.

        Raises:
            InvalidData: a column or a value does not fit.
            ConflictError: another commit made this one impossible; nothing is visible, and no file of it is left.
            CommitOutcomeUnknown: it may have landed; repeat it under the same user and identifier.
        """
        commit = self.new_commit(commit_user)
        if identifier is not None and commit.is_committed(identifier):
            return ()
        messages = self.new_write(commit_user).write(data)
        try:
            return commit.commit(messages, identifier=identifier, properties=properties)
        except (ConflictError, OSError):
            # Nothing is visible after these; after any other error something may be.
            commit.abort(messages)
            raise

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
        commit = self.new_commit(commit_user)
        if identifier is not None and commit.is_committed(identifier):
            return ()
        spec = None if partition is None else partition_spec(self.schema, partition)
        rows = data if partition is None else rows_of_partition(data, self.schema, partition)
        messages = TableWrite(self.facts, replacing=True).write(rows)
        try:
            return commit.overwrite(messages, partition=spec, identifier=identifier, properties=properties)
        except (ConflictError, InvalidInputError, OSError):
            commit.abort(messages)
            raise

    def delete(self, where: str | Predicate) -> tuple[Snapshot, ...]:
        """Delete the rows a filter selects, in one commit; on tables with a primary key.

        Raises:
            UnsupportedFeature: the table has no primary key, or drops deletes (``ignore-delete``).
        """
        if not self.schema.is_primary_key_table:
            feature = "delete on a table without primary key"
            raise UnsupportedFeature(feature)
        merge = self.options.merge
        if merge.ignore_delete:
            feature = "delete with ignore-delete=true"
            raise UnsupportedFeature(feature)
        scan = self.scan(filter=where)
        kind_column = merge.rowkind_field or ROW_KIND_COLUMN
        deletes = pa.RecordBatchReader.from_batches(
            _with_kind(pa.RecordBatch.from_pylist([], schema=scan.schema), kind_column).schema,
            (_with_kind(batch, kind_column) for batch in scan.to_batches()),
        )
        return self.append(deletes)

    def update(self, set_: Mapping[str, str], where: str | Predicate | None = None) -> tuple[Snapshot, ...]:
        """Not supported by this version.

        Raises:
            UnsupportedFeature: always.
        """
        feature = f"update of {', '.join(set_)}{f' where {where}' if where else ''}"
        message = f"{feature} is not supported by this version; read the rows, change them and append them"
        raise UnsupportedFeature(feature, message)

    def merge(self, source: Rows, on: str) -> tuple[Snapshot, ...]:
        """Not supported by this version.

        Raises:
            UnsupportedFeature: always.
        """
        feature = f"merge of {type(source).__name__} on {on}"
        message = f"{feature} is not supported by this version; append to a primary key table replaces rows by key"
        raise UnsupportedFeature(feature, message)

    def truncate(self) -> tuple[Snapshot, ...]:
        """Remove all rows, in one commit."""
        self.facts.require(Operation.WRITE)
        snapshots = self.facts.committer(fresh_user(self.facts)).truncate()
        expire_after_commit(self.facts)
        return snapshots

    def drop_partitions(self, partitions: Sequence[Mapping[str, object]]) -> tuple[Snapshot, ...]:
        """Remove all rows of partitions, each given by values of some or all partition columns, in one commit.

        Raises:
            InvalidInputError: there is none, or one names other columns.
        """
        self.facts.require(Operation.WRITE)
        specs = [partition_spec(self.schema, partition) for partition in partitions]
        snapshots = self.facts.committer(fresh_user(self.facts)).drop_partitions(specs)
        expire_after_commit(self.facts)
        return snapshots

    def new_write(self, commit_user: str | None = None) -> TableWrite:
        """The first phase: rows become files, and messages for ``new_commit`` of the same user."""
        # The user is told when committing; files carry none.
        del commit_user
        return TableWrite(self.facts)

    def new_commit(self, commit_user: str | None = None) -> BatchCommit:
        """The second phase: messages become visible; without a user, under a fresh one."""
        return BatchCommit(self.facts, commit_user)

    # --- looking after it -------------------------------------------------------------------------------------------

    def compact(
        self, *, full: bool = False, partitions: Sequence[Mapping[str, object]] | None = None
    ) -> tuple[Snapshot, ...]:
        """Compact what is due, or everything, in all or some partitions; the snapshots made.

        Raises:
            ConflictError: another commit changed a bucket meanwhile.
        """
        return compact(self.facts, fresh_user(self.facts), full=full, partitions=partitions)

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

        Raises:
            InvalidOption: the bounds contradict each other.
            UnsupportedFeature: changelogs are to outlive their snapshots.
        """
        self.facts.require(Operation.EXPIRE)
        return expire_snapshots(
            self.store,
            self.options,
            dry_run=dry_run,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than_ms=older_than_ms,
            limit=limit,
            retain_floor_ms=retain_floor_ms,
        )

    def create_tag(self, name: str, snapshot_id: int | None = None, *, time_retained_ms: int | None = None) -> Tag:
        """Give a snapshot (the latest without ``snapshot_id``) a name that keeps it, for ever or for some time.

        Raises:
            AlreadyExistsError: there is a tag of that name.
            SnapshotNotFound: there is no such snapshot.
        """
        self.facts.require(Operation.EXPIRE)
        snapshot = self.latest_snapshot() if snapshot_id is None else self.facts.snapshots.load(snapshot_id)
        if snapshot is None:
            message = f"tag '{name}' cannot be made: {self.identifier} has no snapshot yet"
            raise SnapshotNotFound(message)
        tags = TagStore(self.store)
        if tags.find(name) is not None:
            message = f"tag '{name}' of {self.identifier} exists already; delete it or choose another name"
            raise AlreadyExistsError(message)
        return tags.create(name, snapshot, time_retained_ms=time_retained_ms)

    def delete_tag(self, name: str) -> None:
        """Remove a tag and the files that only it needs.

        Raises:
            TagNotFound: there is none of that name.
        """
        self.facts.require(Operation.EXPIRE)
        delete_tag(self.store, self.options, name)

    def tags(self) -> Mapping[str, Tag]:
        """All tags by name."""
        return TagStore(self.store).all()

    def rewrite_file_index(self) -> tuple[Snapshot, ...]:
        """Not supported by this version.

        Raises:
            UnsupportedFeature: always.
        """
        feature = "rewrite_file_index"
        raise UnsupportedFeature(feature)


def _with_kind(batch: pa.RecordBatch, column: str) -> pa.RecordBatch:
    kinds = pa.array([RowKind.DELETE.text] * batch.num_rows, pa.string())
    if column in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index(column), column, kinds)
    return batch.append_column(column, kinds)
