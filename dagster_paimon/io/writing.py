"""Writes one output of a step to its table exactly once; creates or evolves the table if necessary.

Order of effects: 1 table or schema change  2 data files  3 the snapshot, which is the commit  4 the materialization
event. A step that crashed between 3 and 4 finds its snapshot when it runs again, and only records the event. If it
failed after 4, an output that replaces rows is written again. Steps 2 and 3 are repeated after a lost race that writing
again can repair, as for ``Table.append``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import dagster as dg

from dagster_paimon.io.branches import ensure_branch, on_branch
from dagster_paimon.io.commits import Attempts, Committer
from dagster_paimon.io.evolution import (
    SchemaEvolution,
    changes_for,
    comment_changes,
    described,
    option_changes,
    other_buckets,
)
from dagster_paimon.io.frame_columns import FrameColumns
from dagster_paimon.io.frame_writer import FrameWriter, Handling, Messages
from dagster_paimon.io.run_partitions import RunPartitions, partition_columns
from dagster_paimon.io.spec import EmptyPartitions, WriteMode, WriteSpec
from dagster_paimon.io.tally import PartitionRows, Tally
from dagster_paimon.tables.measure import committed_by, live_entries
from table_format import Catalog, FormatTable, Identifier, Schema, Snapshot, SystemTable, Table, TableSchema
from table_format.engine import (
    REPAIRED,
    BatchCommit,
    CommitCheck,
    WriterTurns,
    check_deletable,
    replace_rows,
    write_and_commit,
)
from table_format.engine.support import ROW_KIND_COLUMN
from table_format.errors import FileConflict, InvalidData, InvalidInputError
from table_format.types import DataField

_UPDATE: Final = SchemaEvolution.widen
"""The schema changes that ``schema_update_mode: update`` of dagster-iceberg allows."""

_CLOCKS_DIFFER_MS: Final = 60_000
"""The allowed clock difference between writers of a table."""

__all__ = ["EmptyPartitions", "WriteMode", "WriteSpec", "Written", "write_output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of writing a step's output. ``snapshots`` are those of the step; ``repeated`` if an earlier attempt
    committed them. ``snapshots`` is empty if they have expired since.

    ``schema_changes`` describes the changes that the frame or the options of the asset required; ``remark`` describes
    what was not changed. ``partition_rows`` has the number of rows of each partition of the run, if it is known. It is
    unknown if an earlier attempt wrote the rows and the table does not record it.
    """

    table: Table
    snapshots: tuple[Snapshot, ...]
    repeated: bool = False
    schema_changes: tuple[str, ...] = ()
    remark: str | None = None
    partition_rows: Mapping[str, PartitionRows] = field(default_factory=dict)


def write_output(
    catalog: Catalog,
    spec: WriteSpec,
    frame: FrameWriter,
    who: Committer,
    *,
    partitions: Sequence[str],
    evolution: SchemaEvolution,
    create: bool,
    definition: dg.PartitionsDefinition[Any] | None = None,
    announce: Callable[[], None] = lambda: None,
) -> Written:
    """Write one frame to its table. ``partitions`` are the Dagster partitions of the run; none for a whole asset.

    ``definition`` is the partitions definition. Without one, each partition is a value of the column
    ``partition_expr``. ``announce`` is called before the commit of rows that must not be written twice.

    Raises:
        TableFormatError: the frame does not fit, or the commit lost a race. Nothing was committed.
    """
    table = _existing(catalog, spec.table)
    is_new = table is None
    changes_made: tuple[str, ...] = ()
    earlier: tuple[Snapshot, ...] = ()
    remark = None
    columns = frame.columns(() if table is None else table.schema.fields)
    if spec.branch is not None:
        of_branch = on_branch(spec.table, spec.branch)  # refuses an illegal name before anything is made
        if table is None:
            table = _created(catalog, spec, frame, columns, partitions, definition, create=create)
        ensure_branch(table, spec.branch)
        table = _existing(catalog, of_branch)
    if table is None:
        table = _created(catalog, spec, frame, columns, partitions, definition, create=create)
    else:
        earlier = committed_by(table.facts, who.user, since_ms=who.since_ms)
        if who.attempts.handled_id is not None and spec.mode.replaces:
            # Only writing again makes the rows those of this attempt.
            who, earlier = who.after(earlier), ()
        elif not earlier and not spec.mode.replaces and _has_expired(table, spec, who.attempts):
            return Written(table=table, snapshots=(), repeated=True)
        if not earlier:
            _check_keys(spec, table.schema)
            remark = _remark(spec, table, columns)
            evolved = evolution if spec.widens is None else (_UPDATE if spec.widens else SchemaEvolution.error)
            stored, partial_rows = columns.stored(spec.dropped), spec.mode is WriteMode.delete
            required = changes_for(table.schema, stored, evolved, name=spec.table, partial=partial_rows)
            changes = (
                *required,
                *option_changes(table.schema, spec.options),
                *comment_changes(table.schema, spec.comments, spec.comment, added=required),
            )
            changes_made = described(table.schema, changes)
            table = catalog.alter_table(str(table.identifier), changes) if changes else table
    of_run = RunPartitions.of(spec, table.schema, columns.fields, partitions, definition)
    if earlier:
        rows = of_run.committed_rows(table.facts, earlier)
        return Written(table=table, snapshots=earlier, repeated=True, partition_rows=rows)
    _check_mode(spec, table.schema, of_run)
    if spec.mode is WriteMode.delete:
        check_deletable(table.facts, "delete")
    tally = of_run.tally()
    handling = _handling(spec, columns, tally)
    try:
        snapshots = _write_and_commit(table, spec, frame, handling, who, of_run, announce)
    except InvalidData as error:
        if not is_new:
            raise
        # It is not dropped, because another writer may have found it in the meantime.
        message = f"{error}; the run has created {spec.table}, without rows: drop it if you change columns or keys"
        raise InvalidData(message) from error
    rows = tally.result() if tally is not None else of_run.committed_rows(table.facts, snapshots)
    return Written(table=table, snapshots=snapshots, schema_changes=changes_made, remark=remark, partition_rows=rows)


def _has_expired(table: Table, spec: WriteSpec, attempts: Attempts) -> bool:
    """Return whether an earlier attempt committed the rows in a snapshot that has expired.

    Raises:
        InvalidInputError: an attempt may have been killed after its commit, and the snapshots from then have expired.
    """
    snapshots = table.facts.snapshots
    earliest = snapshots.earliest_id()
    if earliest is None or earliest == 1 or attempts.began_ms is None:
        return False
    if attempts.handled_id is not None:
        return earliest > attempts.handled_id
    first = snapshots.find(earliest)
    if first is not None and first.time_millis < attempts.began_ms - _CLOCKS_DIFFER_MS:
        return False
    began = datetime.fromtimestamp(attempts.began_ms / 1000, UTC).isoformat(" ", "seconds")
    message = (
        f"{spec.table}: an earlier attempt of this step began to commit at {began}, and the snapshots from then have "
        f"expired, so it is unknown whether its rows are in the table; '{spec.mode}' would write them twice. Look for "
        "them in the table; if they are missing, start a new run instead of one that continues the failed one"
    )
    raise InvalidInputError(message)


def _existing(catalog: Catalog, name: str) -> Table | None:
    if not catalog.table_exists(name):
        return None
    table = catalog.load_any(name)
    if isinstance(table, FormatTable):
        message = f"'{name}' is a format table, which has no snapshots; read and write it with its own methods"
        raise InvalidInputError(message)
    if isinstance(table, SystemTable):
        message = f"'{name}' is a system table, which is read-only"
        raise InvalidInputError(message)
    return table


def _created(
    catalog: Catalog,
    spec: WriteSpec,
    frame: FrameWriter,
    columns: FrameColumns,
    partitions: Sequence[str],
    definition: dg.PartitionsDefinition[Any] | None,
    *,
    create: bool,
) -> Table:
    if not create:
        message = f"{spec.table} does not exist and create_tables is off; create the table, or set create_tables"
        raise InvalidInputError(message)
    untyped = columns.untyped - spec.dropped
    if untyped:
        message = (
            f"{spec.table} does not exist, and the frame holds only nulls in {', '.join(sorted(untyped))}, so their "
            "types are unknown; cast these columns in the asset"
        )
        raise InvalidData(message)
    fields = columns.stored(spec.dropped)
    schema = Schema(
        fields=tuple(_described(f, spec.comments.get(f.name)) for f in fields if f.name != ROW_KIND_COLUMN),
        partition_keys=partition_columns(spec, fields, definition),
        primary_keys=spec.primary_key,
        options=spec.options,
        comment=spec.comment,
    )
    # A table that the run cannot write to would also be an obstacle to the corrected asset.
    of_run = RunPartitions.of(spec, schema, columns.fields, partitions, definition)
    _check_mode(spec, schema, of_run)
    frame.check(schema, _handling(spec, columns, of_run.refusal()))
    catalog.create_database(Identifier.parse(spec.table).database, ignore_if_exists=True)
    return catalog.create_table(spec.table, schema, ignore_if_exists=True)


def _handling(spec: WriteSpec, columns: FrameColumns, tally: Tally | None) -> Handling:
    kind = "-D" if spec.mode is WriteMode.delete else None
    return Handling(kind=kind, tally=tally, dropped=spec.dropped | columns.untyped)


def _remark(spec: WriteSpec, table: Table, columns: FrameColumns) -> str | None:
    untyped = sorted(columns.untyped - spec.dropped)
    of_nulls = f"{spec.table}: not added, because the frame holds only nulls in them: {', '.join(untyped)}"
    found = [other_buckets(table.schema, spec.options, name=spec.table), of_nulls if untyped else None]
    return "; ".join(filter(None, found)) or None


def _described(field: DataField, comment: str | None) -> DataField:
    # An engine declares computed columns NOT NULL, but the next frame may differ. Keys become NOT NULL anyway.
    return DataField(field.id, field.name, field.type.with_nullable(True), comment or field.description)


def _check_keys(spec: WriteSpec, table: TableSchema) -> None:
    """Refuse an asset that declares other keys than its table has: they would have no effect, and an upsert would
    replace rows that the asset takes for different ones.
    """
    declared = (
        ("primary_key", "primary key", spec.primary_key or None, table.primary_keys),
        ("partition_by", "partition columns", spec.partition_by, table.partition_keys),
    )
    for key, what, wanted, found in declared:
        if wanted is not None and set(wanted) != set(found):
            message = (
                f"{spec.table}: paimon/{key} is ({', '.join(wanted)}), but the {what} of the table: "
                f"({', '.join(found)}). They never change: correct the metadata of the asset, or write to a new table"
            )
            raise InvalidInputError(message)


def _check_mode(spec: WriteSpec, table: Schema | TableSchema, of_run: RunPartitions) -> None:
    keys = table.primary_keys
    problem = None
    if spec.mode is WriteMode.upsert and not keys:
        problem = "upsert needs a table with a primary key; set paimon/primary_key before the table is created"
    elif spec.mode is WriteMode.append and keys:
        problem = (
            f"its primary key is ({', '.join(keys)}): appending to it is an upsert; set paimon/write_mode to upsert"
        )
    elif spec.mode is WriteMode.delete and not keys:
        problem = "delete needs a primary key, and the table has none; overwrite its partitions instead"
    elif spec.mode is WriteMode.overwrite_partition and of_run.keys:
        if spec.partition_expr is None:
            problem = "overwrite_partition needs partition_expr, the column of the Dagster partition"
        elif not of_run.are_partitions and keys:
            found = ", ".join(table.partition_keys) or "none"
            problem = (
                f"overwrite_partition replaces rows by {', '.join(spec.columns)}, but the partition keys are: {found}; "
                "a table with a primary key is replaced by whole partitions, so partition it by "
                f"{', '.join(spec.columns)}, or upsert with paimon/partition_scope: input"
            )
    if problem:
        message = f"{spec.table}: {problem}"
        raise InvalidInputError(message)


def _write_and_commit(
    table: Table,
    spec: WriteSpec,
    frame: FrameWriter,
    handling: Handling,
    who: Committer,
    of_run: RunPartitions,
    announce: Callable[[], None],
) -> tuple[Snapshot, ...]:
    commit = table.new_commit(who.user)
    written = partial(frame.write, handling=handling)
    by_rows = spec.mode is WriteMode.overwrite_partition and bool(of_run.keys) and not of_run.are_partitions

    check: CommitCheck | None = None

    def write() -> Messages:
        nonlocal check
        facts = table.current_facts
        if not by_rows:
            return written(facts, replacing=spec.mode.replaces)
        messages, check = replace_rows(facts, of_run.condition, lambda latest: written(latest, replacing=False))
        return messages

    def publish(messages: Messages) -> tuple[Snapshot, ...]:
        if spec.mode.replaces and not by_rows:
            return _overwrite(commit, table, spec, messages, who, of_run)
        if not spec.mode.replaces:
            announce()
        return commit.commit(
            messages, identifier=who.identifier, watermark=spec.watermark, properties=who.properties, check=check
        )

    return write_and_commit(
        table.store,
        commit,
        write=write,
        publish=publish,
        is_repeatable=frame.is_repeatable,
        repaired=(*REPAIRED, FileConflict) if by_rows else REPAIRED,
        turns=WriterTurns.of(table.facts),
    )


def _overwrite(
    commit: BatchCommit, table: Table, spec: WriteSpec, messages: Messages, who: Committer, of_run: RunPartitions
) -> tuple[Snapshot, ...]:
    overwrite = partial(
        commit.overwrite, messages, identifier=who.identifier, watermark=spec.watermark, properties=who.properties
    )
    if spec.mode is WriteMode.overwrite_table or not of_run.keys:
        return overwrite(partition={})
    outside = of_run.outside(table.facts, messages)
    if outside:
        message = (
            f"{spec.table}: the frame has rows of {', '.join(outside)}, which are not among the run's partitions "
            f"({of_run.span}); nothing was written"
        )
        raise InvalidData(message)
    facts = table.current_facts
    replaced = of_run.replaced(facts)
    if callable(replaced) and not messages and not replaced(frozenset(e.partition for e in live_entries(facts))):
        return ()  # neither the table nor the frame has a partition in the time window
    return overwrite(partition=replaced)
