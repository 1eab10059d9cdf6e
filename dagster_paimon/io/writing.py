"""Writing one output of a step to its table: made or evolved if need be, written, committed, exactly once.

Order of effects: 1 table or schema change  2 data files  3 the snapshot, which is the commit  4 the materialization
event. A step that crashed between 3 and 4 finds its snapshot when it is run again, and only tells. Steps 2 and 3 are
repeated when another writer won a race that writing again repairs, as for ``Table.append``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from dagster_paimon.io.commits import Committer
from dagster_paimon.io.engines import FrameWriter, Messages
from dagster_paimon.io.evolution import SchemaEvolution, changes_for, described, option_changes, other_buckets
from dagster_paimon.tables.measure import committed_by, partition_key, partition_value
from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidData, InvalidInputError
from table_format.model import arguments
from table_format.model.identifier import Identifier
from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.model.schema import Schema
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataField
from table_format.table.facts import TableFacts
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.commit_retries import write_and_commit
from table_format.table.write.turns import WriterTurns

IDENTIFIER: Final = 1
"""A step commits once for each of its outputs, under a user of its own."""


class WriteMode(StrEnum):
    """How rows join the table. Dagster takes the names, so they are in lower case."""

    append = "append"
    overwrite_partition = "overwrite_partition"
    overwrite_table = "overwrite_table"
    upsert = "upsert"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpec:
    """What the metadata of an asset says about its table."""

    table: str
    mode: WriteMode
    partition_column: str | None
    primary_key: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None
    comments: Mapping[str, str]
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: str, metadata: Mapping[str, Any], default_mode: WriteMode) -> WriteSpec:
        """Read the keys ``partition_expr`` and ``paimon/…``.

        Raises:
            InvalidInputError: a key is unknown, or a value is none it can have.
        """
        unknown = sorted(k for k in metadata if k.startswith("paimon/") and k.removeprefix("paimon/") not in _KEYS)
        if unknown:
            message = f"{table}: metadata {', '.join(unknown)}: expected one of paimon/{', paimon/'.join(_KEYS)}"
            raise InvalidInputError(message)
        mode = str(arguments.text(metadata.get("paimon/write_mode", default_mode), f"{table}: paimon/write_mode"))
        if mode not in WriteMode.__members__:
            message = f"{table}: paimon/write_mode '{mode}': expected one of {', '.join(WriteMode)}"
            raise InvalidInputError(message)
        scope = arguments.text(metadata.get("paimon/partition_scope", "table"), f"{table}: paimon/partition_scope")
        if scope not in ("table", "input") or (scope == "input" and mode == WriteMode.overwrite_partition):
            message = (
                f"{table}: paimon/partition_scope '{scope}' with {mode}: expected 'table', or 'input' for a table that "
                "is not partitioned by the Dagster partition, which is upserted or appended to"
            )
            raise InvalidInputError(message)
        column = metadata.get("partition_expr")
        if column is not None and not isinstance(column, str):
            message = f"{table}: partition_expr {column!r}: expected the name of one column"
            raise InvalidInputError(message)
        options = metadata.get("paimon/options", {})
        if not isinstance(options, Mapping):
            arguments.refuse(f"{table}: paimon/options", "a mapping of options to values", options)
        comment = arguments.optional_text(metadata.get("paimon/comment"), f"{table}: paimon/comment")
        return cls(
            table=table,
            mode=WriteMode(mode),
            partition_column=column,
            primary_key=arguments.name_or_names(metadata.get("paimon/primary_key", ()), f"{table}: paimon/primary_key"),
            options={str(k): str(v) for k, v in options.items()},
            comment=comment,
            comments=arguments.texts_by_text(metadata.get("paimon/comments"), f"{table}: paimon/comments"),
            properties=arguments.texts_by_text(metadata.get("paimon/properties"), f"{table}: paimon/properties"),
        )


_KEYS: Final = (
    "table",
    "write_mode",
    "primary_key",
    "options",
    "comment",
    "comments",
    "partition_scope",
    "properties",
    "freshness",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A step's output in its table. ``snapshots`` are those of the step; ``repeated`` when an earlier attempt's.

    ``schema_changes`` says in words what was changed to make room for the frame, or to follow the options of the asset;
    ``remark`` what was not.
    """

    table: Table
    snapshots: tuple[Snapshot, ...]
    repeated: bool = False
    schema_changes: tuple[str, ...] = ()
    remark: str | None = None


def write_output(
    catalog: Catalog,
    spec: WriteSpec,
    frame: FrameWriter,
    who: Committer,
    *,
    partitions: Sequence[str],
    evolution: SchemaEvolution,
    create: bool,
) -> Written:
    """Bring one frame into its table; ``partitions`` are the Dagster partitions of the run, none for a whole asset.

    Raises:
        TableFormatError: the frame does not fit, or the commit lost; nothing of it is visible.
    """
    table = _existing(catalog, spec.table)
    if table is not None:
        earlier = committed_by(table.facts, who.user, since_ms=who.since_ms)
        if earlier:
            return Written(table=table, snapshots=earlier, repeated=True)
        remark = other_buckets(table.schema, spec.options, name=spec.table)
        changes = (
            *changes_for(table.schema, frame.fields(), evolution, name=spec.table),
            *option_changes(table.schema, spec.options),
        )
        told = described(table.schema, changes)
        table = catalog.alter_table(spec.table, changes) if changes else table
    else:
        table, told, remark = _created(catalog, spec, frame.fields(), create=create), (), None
    _check_mode(spec, table, partitions)
    snapshots = _write_and_commit(table, spec, frame, who, partitions)
    return Written(table=table, snapshots=snapshots, schema_changes=told, remark=remark)


def _existing(catalog: Catalog, name: str) -> Table | None:
    if not catalog.table_exists(name):
        return None
    table = catalog.load_table(name)
    if isinstance(table, SystemTable):
        message = f"'{name}' is a system table, which nobody writes"
        raise InvalidInputError(message)
    return table


def _created(catalog: Catalog, spec: WriteSpec, fields: Sequence[DataField], *, create: bool) -> Table:
    if not create:
        message = f"{spec.table} does not exist and create_tables is off; create it, or switch it on"
        raise InvalidInputError(message)
    schema = Schema(
        fields=tuple(_described(f, spec.comments.get(f.name)) for f in fields if f.name != ROW_KIND_COLUMN),
        partition_keys=(spec.partition_column,) if spec.partition_column else (),
        primary_keys=spec.primary_key,
        options=spec.options,
        comment=spec.comment,
    )
    catalog.create_database(Identifier.parse(spec.table).database, ignore_if_exists=True)
    return catalog.create_table(spec.table, schema, ignore_if_exists=True)


def _described(field: DataField, comment: str | None) -> DataField:
    # An engine says NOT NULL of what it has just computed; the next frame may differ. Keys become NOT NULL anyway.
    return DataField(field.id, field.name, field.type.with_nullable(True), comment or field.description)


def _check_mode(spec: WriteSpec, table: Table, partitions: Sequence[str]) -> None:
    keys = table.schema.primary_keys
    problem = None
    if spec.mode is WriteMode.upsert and not keys:
        problem = "upsert needs a table with a primary key; set paimon/primary_key before the table is made"
    elif spec.mode is WriteMode.append and keys:
        problem = f"its primary key is ({', '.join(keys)}): to append to it is to upsert; say so in paimon/write_mode"
    elif spec.mode is WriteMode.overwrite_partition and partitions:
        column = spec.partition_column
        if column is None:
            problem = "overwrite_partition needs partition_expr, the column of the Dagster partition"
        elif column not in table.schema.partition_keys:
            found = ", ".join(table.schema.partition_keys) or "none"
            problem = f"overwrite_partition replaces partitions of '{column}', but the partition keys are: {found}"
    if problem:
        message = f"{spec.table}: {problem}"
        raise InvalidInputError(message)


def _write_and_commit(
    table: Table, spec: WriteSpec, frame: FrameWriter, who: Committer, partitions: Sequence[str]
) -> tuple[Snapshot, ...]:
    commit = table.new_commit(who.user)
    replacing = spec.mode in (WriteMode.overwrite_partition, WriteMode.overwrite_table)
    return write_and_commit(
        table.store,
        commit,
        write=lambda: frame.write(table.current_facts, replacing=replacing),
        publish=lambda messages: _publish(commit, table, spec, messages, who, partitions),
        is_repeatable=frame.is_repeatable,
        turns=WriterTurns.of(table.facts),
    )


def _publish(
    commit: BatchCommit, table: Table, spec: WriteSpec, messages: Messages, who: Committer, partitions: Sequence[str]
) -> tuple[Snapshot, ...]:
    if spec.mode in (WriteMode.append, WriteMode.upsert):
        return commit.commit(messages, identifier=IDENTIFIER, properties=who.properties)
    if spec.mode is WriteMode.overwrite_table or not partitions:
        return commit.overwrite(messages, partition={}, identifier=IDENTIFIER, properties=who.properties)
    assert spec.partition_column is not None  # noqa: S101 - checked with the mode
    outside = _outside(table.facts, messages, spec.partition_column, partitions)
    if outside:
        message = (
            f"{spec.table}: the frame has rows of {spec.partition_column} = {', '.join(outside)}, which are not among "
            f"the run's partitions ({_span(partitions)}); nothing was written"
        )
        raise InvalidData(message)
    column = spec.partition_column
    specs = [{column: partition_value(table.schema, column, key)} for key in partitions]
    return commit.overwrite(messages, partition=specs, identifier=IDENTIFIER, properties=who.properties)


def _outside(facts: TableFacts, messages: Messages, column: str, partitions: Sequence[str]) -> list[str]:
    position = facts.schema.partition_keys.index(column)
    field = facts.schema.partition_fields[position]
    found = {partition_key(field, facts.partitions.values(message.partition)[position]) for message in messages}
    return sorted(found - set(partitions))


def _span(partitions: Sequence[str]) -> str:
    return partitions[0] if len(partitions) == 1 else f"{partitions[0]} to {partitions[-1]}"
